"""Nearest rows by exact search: blocked products, and the best of each block kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

CACHED_ROWS = 512
"""Rows of a few hundred numbers that stay in a core's cache while they are worked on."""
CROWD = 8
SCORE_BYTES = 16 << 20
"""Scores that are held at once: few enough to be compared while they are still in the cache."""

Found: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float32]]
Scorer: TypeAlias = Callable[[slice, slice], NDArray[np.float32]]
"""Scores of some queries for some rows, (queries, rows), in an array that may be written to."""


def unit_rows(matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    """The rows of ``matrix`` scaled to length one, as float32; rows of zeros stay zeros.

    Lengths are taken in float64, because squares of small or large float32 numbers leave its range.
    """
    unit = np.empty(matrix.shape, dtype=np.float32)
    for start in range(0, len(matrix), CACHED_ROWS):
        block = matrix[start : start + CACHED_ROWS].astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", block, block))
        norms[norms == 0.0] = 1.0
        block /= norms[:, None]
        unit[start : start + CACHED_ROWS] = block
    return unit


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows scaled to length one along the last axis, in double precision; zeros and NaN stay as they are."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled


def nearest(
    unit: NDArray[np.float32],
    queries: NDArray[np.float32],
    topn: int,
    exclude: Sequence[Sequence[int]] | None = None,
    *,
    query_block: int = 512,
    score_bytes: int = SCORE_BYTES,
) -> Iterator[Found]:
    """The rows with the largest dot product with each query, best first, equal scores in row order.

    Args:
        unit: Unit rows to search, (rows, dim).
        queries: Unit queries, (queries, dim).
        topn: How many rows to give for each query; fewer if there are not so many.
        exclude: For each query, the rows it must not be given.
        query_block: Queries that are answered at once.
        score_bytes: Scores that are held at once.

    Yields:
        For each query, the row numbers and their scores.
    """

    def score(some: slice, rows: slice) -> NDArray[np.float32]:
        return queries[some] @ unit[rows].T

    return best_rows(score, (len(queries), len(unit)), topn, exclude, query_block=query_block, score_bytes=score_bytes)


def best_rows(
    score: Scorer,
    shape: tuple[int, int],
    topn: int,
    exclude: Sequence[Sequence[int]] | None = None,
    *,
    query_block: int = 512,
    score_bytes: int = SCORE_BYTES,
) -> Iterator[Found]:
    """The rows with the largest score for each query, in bounded memory; the rest is as in `nearest`.

    ``shape`` is the number of queries and of rows.
    """
    queries, rows = shape
    for first in range(0, queries, query_block):
        some = slice(first, min(first + query_block, queries))
        size = some.stop - some.start
        best = BestRows(size, topn, exclude[some] if exclude is not None else [()] * size)
        width = max(1, score_bytes // (4 * size))
        for start in range(0, rows if topn > 0 else 0, width):
            best.offer(score(some, slice(start, min(start + width, rows))), start)
        yield from best.each()


class BestRows:
    """The best rows so far of a few queries, as one flat list in order of query, score and row."""

    def __init__(self, queries: int, count: int, exclude: Sequence[Sequence[int]]) -> None:
        self.queries, self.count = queries, count
        self.owners: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.scores: NDArray[np.float32] = np.empty(0, dtype=np.float32)
        self.floor = np.full(queries, -np.inf, dtype=np.float32)
        """[queries] the score to beat. Later rows must beat it, because of equal ones the first counts."""
        sizes = [len(banned) for banned in exclude]
        self.banned_owners = np.repeat(np.arange(queries), sizes)
        self.banned_rows = np.array([row for banned in exclude for row in banned], dtype=np.int64)

    def offer(self, scores: NDArray[np.float32], start: int) -> None:
        """Take the scores [queries, rows] of the rows from ``start`` on."""
        width = scores.shape[1]
        here = (self.banned_rows >= start) & (self.banned_rows < start + width)
        scores[self.banned_owners[here], self.banned_rows[here] - start] = -np.inf
        least = np.nextafter(self.floor, np.float32(np.inf))
        if start == 0:
            least = np.maximum(least, self._least_of_the_first(scores))
        found = np.flatnonzero(scores >= least[:, None])
        if len(found) > CROWD * self.count * self.queries:
            # Rows that come in order of their scores would pile up.
            least = np.maximum(least, self._least_of_the_first(scores))
            found = found[scores.ravel()[found] >= least[found // width]]
        if len(found):
            self.merge(found // width, start + found % width, scores.ravel()[found])

    def each(self) -> Iterator[Found]:
        """For each query, its rows and their scores."""
        ends = np.searchsorted(self.owners, np.arange(self.queries + 1))
        for begin, end in pairwise(ends.tolist()):
            yield self.rows[begin:end], self.scores[begin:end]

    def _least_of_the_first(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """[queries] the score that as many rows of this block reach as are wanted."""
        place = scores.shape[1] - self.count
        if place <= 0:
            return self.floor
        least: NDArray[np.float32] = np.partition(scores, place, axis=1)[:, place]
        return least

    def merge(self, owners: NDArray[np.int64], rows: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Take rows of some queries with their scores, and keep the best."""
        owners = np.concatenate([self.owners, owners])
        rows = np.concatenate([self.rows, rows])
        scores = np.concatenate([self.scores, scores])
        order = np.lexsort((rows, -scores, owners))
        owners, rows, scores = owners[order], rows[order], scores[order]
        rank = np.arange(len(owners)) - np.searchsorted(owners, owners)
        kept = rank < self.count
        last = rank == self.count - 1
        self.floor[owners[last]] = scores[last]
        self.owners, self.rows, self.scores = owners[kept], rows[kept], scores[kept]
