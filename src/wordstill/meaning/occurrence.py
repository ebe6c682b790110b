"""An occurrence of a word or phrase in a text, by its character offsets."""

from __future__ import annotations

from dataclasses import dataclass

from wordstill.corpus.segment import Span, word_spans
from wordstill.errors import UsageError


@dataclass(frozen=True)
class Occurrence:
    """A word or phrase in a text, by its character offsets.

    >>> Occurrence("The bank was steep.", 4, 8).word
    'bank'
    """

    text: str
    start: int
    end: int

    @classmethod
    def at(cls, text: str, span: Span | int) -> Occurrence:
        """Check a place that a user gave: character offsets (start, end), or the number of a word, from 0 on.

        Raises:
            UsageError: The place is outside the text, holds no characters, or cuts a word.
        """
        if isinstance(span, int):
            spans = word_spans(text)
            if not 0 <= span < len(spans):
                raise UsageError(
                    f"There is no word number {span} in {_shown(text)}: it has {len(spans)} words, counted from 0."
                )
            return cls(text, *spans[span])
        start, end = span
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            raise UsageError(
                f"The span ({start}, {end}) holds no word of {_shown(text)}, which has {len(text)} "
                "characters. Pass the offset of the first character and that after the last."
            )
        _refuse_cut(text, start, end)
        return cls(text, start, end)

    @property
    def word(self) -> str:
        """The word as it is written."""
        return self.text[self.start : self.end]

    @property
    def marked(self) -> str:
        """The text with brackets around the word."""
        return f"{self.text[: self.start]}[{self.word}]{self.text[self.end :]}"

    def excerpt(self, characters: int = 60) -> str:
        """The marked text, or of a long one what stands near the word."""
        start, end = max(0, self.start - characters), self.end + characters
        before, after = self.text[start : self.start], self.text[self.end : end]
        dots = "…" if start else "", "…" if end < len(self.text) else ""
        return f"{dots[0]}{before}[{self.word}]{after}{dots[1]}"

    def replaced(self, word: str) -> Occurrence:
        """The same text with another word at this place, and nowhere else."""
        text = f"{self.text[: self.start]}{word}{self.text[self.end :]}"
        return Occurrence(text, self.start, self.start + len(word))


def _refuse_cut(text: str, start: int, end: int) -> None:
    """A hyphen may stand between a span and the rest of its word, but not another letter."""
    for edge in (start, end):
        if not (0 < edge < len(text) and text[edge - 1].isalnum() and text[edge].isalnum()):
            continue
        for word_start, word_end in word_spans(text):
            if word_start < edge < word_end:
                word = text[word_start:word_end]
                raise UsageError(
                    f"The span ({start}, {end}), {text[start:end]!r}, cuts the word {word!r} of "
                    f"{_shown(text)}. Pass the span of the whole word: ({word_start}, {word_end})."
                )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
