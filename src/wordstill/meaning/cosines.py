"""Cosines between words by any static table, and distances in spelling: the tests that triples rest on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.vectors import WordVectors

Cosines = NDArray[np.float32]


class WordCosines:
    """Looks words up in a table as they are written, else in lower case.

    Args:
        vectors: Any table.
    """

    def __init__(self, vectors: WordVectors) -> None:
        self._unit = vectors.unit
        self._rows = {word: row for row, word in enumerate(vectors.words)}

    def __contains__(self, word: str) -> bool:
        return self._row(word) >= 0

    def matrix(self, first: Sequence[str], second: Sequence[str]) -> Cosines:
        """[first, second] cosines; 1 for words of the same letters, else 0 where one is not in the table."""
        cosines: Cosines = self._vectors(first) @ self._vectors(second).T
        columns: dict[str, list[int]] = {}
        for column, word in enumerate(second):
            columns.setdefault(word.casefold(), []).append(column)
        for row, word in enumerate(first):
            for column in columns.get(word.casefold(), ()):
                cosines[row, column] = 1.0
        return cosines

    def _vectors(self, words: Sequence[str]) -> Cosines:
        rows = np.array([self._row(word) for word in words], dtype=np.int64)
        vectors: Cosines = self._unit[rows]
        vectors[rows < 0] = 0.0
        return vectors

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        return self._rows.get(word.lower(), -1) if row is None else row


def nearly_the_same(first: str, second: str, distance: int) -> bool:
    """Whether two words differ by at most ``distance`` letters, and by no more than half of the longer one.

    >>> nearly_the_same("promise", "promised", 3), nearly_the_same("cat", "dog", 3)
    (True, False)
    """
    limit = min(distance, max(len(first), len(second)) // 2)
    return edit_distance(first.casefold(), second.casefold()) <= limit


def edit_distance(first: str, second: str) -> int:
    """How many letters must be put in, taken out or exchanged to make one word of the other.

    >>> edit_distance("kitten", "sitting")
    3
    """
    before = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        now = [row]
        for column, other in enumerate(second, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != other)))
        before = now
    return before[-1]
