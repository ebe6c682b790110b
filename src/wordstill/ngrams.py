"""Which words of a long list share groups of letters with a given word."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

WORDS_AT_ONCE = 1 << 16
EDGE = "\x02", "\x03"
"""Marks before and after a word, so that beginnings and ends are groups of their own."""
Weight: TypeAlias = Callable[[int], float]
HALF = np.uint64(32)
"""Bits of a hash that are kept; two groups that share them count as one."""
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class NgramIndex:
    """Groups of letters of words, without regard to case, and the words that have them.

    Args:
        words: The words; a row is a place in this list.
        sizes: How many letters a group has, the edges of a word counted.
    """

    def __init__(self, words: Sequence[str], sizes: Sequence[int] = (3, 4, 5, 6)) -> None:
        self.sizes = tuple(sizes)
        self.count = len(words)
        parts = [
            self._grams(words[start : start + WORDS_AT_ONCE], start)
            for start in range(0, len(words), WORDS_AT_ONCE)
        ]
        # One number holds group and row, so that one sort puts equal groups together.
        pairs = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *parts]))
        pairs = pairs[_firsts(pairs)]
        self.starts = _firsts(pairs >> HALF)
        self.groups = pairs[self.starts] >> HALF
        self.rows = (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        self.ends = np.append(self.starts[1:], len(self.rows))
        self.sizes_of_words = np.bincount(self.rows, minlength=len(words))

    def sharing(self, word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows of words that share a group with ``word``, and how much each of them shares.

        That is the sum of the rarity of the groups, log((1 + words) / words that have it), over the square
        root of the number of groups that the word has.
        """
        rows, shared = self._shared(word, lambda having: math.log((1 + self.count) / having))
        return rows, shared / np.sqrt(self.sizes_of_words[rows])

    def alike(self, word: str, count: int = 50) -> NDArray[np.int64]:
        """The rows of the words that have the largest part of their groups in common with ``word``."""
        rows, shared = self._shared(word, lambda having: 1.0)
        own = len(np.unique(self._grams([word], 0)))
        dice = 2 * shared / (own + self.sizes_of_words[rows])
        return rows[np.argsort(-dice, kind="stable")[:count]]

    def _shared(self, word: str, weight: Weight) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        wanted = np.unique(self._grams([word], 0) >> HALF)
        found = np.searchsorted(self.groups, wanted)
        known = found < len(self.groups)
        known[known] = self.groups[found[known]] == wanted[known]
        totals = np.zeros(self.count)
        for begin, end in zip(self.starts[found[known]].tolist(), self.ends[found[known]].tolist()):
            totals[self.rows[begin:end]] += weight(end - begin)
        rows = np.flatnonzero(totals)
        return rows, totals[rows]

    def _grams(self, words: Sequence[str], first_row: int) -> NDArray[np.uint64]:
        """Hash and row of each group of each word, as one number."""
        marked = [f"{EDGE[0]}{word.casefold()}{EDGE[1]}" for word in words]
        lengths = np.fromiter(map(len, marked), dtype=np.int64, count=len(marked))
        letters = np.frombuffer("".join(marked).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        owner = np.repeat(np.arange(len(words), dtype=np.uint64), lengths)
        left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(letters))
        value = np.zeros(len(letters), dtype=np.uint64)
        found = []
        for size in range(1, max(self.sizes) + 1):
            inside = np.flatnonzero(left >= size)
            value[inside] = (value[inside] ^ letters[inside + size - 1]) * MULTIPLIER
            value[inside] ^= value[inside] >> np.uint64(29)
            if size in self.sizes:
                hashes = (value[inside] * MULTIPLIER) >> HALF
                found.append((hashes << HALF) | (owner[inside] + np.uint64(first_row)))
        return np.concatenate(found)


def _firsts(ordered: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Where a new number begins in a list in order; np.unique would hash, which is slower."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
