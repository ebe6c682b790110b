"""What a table's words, matrix and counts must be, and which of its words are the most frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors.compressed import CompressedRows

Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float16]


def most_frequent(counts: NDArray[np.int64] | None, rows: int, top: int) -> NDArray[np.int64]:
    """The rows of the most frequent words, in the order of the table.

    Without counts the first rows are taken, because tables are mostly in order of frequency.
    """
    if counts is None:
        return np.arange(min(rows, top))
    return np.sort(np.argsort(-counts, kind="stable")[:top])


def find_duplicate(words: Sequence[str]) -> tuple[int, int] | None:
    """The two rows of the first word that comes twice, or None if each word is there once."""
    if len(set(words)) == len(words):
        return None
    seen: dict[str, int] = {}
    for row, word in enumerate(words):
        if seen.setdefault(word, row) != row:
            return seen[word], row
    return None


def index_of(words: tuple[str, ...]) -> dict[str, int]:
    """The row of each word, if all are strings and each is there once."""
    if strange := [kind for kind in set(map(type, words)) if not issubclass(kind, str)]:
        raise UsageError(f"Words must be strings, got {', '.join(kind.__name__ for kind in strange)}.")
    rows = dict(zip(words, range(len(words))))
    if len(rows) != len(words):
        first, second = find_duplicate(words) or (0, 0)
        raise UsageError(f"The word {words[first]!r} is there twice, in rows {first} and {second}.")
    return rows


def checked_matrix(matrix: Matrix, rows: int) -> Matrix:
    """A read-only view of a matrix that fits the words."""
    if matrix.ndim != 2 or len(matrix) != rows or matrix.shape[1] < 1:
        raise UsageError(f"The matrix has shape {matrix.shape}, expected ({rows}, dim) for {rows} words.")
    if matrix.dtype not in (np.float32, np.float16):
        raise UsageError(f"The matrix is {matrix.dtype}, expected float32 or float16; use astype.")
    view = matrix.view(np.ndarray)
    view.flags.writeable = False
    return view


def checked_rows(rows: CompressedRows, count: int) -> CompressedRows:
    """Compressed rows that fit the words."""
    if not isinstance(rows, CompressedRows):
        raise UsageError(f"The matrix is a {type(rows).__name__}, expected an array: np.array(matrix, np.float32).")
    if rows.shape[0] != count or rows.shape[1] < 1:
        raise UsageError(f"The compressed rows have shape {rows.shape}, expected ({count}, dim) for {count} words.")
    return rows


def checked_counts(counts: NDArray[np.int64] | None, rows: int) -> NDArray[np.int64] | None:
    """A read-only view of counts that fit the words."""
    if counts is None:
        return None
    if counts.shape != (rows,) or not np.issubdtype(counts.dtype, np.integer):
        raise UsageError(
            f"The counts are {counts.dtype} of shape {counts.shape}, expected integers of shape ({rows},)."
        )
    if rows and counts.min() < 0:
        raise UsageError(f"The count of row {counts.argmin()} is {counts.min()}, expected zero or more.")
    view = counts.astype(np.int64, copy=False).view(np.ndarray)
    view.flags.writeable = False
    return view
