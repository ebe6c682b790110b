"""The words of a sentence as a table has them: one rule for encoding, for scoring and for exported tokenizers.

A word is a run of letters, digits and the marks on them, with inner apostrophes (don't); every Han character is
a word, and so is a run of one kind of kana. Everything else separates words. Words in a row that the table has
as one entry, written with spaces or underscores (new york, new_york), are one word; the longest entry wins.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Protocol, TypeAlias, runtime_checkable

Forms: TypeAlias = Callable[[str], Sequence[str]]

HAN = "々〇〻㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"
HIRAGANA, KATAKANA = "ぁ-ゖゝ-ゟ", "ァ-ヺヽ-ヿㇰ-ㇿｦ-ｯｱ-ﾝ"
LONG = "ーｰ"
"""The mark of a long vowel, in runs of either kind of kana."""
CJK = f"{HAN}{HIRAGANA}{KATAKANA}{LONG}"
JOINERS = "\u00ad\u200c\u200d\u2060"
"""Invisible characters inside words."""
APOSTROPHES = "'’"

ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")
GAP = re.compile(r"[\s_]+")
MARK_BLOCKS = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))
"""Where Unicode has its combining characters."""


@runtime_checkable
class TextTokenizer(Protocol):
    """Cuts texts into words of a table."""

    def tokenize(self, text: str) -> Sequence[str]:
        """The words of a text, in order."""
        ...


class WordTokenizer:
    """Cuts texts into words, and keeps whole what a table has as one entry of several words.

    Args:
        words: The words of the table.
        forms: The spellings under which something is looked up, best first.

    Example:
        >>> WordTokenizer(["new york", "bank"]).tokenize("New York's banks? New York!")
        ['New', "York's", 'banks', 'new york']
    """

    def __init__(self, words: Iterable[str] = (), forms: Forms | None = None) -> None:
        self.forms = forms or as_written_then_lower
        self.phrases = phrases_of(words)
        self._sizes: dict[str, list[int]] = {}
        for phrase in self.phrases:
            first, *others = pattern_for(phrase).findall(phrase)
            sizes = self._sizes.setdefault(first, [])
            if 1 + len(others) not in sizes:
                sizes.append(1 + len(others))
        for sizes in self._sizes.values():
            sizes.sort(reverse=True)

    def tokenize(self, text: str) -> list[str]:
        """The words as they are written, and the phrases as the table spells them."""
        text = composed(text)
        if not self.phrases:
            return pattern_for(text).findall(text)
        spans = [match.span() for match in pattern_for(text).finditer(text)]
        found: list[str] = []
        place = 0
        while place < len(spans):
            start, end = spans[place]
            size, word = self._phrase(text, spans, place) or (1, text[start:end])
            found.append(word)
            place += size
        return found

    def _phrase(self, text: str, spans: Sequence[tuple[int, int]], place: int) -> tuple[int, str] | None:
        """The longest phrase that begins at a word, as the number of its words and the table's entry."""
        start, end = spans[place]
        sizes = {size for form in self.forms(text[start:end]) for size in self._sizes.get(form, ())}
        for size in sorted(sizes, reverse=True):
            if place + size <= len(spans):
                written = GAP.sub(" ", text[start : spans[place + size - 1][1]])
                for form in self.forms(written):
                    if form in self.phrases:
                        return size, self.phrases[form]
        return None


def as_written_then_lower(word: str) -> tuple[str, ...]:
    """The spellings under which a word of a sentence is looked up."""
    return word, word.lower()


def phrases_of(words: Iterable[str]) -> dict[str, str]:
    """The entries of several words: each as it is looked for in a text, and as the table spells it."""
    found: dict[str, str] = {}
    for word in words:
        if GAP.search(word):
            text = composed(word)
            spans = [match.span() for match in pattern_for(text).finditer(text)]
            if len(spans) > 1:
                found.setdefault(GAP.sub(" ", text[spans[0][0] : spans[-1][1]]), word)
    return found


def composed(text: str) -> str:
    """A text in Unicode's composed form (NFC), in which tables have their words."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def pattern_for(text: str) -> re.Pattern[str]:
    """The pattern of a word; that for ASCII finds the same there, faster."""
    return ASCII_WORD if text.isascii() else word_pattern()


@cache
def word_pattern() -> re.Pattern[str]:
    """The pattern of a word, in Python's own syntax."""
    return re.compile(pattern_text(rf"[^\W_{CJK}]", "".join(_mark_ranges())))


def pattern_text(letter: str, marks: str) -> str:
    """The pattern of a word, for engines that name classes of characters in different ways.

    Args:
        letter: A letter or digit that is not `CJK`.
        marks: Combining characters, as they are written inside a class.
    """
    marks = f"{marks}{JOINERS}"
    run = rf"{letter}+(?:[{marks}]+{letter}*)*"
    return (
        rf"{run}(?:[{APOSTROPHES}]{run})*|[{HAN}][{marks}]*"
        rf"|[{HIRAGANA}][{HIRAGANA}{LONG}{marks}]*|[{KATAKANA}{LONG}][{KATAKANA}{LONG}{marks}]*"
    )


def _mark_ranges() -> Iterator[str]:
    """The ranges of combining characters, for which Python's patterns have no class."""
    marks = [place for block in MARK_BLOCKS for place in block if unicodedata.category(chr(place))[0] == "M"]
    first = marks[0]
    for place, following in pairwise([*marks, sys.maxunicode + 2]):
        if following != place + 1:
            yield f"{chr(first)}-{chr(place)}"
            first = following
