"""Mean and covariance of a table's rows, in float64 and block by block, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors import WordVectors

SMALLEST = 1e-8
"""Directions with less than this part of the largest variance are rounding only."""


def common_rows(vectors: WordVectors, common: int | None) -> NDArray[np.bool_]:
    """[words] which words a transform learns from: the most frequent ones, or all.

    Without counts the first rows are taken, because tables are mostly in order of frequency.
    """
    if common is None or common >= len(vectors):
        return np.ones(len(vectors), dtype=np.bool_)
    if vectors.counts is None:
        return np.arange(len(vectors)) < common
    chosen = np.zeros(len(vectors), dtype=np.bool_)
    chosen[np.argsort(-vectors.counts, kind="stable")[:common]] = True
    return chosen


def mean_of(vectors: WordVectors, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[dim] the mean of some rows."""
    total = np.zeros(vectors.dim)
    for block in _chosen(vectors, rows):
        total += block.sum(axis=0)
    mean: NDArray[np.float64] = total / rows.sum()
    return mean


def covariance_of(
    vectors: WordVectors, rows: NDArray[np.bool_], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[dim, dim] the mean product of deviations from ``mean``; of zeros, it is the second moment."""
    total = np.zeros((vectors.dim, vectors.dim))
    for block in _chosen(vectors, rows):
        block -= mean
        total += block.T @ block
    covariance: NDArray[np.float64] = total / rows.sum()
    return covariance


def principal(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues [d] of a symmetric matrix, largest first and none negative, and directions [d, d].

    Each direction has its largest coordinate positive, so that the same table gives the same numbers.
    """
    values, directions = np.linalg.eigh(matrix)
    values, directions = np.maximum(values[::-1], 0.0), directions[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(len(values))])
    return values, directions * signs


def require_common(common: int | None, name: str) -> None:
    """Refuse a number of common words that is none."""
    if common is not None and common < 1:
        raise UsageError(f"{name}:common must be 1 or more; got {common}.")


def _chosen(vectors: WordVectors, rows: NDArray[np.bool_]) -> Iterator[NDArray[np.float64]]:
    start = 0
    for block in vectors.blocks():
        yield block[rows[start : start + len(block)]].astype(np.float64)
        start += len(block)
