"""One table of several: their vectors side by side, or the mean of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name
from wordstill.neighbours import unit_rows
from wordstill.vectors import WordVectors

Words: TypeAlias = Literal["common", "all"]


def concatenate(
    tables: Sequence[WordVectors],
    weights: Sequence[float] | None = None,
    *,
    words: Words = "common",
    unit: bool = True,
) -> WordVectors:
    """Vectors side by side; the new dimension is the sum of the old ones.

    Args:
        tables: Two tables or more; counts and provenance are those of the first.
        weights: What the vectors of each table are multiplied with; None takes 1 for all.
        words: Whether to keep the words that all tables have, or all words, with zeros where one is missing.
        unit: Whether to give the vectors of each table length one first, which makes cosines of the result
            weighted means of the cosines in the tables.
    """
    weights = _checked(tables, weights, words)
    chosen = _words(tables, words)
    parts = [_gathered(table, chosen, weight, unit) for table, weight in zip(tables, weights)]
    return _table(tables, chosen, np.concatenate(parts, axis=1))


def average(
    tables: Sequence[WordVectors],
    weights: Sequence[float] | None = None,
    *,
    words: Words = "common",
    unit: bool = True,
    align: bool = False,
) -> WordVectors:
    """The weighted mean of vectors, over the tables that have the word.

    Args:
        tables: Two tables or more of the same dimension; counts and provenance are those of the first.
        weights: How much each table counts; None takes 1 for all.
        words: Whether to keep the words that all tables have, or all words.
        unit: Whether to give the vectors of each table length one first.
        align: Whether to turn each table onto the first, by the rotation that brings their common words
            nearest (orthogonal Procrustes). Tables that were not made together have axes of their own.
    """
    weights = _checked(tables, weights, words)
    first = tables[0]
    for number, table in enumerate(tables):
        if table.dim != first.dim:
            raise UsageError(
                f"Only tables of one dimension can be averaged: the first has {first.dim}, number {number} "
                f"{table.dim}. Concatenate them, or reduce them with pca."
            )
    chosen = _words(tables, words)
    total = np.zeros((len(chosen), first.dim), dtype=np.float32)
    share = np.zeros(len(chosen), dtype=np.float32)
    for table, weight in zip(tables, weights):
        rows = _gathered(table, chosen, weight, unit)
        total += rows @ _rotation(table, first) if align and table is not first else rows
        share += np.float32(weight) * np.fromiter((word in table for word in chosen), np.bool_, len(chosen))
    return _table(tables, chosen, total / share[:, None])


def _checked(tables: Sequence[WordVectors], weights: Sequence[float] | None, words: str) -> Sequence[float]:
    if len(tables) < 2:
        raise UsageError(f"To combine takes two tables or more; got {len(tables)}.")
    if words not in ("common", "all"):
        raise unknown_name("choice of words", words, ("common", "all"))
    weights = [1.0] * len(tables) if weights is None else weights
    if len(weights) != len(tables) or not all(0 < weight < np.inf for weight in weights):
        raise UsageError(
            f"There must be a weight above 0 for each of {len(tables)} tables; got {list(weights)}."
        )
    return weights


def _words(tables: Sequence[WordVectors], words: str) -> list[str]:
    """In the order of the first table, then of the second, and so on."""
    first, *others = tables
    if words == "all":
        return list(dict.fromkeys(word for table in tables for word in table.words))
    common = [word for word in first.words if all(word in table for table in others)]
    if not common:
        raise UsageError("The tables have no word in common. Look at their case, or take all words.")
    return common


def _gathered(table: WordVectors, words: list[str], weight: float, unit: bool) -> NDArray[np.float32]:
    """The weighted vectors of words, zeros for those that the table does not have."""
    present = np.fromiter((word in table for word in words), np.bool_, len(words))
    rows = table.take([table.index(word) for word in words if word in table])
    gathered = np.zeros((len(words), table.dim), dtype=np.float32)
    gathered[present] = (unit_rows(rows) if unit else rows) * np.float32(weight)
    return gathered


def _rotation(table: WordVectors, first: WordVectors) -> NDArray[np.float32]:
    """[dim, dim] what turns unit rows of ``table`` nearest to those of ``first``."""
    common = [word for word in first.words if word in table]
    if not common:
        raise UsageError("Tables without common words cannot be aligned.")
    ours = unit_rows(table.take([table.index(word) for word in common])).astype(np.float64)
    theirs = unit_rows(first.take([first.index(word) for word in common])).astype(np.float64)
    left, _, right = np.linalg.svd(ours.T @ theirs)
    rotation: NDArray[np.float32] = (left @ right).astype(np.float32)
    return rotation


def _table(tables: Sequence[WordVectors], words: list[str], matrix: NDArray[np.float32]) -> WordVectors:
    """With counts of the first table that has a word, if all tables have them, or the first for all."""
    first = tables[0]
    known = [table for table in tables if table.counts is not None]
    counts = None
    if len(known) == len(tables) or (first.counts is not None and all(word in first for word in words)):
        counts = np.array([_count(known, word) for word in words], dtype=np.int64)
    return WordVectors(words, matrix, counts=counts, provenance=first.provenance, distinct=True)


def _count(tables: Sequence[WordVectors], word: str) -> int:
    table = next(table for table in tables if word in table)
    return 0 if table.counts is None else int(table.counts[table.index(word)])
