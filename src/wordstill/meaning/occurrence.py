"""An occurrence of a word or phrase in a text, by its character offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from wordstill.corpus.segment import Span, word_spans
from wordstill.errors import UsageError

Place: TypeAlias = str | Span | int
"""Where a word stands in a text: the word itself, its character offsets, or its number, counted from 0."""


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
    def at(cls, text: str, span: Place) -> Occurrence:
        """Check a place that a user gave: the word itself, character offsets (start, end), or its number from 0 on.

        Raises:
            UsageError: The place is outside the text, holds no characters, or cuts a word; or the word is not
                there, or several times.
        """
        if isinstance(span, str):
            return cls(text, *_only(text, span))
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

    @classmethod
    def read(cls, text: Any, start: Any, end: Any) -> Occurrence:
        """Check what a file says.

        Raises:
            TypeError: It is not a text and two whole numbers.
        """
        if not isinstance(text, str) or type(start) is not int or type(end) is not int:
            raise TypeError(f"expected a text and two offsets, got {str((text, start, end))[:60]}")
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


def _only(text: str, word: str) -> Span:
    """The place of a word or phrase that stands in a text once, in the same case or, if there is none, in any."""
    words = word_spans(text)
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    for haystack, needle in ((text, word), (text.lower(), word.lower())):
        places = [(start, start + len(needle)) for start in starts if needle and haystack.startswith(needle, start)]
        found = sorted(place for place in places if place[1] in ends)
        if len(found) > 1:
            shown = ", ".join(f"{start}:{end}" for start, end in found)
            raise UsageError(
                f"{word!r} stands in {_shown(text)} {len(found)} times. Choose one by its offsets: {shown}."
            )
        if found:
            return found[0]
    raise UsageError(f"There is no word {word!r} in {_shown(text)}.")


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
