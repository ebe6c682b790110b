"""Neighbours of a word: in direction, by exact search, and in spelling, for words that are not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError

ROW_BLOCK = 8192
SCORE_BYTES = 64 << 20
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


def unit_rows(matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    """The rows of ``matrix`` scaled to length one, as float32; rows of zeros stay zeros.

    Lengths are taken in float64, because squares of small or large float32 numbers leave its range.
    """
    unit = np.empty(matrix.shape, dtype=np.float32)
    for start in range(0, len(matrix), ROW_BLOCK):
        block = matrix[start : start + ROW_BLOCK].astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", block, block))
        norms[norms == 0.0] = 1.0
        unit[start : start + ROW_BLOCK] = block / norms[:, None]
    return unit


def nearest(
    unit: NDArray[np.float32],
    queries: NDArray[np.float32],
    topn: int,
    exclude: Sequence[Sequence[int]] | None = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """The rows with the largest dot product with each query, best first, equal scores in row order.

    Args:
        unit: Unit rows to search, (rows, dim).
        queries: Unit queries, (queries, dim). They are taken in blocks, so that memory stays bounded.
        topn: How many rows to give for each query; fewer if there are not so many.
        exclude: For each query, the rows it must not be given.

    Yields:
        For each query, the row numbers and their scores.
    """
    block = max(1, SCORE_BYTES // (unit.itemsize * max(1, len(unit))))
    for start in range(0, len(queries), block):
        scores = queries[start : start + block] @ unit.T  # (block, rows)
        for offset, row_scores in enumerate(scores):
            banned = exclude[start + offset] if exclude is not None else ()
            best = _best(row_scores, topn + len(banned))
            best = best[~np.isin(best, np.asarray(banned, dtype=np.int64))][: max(topn, 0)]
            yield best, row_scores[best]


def near_in_spelling(word: str, words: Sequence[str]) -> list[str]:
    """Up to three words spelt much like ``word``.

    difflib is slow, so it is given only words of like length with the same first or last letter.
    """
    folded = word.casefold()
    alike = (
        other
        for other in words
        if abs(len(other) - len(word)) <= 2
        and (other[:1].casefold() == folded[:1] or other[-1:].casefold() == folded[-1:])
    )
    by_folded = {other.casefold(): other for other in islice(alike, SPELLING_CANDIDATES)}
    return [by_folded[near] for near in difflib.get_close_matches(folded, by_folded, n=3, cutoff=0.6)]


def _best(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Positions of the ``count`` largest scores, largest first, equal ones in order of position."""
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    if count < len(scores):
        # All that equal the threshold stay until the sort: argpartition alone picks any of them.
        threshold = scores[np.argpartition(scores, -count)[-count]]
        candidates = np.flatnonzero(scores >= threshold)
    else:
        candidates = np.arange(len(scores))
    order = np.argsort(-scores[candidates], kind="stable")[:count]
    return candidates[order].astype(np.int64, copy=False)
