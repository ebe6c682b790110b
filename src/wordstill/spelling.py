"""Words near in spelling to one that a table does not have."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import islice

from wordstill.errors import UsageError

SPELLING_CANDIDATES = 20_000


class UnknownWord(UsageError, KeyError):
    """A word that a table does not have; near words are looked for only when the message is read."""

    def __init__(self, word: str, words: Sequence[str]) -> None:
        super().__init__(word)
        self.word = word
        self._words = words

    def __str__(self) -> str:
        near = near_in_spelling(self.word, self._words)
        guess = f" Near it in spelling: {', '.join(map(repr, near))}." if near else ""
        return f"The word {self.word!r} is not among the {len(self._words):,} words.{guess}"


def near_in_spelling(word: str, words: Sequence[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """Up to ``count`` words spelt much like ``word``, the nearest first.

    difflib is slow, so it is given only words of like length with the same first or last letter.
    """
    folded = word.casefold()
    alike = (
        other
        for other in words
        if abs(len(other) - len(word)) <= 2
        and (other[:1].casefold() == folded[:1] or other[-1:].casefold() == folded[-1:])
    )
    by_folded: dict[str, str] = {}
    for other in islice(alike, SPELLING_CANDIDATES):
        by_folded.setdefault(other.casefold(), other)
    return [by_folded[near] for near in difflib.get_close_matches(folded, by_folded, n=count, cutoff=cutoff)]


def likeness(a: str, b: str) -> float:
    """How much two words have in common, from 0 to 1: 1 less the edit distance over the longer length.

    Case does not count. A step is a letter more, less or other, or two neighbours that change places.
    """
    a, b = a.casefold(), b.casefold()
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(b, 1):
            steps = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                steps = min(steps, two_before[j - 2] + 1)
            row.append(steps)
    return 1 - row[-1] / max(len(a), len(b), 1)
