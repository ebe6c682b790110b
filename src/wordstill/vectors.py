"""A table of word vectors: words, a matrix, counts and where they came from; numpy only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError, UsageError
from wordstill.neighbours import ROW_BLOCK, UnknownWord, nearest, unit_rows

Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float16]
Item: TypeAlias = str | NDArray[np.floating]
Items: TypeAlias = Item | Sequence[Item]
AnyPath: TypeAlias = str | os.PathLike[str]
Scored: TypeAlias = list[tuple[str, float]]


class WordVectors:
    """One vector per word, with gensim's names for what gensim has.

    Args:
        words: The words, each once, in the order of the rows.
        matrix: (words, dim), float32 or float16, finite. A memory-mapped matrix is not read on construction;
            it is checked for NaN and infinity where its numbers are used.
        counts: How often each word was seen, or None if that is not known.
        provenance: What the table was made from and how; anything that JSON can hold.
    """

    def __init__(
        self,
        words: Sequence[str],
        matrix: Matrix,
        *,
        counts: NDArray[np.int64] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.words: tuple[str, ...] = tuple(words)
        self._rows = _index(self.words)
        self.matrix: Matrix = _checked_matrix(matrix, len(self.words))
        self.counts = _checked_counts(counts, len(self.words))
        self.provenance: Mapping[str, Any] = dict(provenance or {})
        self._unchecked = isinstance(matrix, np.memmap)
        if not self._unchecked:
            self.check_finite()

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """The rows scaled to length one, float32, (words, dim); rows of zeros stay zeros. Computed once."""
        if self._unchecked:
            self.check_finite()
        unit = unit_rows(self.matrix)
        unit.flags.writeable = False
        return unit

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, key: str | Sequence[str]) -> NDArray[np.float32]:
        if isinstance(key, str):
            return self._take([self.index(key)]).reshape(self.dim)
        return self._take([self.index(word) for word in key])

    def __repr__(self) -> str:
        counts = ", with counts" if self.counts is not None else ""
        teacher = self.provenance.get("teacher")
        source = f", from {teacher}" if isinstance(teacher, str) else ""
        return f"<WordVectors: {len(self):,} words x {self.dim}, {self.matrix.dtype}{counts}{source}>"

    def index(self, word: str) -> int:
        """The row of a word."""
        try:
            return self._rows[word]
        except KeyError:
            raise UnknownWord(word, self.words) from None

    def similarity(self, a: Item, b: Item) -> float:
        """The cosine of two words or vectors; 0 if either is all zeros."""
        first, second = unit_rows(np.stack([self._vector(a), self._vector(b)]))
        return float(first @ second)

    def most_similar(
        self, positive: Items | None = None, negative: Items | None = None, topn: int = 10
    ) -> Scored:
        """The words nearest in cosine to the sum of ``positive`` minus ``negative``, without these words.

        As in gensim, a word counts with its unit vector, and a vector as it is given.
        """
        plus, minus = _as_list(positive), _as_list(negative)
        if not plus and not minus:
            raise UsageError("most_similar needs at least one word or vector to start from; got none.")
        signed = [(item, 1.0) for item in plus] + [(item, -1.0) for item in minus]
        asked = [self.index(item) for item, _ in signed if isinstance(item, str)]
        total = np.zeros(self.dim)
        for item, sign in signed:
            total += sign * (self.unit[self.index(item)] if isinstance(item, str) else self._vector(item))
        return self._nearest(total[None, :], topn, [asked])[0]

    def similar_by_vector(self, vector: NDArray[np.floating], topn: int = 10) -> Scored:
        """The words nearest in cosine to a vector."""
        return self.most_similar(positive=[vector], topn=topn)

    def analogy(self, a: Item, b: Item, c: Item, topn: int = 10) -> Scored:
        """``a`` is to ``b`` as ``c`` is to what: the words nearest to b - a + c (3CosAdd)."""
        return self.most_similar(positive=[b, c], negative=[a], topn=topn)

    def neighbours(self, queries: Sequence[str] | NDArray[np.floating], topn: int = 10) -> list[Scored]:
        """The words nearest to each word, itself left out, or to each row of a matrix; in bounded memory."""
        if isinstance(queries, np.ndarray):
            if queries.ndim != 2 or queries.shape[1] != self.dim:
                raise UsageError(f"The queries have shape {queries.shape}, expected (queries, {self.dim}).")
            return self._nearest(queries, topn, None)
        if isinstance(queries, str):
            raise UsageError(f"neighbours takes a list of words; for {queries!r} alone use most_similar.")
        rows = [self.index(word) for word in queries]
        return self._nearest(self._take(rows), topn, [[row] for row in rows])

    def subset(self, words: Sequence[str]) -> WordVectors:
        """A table of these words only, in this order, with their counts and the same provenance."""
        rows = np.array([self.index(word) for word in words], dtype=np.int64)
        counts = None if self.counts is None else self.counts[rows]
        return WordVectors(words, self.matrix[rows], counts=counts, provenance=self.provenance)

    def save(self, path: AnyPath, format: str | None = None, *, overwrite: bool = False) -> None:
        """Write the table; see ``wordstill.formats.write``."""
        from wordstill import formats

        formats.write(self, path, format, overwrite=overwrite)

    @classmethod
    def load(cls, path: AnyPath, format: str | None = None) -> WordVectors:
        """Read a table; see ``wordstill.formats.read``."""
        from wordstill import formats

        return formats.read(path, format)

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The matrix in row order as float32 blocks, for going through a table larger than memory."""
        for start in range(0, len(self), ROW_BLOCK):
            yield self.matrix[start : start + ROW_BLOCK].astype(np.float32, copy=False)

    def check_finite(self) -> None:
        """Raise if any number of the matrix is NaN or infinite."""
        start = 0
        for block in self.blocks():
            if not np.isfinite(block).all():
                row, column = np.argwhere(~np.isfinite(block))[0]
                raise DataError(
                    f"The vector of {self.words[start + row]!r} (row {start + row}) has {block[row, column]} "
                    f"at position {column}; every number must be finite. Look for what made it."
                )
            start += len(block)
        self._unchecked = False

    def _take(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Copies of some rows as float32, (rows, dim)."""
        taken = self.matrix[np.asarray(rows, dtype=np.int64)].astype(np.float32, copy=False)
        if self._unchecked and not np.isfinite(taken).all():
            self.check_finite()
        return taken

    def _vector(self, item: Item) -> NDArray[np.float32]:
        if isinstance(item, str):
            return self[item]
        vector = np.asarray(item, dtype=np.float32)
        if vector.shape != (self.dim,):
            raise UsageError(f"A vector of shape {vector.shape} was given, expected ({self.dim},).")
        return vector

    def _nearest(
        self, queries: NDArray[np.floating], topn: int, exclude: list[list[int]] | None
    ) -> list[Scored]:
        if not np.isfinite(queries).all():
            raise UsageError("A query vector has NaN or infinity in it.")
        found = nearest(self.unit, unit_rows(queries), topn, exclude)
        return [
            [(self.words[row], score) for row, score in zip(rows.tolist(), scores.tolist())]
            for rows, scores in found
        ]


def find_duplicate(words: Sequence[str]) -> tuple[int, int] | None:
    """The two rows of the first word that comes twice, or None if each word is there once."""
    if len(set(words)) == len(words):
        return None
    seen: dict[str, int] = {}
    for row, word in enumerate(words):
        if seen.setdefault(word, row) != row:
            return seen[word], row
    return None


def _index(words: tuple[str, ...]) -> dict[str, int]:
    if strange := [kind for kind in set(map(type, words)) if not issubclass(kind, str)]:
        raise UsageError(f"Words must be strings, got {', '.join(kind.__name__ for kind in strange)}.")
    rows = dict(zip(words, range(len(words))))
    if len(rows) != len(words):
        first, second = find_duplicate(words) or (0, 0)
        raise UsageError(f"The word {words[first]!r} is there twice, in rows {first} and {second}.")
    return rows


def _checked_matrix(matrix: Matrix, rows: int) -> Matrix:
    """A read-only view of a matrix that fits the words."""
    if matrix.ndim != 2 or len(matrix) != rows or matrix.shape[1] < 1:
        raise UsageError(f"The matrix has shape {matrix.shape}, expected ({rows}, dim) for {rows} words.")
    if matrix.dtype not in (np.float32, np.float16):
        raise UsageError(f"The matrix is {matrix.dtype}, expected float32 or float16; use astype.")
    view = matrix.view(np.ndarray)
    view.flags.writeable = False
    return view


def _checked_counts(counts: NDArray[np.int64] | None, rows: int) -> NDArray[np.int64] | None:
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


def _as_list(items: Items | None) -> list[Item]:
    if items is None:
        return []
    if isinstance(items, str) or (isinstance(items, np.ndarray) and items.ndim == 1):
        return [items]
    return list(items)
