"""Vectors of words in folds of the documents of each group; their weighted means are the rows of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors


@dataclass(frozen=True, eq=False)
class Folds:
    """A row for each cell, that is, each word and fold of documents in which it occurs. C cells, F folds, G groups.

    The mean of a word's rows in some folds, weighted by its counts there, is its vector for the text of these folds;
    over all folds it is the word's row in the table. So groups, jackknife samples and bootstrap resamples need no
    teacher.

    Args:
        rows: (C, dim) float32.
        words: The row of each cell's word in the table, ascending (C).
        folds: The fold of each cell, ascending for each word (C).
        counts: How often the word occurs in the fold (C).
        group_of_fold: (F).
        sizes: Running words of each fold (F).
        groups: Names of the groups (G).
        dealt: For each group, whether ``documents`` or runs of ``paragraphs`` were divided into folds (G).
    """

    rows: NDArray[np.float32]
    words: NDArray[np.int32]
    folds: NDArray[np.int32]
    counts: NDArray[np.int64]
    group_of_fold: NDArray[np.int32]
    sizes: NDArray[np.int64]
    groups: tuple[str, ...]
    dealt: tuple[str, ...]
    _pending: ClassVar[list[Callable[[], None]]] = []

    def __post_init__(self) -> None:
        cells, folds = len(self.rows), len(self.group_of_fold)
        if not len(self.words) == len(self.folds) == len(self.counts) == cells or len(self.sizes) != folds:
            raise UsageError("The folds of a table have arrays of different lengths.")
        if cells and (int(self.folds.min()) < 0 or int(self.folds.max()) >= folds or int(self.counts.min()) < 1):
            raise UsageError("The folds of a table have numbers that are out of range.")
        if folds and (int(self.group_of_fold.min()) < 0 or int(self.group_of_fold.max()) >= len(self.groups)):
            raise UsageError("The folds of a table are of groups that have no name.")
        if len(self.dealt) != len(self.groups) or (np.diff(self.words) < 0).any():
            raise UsageError("The folds of a table are not in order, or its groups not complete.")

    def verify_on_use(self, verify: Callable[[], None]) -> None:
        """Call ``verify``, which checks the checksum, before the arrays are used for the first time."""
        object.__setattr__(self, "_pending", [verify])

    def verified(self) -> Folds:
        """These folds, after checking their checksum if that is still to be done."""
        for verify in self._pending:
            verify()
        object.__setattr__(self, "_pending", [])
        return self

    def __len__(self) -> int:
        return len(self.group_of_fold)

    def __contains__(self, row: int) -> bool:
        """Whether the word in a row of the table has vectors by fold."""
        start, end = self._span(row)
        return start < end

    def of_word(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The counts of a word in each fold (F), and its sums there (F, dim); zeros where it does not occur."""
        start, end = self._span(row)
        counts = np.zeros(len(self), dtype=np.int64)
        sums = np.zeros((len(self), self.rows.shape[1]))
        cells, own = self.folds[start:end], self.counts[start:end]
        counts[cells] = own
        sums[cells] = own[:, None] * self.rows[start:end].astype(np.float64)
        return counts, sums

    def counts_by_group(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words that have vectors by fold (T), and their counts in every group (T, G)."""
        tracked, place = np.unique(self.words, return_inverse=True)
        counts = np.zeros((len(tracked), len(self.groups)), dtype=np.int64)
        np.add.at(counts, (place, self.group_of_fold[self.folds]), self.counts)
        return tracked.astype(np.int64), counts

    def group(self, name: str) -> int:
        """The index of a group."""
        if name not in self.groups:
            raise unknown_name("group", name, self.groups)
        return self.groups.index(name)

    def _span(self, row: int) -> tuple[int, int]:
        start, end = np.searchsorted(self.words, [row, row + 1])
        return int(start), int(end)


def group_names(vectors: WordVectors) -> tuple[str, ...]:
    """Names of the groups of the table's text; empty if there are none."""
    return () if vectors.folds is None else vectors.folds.groups


def group_table(vectors: WordVectors, name: str) -> WordVectors:
    """The table of one group: the words with vectors by fold, and the folds of the group."""
    folds = with_folds(vectors)
    number = folds.group(name)
    wanted = folds.group_of_fold[folds.folds] == number
    words, place = np.unique(folds.words[wanted], return_inverse=True)
    counts = np.bincount(place, folds.counts[wanted]).astype(np.int64)
    sums = np.zeros((len(words), vectors.dim))
    np.add.at(sums, place, folds.counts[wanted, None] * folds.rows[wanted].astype(np.float64))
    matrix = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    names = [vectors.words[row] for row in words.tolist()]
    provenance = {**vectors.provenance, "group": name}
    table = vectors.replace(words=names, matrix=matrix, counts=counts, provenance=provenance)
    own = np.flatnonzero(folds.group_of_fold == number)
    table.folds = Folds(
        folds.rows[wanted],
        place.astype(np.int32),
        np.searchsorted(own, folds.folds[wanted]).astype(np.int32),
        folds.counts[wanted],
        np.zeros(len(own), dtype=np.int32),
        folds.sizes[own],
        (name,),
        (folds.dealt[number],),
    )
    return table


def with_folds(vectors: WordVectors) -> Folds:
    """The folds of a table; raises if it has none."""
    if vectors.folds is None:
        raise UsageError(
            "The table keeps no groups or folds. Distill it with --folds 20, or with --group to compare groups."
        )
    return vectors.folds.verified()
