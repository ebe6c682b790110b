"""Exact nearest-neighbor search in blocks, keeping the best rows so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

CACHED_ROWS = 512
"""Rows of a few hundred numbers that fit into a core's cache."""
CROWD = 8
SCORE_BYTES = 16 << 20
"""Size of a block of scores: small enough to be compared while still in the cache."""

Found: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float32]]
Scorer: TypeAlias = Callable[[slice, slice], NDArray[np.float32]]
"""Scores of some queries for some rows, (queries, rows), in an array that may be overwritten."""


def unit_rows(matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    """The rows of ``matrix`` scaled to length one, as float32; rows of zeros stay zeros.

    Lengths are computed in float64, because squares of small or large float32 numbers leave its range.
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
    """The rows with the largest dot product with each query, best first; ties in row order.

    Args:
        unit: Unit rows to search, (rows, dim).
        queries: Unit queries, (queries, dim).
        topn: Results for each query; fewer if there are fewer rows.
        exclude: For each query, rows to exclude.
        query_block: Queries answered at a time.
        score_bytes: Memory for scores.

    Yields:
        For each query, row indices and their scores.
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
    """The rows with the largest score for each query, in bounded memory; otherwise like `nearest`.

    ``shape`` is the number of queries and rows.
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
    """The best rows so far for some queries, in one flat list sorted by query, score and row."""

    def __init__(self, queries: int, count: int, exclude: Sequence[Sequence[int]]) -> None:
        self.queries, self.count = queries, count
        self.owners: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.scores: NDArray[np.float32] = np.empty(0, dtype=np.float32)
        self.floor = np.full(queries, -np.inf, dtype=np.float32)
        """[queries] the score to beat. Later rows must exceed it, because the first wins a tie."""
        sizes = [len(banned) for banned in exclude]
        self.banned_owners = np.repeat(np.arange(queries), sizes)
        self.banned_rows = np.array([row for banned in exclude for row in banned], dtype=np.int64)

    def offer(self, scores: NDArray[np.float32], start: int) -> None:
        """Consider the scores [queries, rows] of the rows from ``start`` on."""
        width = scores.shape[1]
        here = (self.banned_rows >= start) & (self.banned_rows < start + width)
        scores[self.banned_owners[here], self.banned_rows[here] - start] = -np.inf
        least = np.nextafter(self.floor, np.float32(np.inf))
        if start == 0:
            least = np.maximum(least, self._least_of_the_first(scores))
        found = np.flatnonzero(scores >= least[:, None])
        if len(found) > CROWD * self.count * self.queries:
            # Rows sorted by score would pile up.
            least = np.maximum(least, self._least_of_the_first(scores))
            found = found[scores.ravel()[found] >= least[found // width]]
        if len(found):
            self.merge(found // width, start + found % width, scores.ravel()[found])

    def each(self) -> Iterator[Found]:
        """For each query, the best rows and their scores."""
        ends = np.searchsorted(self.owners, np.arange(self.queries + 1))
        for begin, end in pairwise(ends.tolist()):
            yield self.rows[begin:end], self.scores[begin:end]

    def _least_of_the_first(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """[queries] the lowest score among the best ``count`` rows of this block."""
        place = scores.shape[1] - self.count
        if place <= 0:
            return self.floor
        least: NDArray[np.float32] = np.partition(scores, place, axis=1)[:, place]
        return least

    def merge(self, owners: NDArray[np.int64], rows: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Merge rows for some queries into the list, and keep the best."""
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
