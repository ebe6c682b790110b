"""Compressed rows that are decoded on access (int8, product quantization), and validation of a table's parts.

What is stored is a few arrays, by name in `CompressedRows.arrays`; decoding needs numpy only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors.search import CACHED_ROWS

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors

Rows: TypeAlias = slice | NDArray[np.int64]
Single: TypeAlias = NDArray[np.float32]
CODES = 256
"""Centroids of a part: the values of one byte."""
LARGEST = 127
FLOAT = np.finfo(np.float32)
SCALES = (FLOAT.tiny, np.nextafter(FLOAT.max / np.float32(LARGEST), np.float32(0)))
"""Range of scales; outside of it, rows would become zero or infinite."""
Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float16]


@runtime_checkable
class CompressedRows(Protocol):
    """A float32 matrix (rows, dim) in compressed form."""

    kind: ClassVar[str]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        ...

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What is stored, by name."""
        ...

    def decode(self, rows: Rows) -> Single:
        """Approximations of the original rows."""
        ...

    def select(self, rows: NDArray[np.int64]) -> CompressedRows:
        """These rows in this order, still compressed."""
        ...


@dataclass(frozen=True, eq=False)
class Int8Rows:
    """Integers from -127 to 127 with a scale for each row."""

    kind: ClassVar[str] = "int8"

    vectors: NDArray[np.int8]
    """(rows, dim)"""
    scales: Single
    """(rows,)"""

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.scales.shape != (len(self.vectors),):
            raise UsageError(f"{self.vectors.shape} numbers do not go with scales of shape {self.scales.shape}.")
        if not np.isfinite(self.scales * np.float32(LARGEST)).all():
            raise UsageError("A scale of the int8 rows is NaN, infinite or too large.")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return len(self.vectors), self.vectors.shape[1]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What is stored, by name."""
        return {"vectors": self.vectors, "scales": self.scales}

    def decode(self, rows: Rows) -> Single:
        """The integers times the scales of their rows."""
        with np.errstate(invalid="ignore", over="ignore"):
            decoded: Single = self.vectors[rows] * self.scales[rows, None]
        return decoded

    def select(self, rows: NDArray[np.int64]) -> Int8Rows:
        """These rows in this order."""
        return Int8Rows(self.vectors[rows], self.scales[rows])


def quantize(vectors: WordVectors) -> Int8Rows:
    """Quantize the rows of a table so that the largest absolute value of each becomes 127.

    Quantizing decoded rows again gives the same integers.
    """
    if isinstance(vectors.compressed, Int8Rows):
        return vectors.compressed
    numbers = np.empty((len(vectors), vectors.dim), dtype=np.int8)
    scales = np.empty(len(vectors), dtype=np.float32)
    start = 0
    for rows in vectors.blocks():
        part = slice(start, start + len(rows))
        block = rows.astype(np.float64)
        scale = np.clip(np.abs(block).max(axis=1) / LARGEST, *SCALES).astype(np.float32)
        scales[part], numbers[part] = scale, np.clip(np.rint(block / scale[:, None]), -LARGEST, LARGEST)
        start = part.stop
    return Int8Rows(numbers, scales)


@dataclass(frozen=True, eq=False)
class ProductRows:
    """Product quantization: each part of a direction is the nearest of 256 centroids; lengths are kept separately.

    The columns are split into parts in the order of ``columns``. If the dimension is not a multiple of the number of
    parts, the first parts are one column longer.
    """

    kind: ClassVar[str] = "pq"

    codes: NDArray[np.uint8]
    """(rows, parts) the centroid of each part."""
    codebooks: NDArray[np.floating]
    """(256, dim) the centroids of all parts, side by side."""
    columns: NDArray[np.int32]
    """(dim,) the column of the vectors that belongs to each column of the codebooks."""
    lengths: NDArray[np.floating]
    """(rows,) the length of each row, or (1,) if all are the same."""

    def __post_init__(self) -> None:
        dim = len(self.columns)
        if self.codes.ndim != 2 or self.codebooks.shape != (CODES, dim) or not 1 <= self.codes.shape[1] <= dim:
            raise UsageError(f"Codes {self.codes.shape}, codebooks {self.codebooks.shape}: expected (256, {dim}).")
        if self.lengths.shape not in ((1,), (len(self.codes),)):
            raise UsageError(f"{len(self.codes)} rows do not go with lengths of shape {self.lengths.shape}.")
        if not np.array_equal(np.sort(self.columns), np.arange(dim)):
            raise UsageError(f"The columns of the codebooks must be 0 to {dim - 1}, each once.")
        if not (np.isfinite(self.codebooks).all() and np.isfinite(self.lengths).all()):
            raise UsageError("A centroid or a length has NaN or infinity in it.")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return len(self.codes), len(self.columns)

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What is stored, by name."""
        names = ("codes", "codebooks", "columns", "lengths")
        return {name: getattr(self, name) for name in names}

    def decode(self, rows: Rows) -> Single:
        """The concatenated centroids, scaled to the row's length."""
        codes = self.codes[rows]
        decoded = np.empty((len(codes), len(self.columns)), dtype=np.float32)
        cuts = part_bounds(len(self.columns), codes.shape[1])
        for start in range(0, len(codes), CACHED_ROWS):
            some = slice(start, start + CACHED_ROWS)
            for part, (begin, end) in enumerate(cuts):
                decoded[some, self.columns[begin:end]] = self.codebooks[codes[some, part], begin:end]
        lengths = np.sqrt(np.einsum("ij,ij->i", decoded, decoded))
        lengths[lengths == 0] = 1.0
        wanted = self.lengths if len(self.lengths) == 1 else self.lengths[rows]
        decoded *= (wanted / lengths)[:, None]
        return decoded

    def select(self, rows: NDArray[np.int64]) -> ProductRows:
        """These rows in this order."""
        lengths = self.lengths if len(self.lengths) == 1 else self.lengths[rows]
        return ProductRows(self.codes[rows], self.codebooks, self.columns, lengths)


def part_bounds(dim: int, parts: int) -> list[tuple[int, int]]:
    """Start and end column of each part, longer parts first."""
    sizes = [dim // parts + (part < dim % parts) for part in range(parts)]
    ends = np.cumsum([0, *sizes]).tolist()
    return list(pairwise(ends))


def most_frequent(counts: NDArray[np.int64] | None, rows: int, top: int) -> NDArray[np.int64]:
    """The rows of the most frequent words, in table order.

    Without counts, these are the first rows, because most tables are sorted by frequency.
    """
    if counts is None:
        return np.arange(min(rows, top))
    return np.sort(np.argsort(-counts, kind="stable")[:top])


def find_duplicate(words: Sequence[str]) -> tuple[int, int] | None:
    """The two rows of the first repeated word, or None if words are distinct."""
    if len(set(words)) == len(words):
        return None
    seen: dict[str, int] = {}
    for row, word in enumerate(words):
        if seen.setdefault(word, row) != row:
            return seen[word], row
    return None


def index_of(words: tuple[str, ...]) -> dict[str, int]:
    """The row of each word; raises unless all are distinct strings."""
    if strange := [kind for kind in set(map(type, words)) if not issubclass(kind, str)]:
        raise UsageError(f"Words must be strings, got {', '.join(kind.__name__ for kind in strange)}.")
    rows = dict(zip(words, range(len(words))))
    if len(rows) != len(words):
        first, second = find_duplicate(words) or (0, 0)
        raise UsageError(f"The word {words[first]!r} is there twice, in rows {first} and {second}.")
    return rows


def checked_matrix(matrix: Matrix, rows: int) -> Matrix:
    """A read-only view of a matrix, after checking that it fits the words."""
    if matrix.ndim != 2 or len(matrix) != rows or matrix.shape[1] < 1:
        raise UsageError(f"The matrix has shape {matrix.shape}, expected ({rows}, dim) for {rows} words.")
    if matrix.dtype not in (np.float32, np.float16):
        raise UsageError(f"The matrix is {matrix.dtype}, expected float32 or float16; use astype.")
    view = matrix.view(np.ndarray)
    view.flags.writeable = False
    return view


def checked_rows(rows: CompressedRows, count: int) -> CompressedRows:
    """Compressed rows, after checking that they fit the words."""
    if not isinstance(rows, CompressedRows):
        raise UsageError(f"The matrix is a {type(rows).__name__}, expected an array: np.array(matrix, np.float32).")
    if rows.shape[0] != count or rows.shape[1] < 1:
        raise UsageError(f"The compressed rows have shape {rows.shape}, expected ({count}, dim) for {count} words.")
    return rows


def checked_counts(counts: NDArray[np.int64] | None, rows: int) -> NDArray[np.int64] | None:
    """A read-only view of counts, after checking that they fit the words."""
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
