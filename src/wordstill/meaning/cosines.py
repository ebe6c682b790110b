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
        self.vectors = vectors
        self._unit = vectors.unit

    def __contains__(self, word: str) -> bool:
        return word in self.vectors or word.lower() in self.vectors

    def matrix(self, first: Sequence[str], second: Sequence[str]) -> Cosines:
        """[first, second] cosines; 1 for words of the same letters, else 0 where one is not in the table."""
        cosines: Cosines = self._rows(first) @ self._rows(second).T
        folded = np.array([word.casefold() for word in second], dtype=object)
        for row, word in enumerate(first):
            cosines[row, folded == word.casefold()] = 1.0
        return cosines

    def _rows(self, words: Sequence[str]) -> Cosines:
        rows = np.zeros((len(words), self.vectors.dim), dtype=np.float32)
        for number, word in enumerate(words):
            key = word if word in self.vectors else word.lower()
            if key in self.vectors:
                rows[number] = self._unit[self.vectors.index(key)]
        return rows


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
