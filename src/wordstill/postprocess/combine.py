"""Combining tables: concatenated or averaged vectors."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config
from wordstill.errors import UsageError, unknown_name
from wordstill.postprocess.base import WORDS, Transform, words_digest
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows

Words: TypeAlias = Literal["common", "all"]


@dataclass(frozen=True)
class ConcatenateConfig(Config):
    """Settings of `Concatenate`."""

    table: str | WordVectors = ""
    """The second table, or the file or folder that holds it."""
    weight: float = 1.0
    """Weight of its vectors."""
    words: Words = "common"
    """Keep the words that both tables share, or all, with zeros where one is missing."""
    unit: bool = True
    """Scale the vectors of both tables to length one first."""


@dataclass(frozen=True)
class AverageConfig(ConcatenateConfig):
    """Settings of `Average`; the weight is that of the second table, where the first has 1."""

    align: bool = False
    """Rotate the second table onto the first."""


class Join(Transform):
    """A transform that combines the table with a second one."""

    of_directions: ClassVar[bool] = True

    config: ConcatenateConfig

    def settings(self) -> dict[str, Any]:
        """The settings; the second table is recorded by its path, size and provenance."""
        named = {name: value for name, value in vars(self.config).items() if name != "table"}
        other = self._other()
        place = self.config.table if isinstance(self.config.table, str) else None
        described = {"path": place, "words": len(other), "dim": other.dim, "provenance": dict(other.provenance)}
        return {"table": described, **named}

    def _other(self) -> WordVectors:
        table = self.config.table
        if isinstance(table, WordVectors):
            return table
        if not table:
            raise UsageError(f"{self.short_name}:table must name the table to join; got none.")
        if not hasattr(self, "_loaded"):
            self._loaded = WordVectors.load(table)
        return self._loaded

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        other = self._other()
        digest = hashlib.sha256()
        for block in other.blocks():
            digest.update(block.tobytes())
        return {WORDS: words_digest(other.words), "numbers": np.frombuffer(digest.digest(), dtype=np.uint8)}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        return self._join([vectors, self._other()], [1.0, self.config.weight])

    @abstractmethod
    def _join(self, tables: list[WordVectors], weights: list[float]) -> WordVectors: ...


class Concatenate(Join):
    r"""Concatenated vectors of two tables: :math:`v_w \leftarrow v_w \oplus \lambda\, u_w`.

    Counts are those of the first table. See `wordstill.postprocess.combine.concatenate` for more tables.
    """

    name: ClassVar[str] = "concatenate.v1"
    config_type: ClassVar[type[ConcatenateConfig]] = ConcatenateConfig

    def _join(self, tables: list[WordVectors], weights: list[float]) -> WordVectors:
        return concatenate(tables, weights, words=self.config.words, unit=self.config.unit)


class Average(Join):
    r"""The mean of the vectors of two tables: :math:`v_w \leftarrow (v_w + \lambda\, u_w) / (1 + \lambda)`.

    Counts are those of the first table. See `wordstill.postprocess.combine.average` for more tables.
    """

    name: ClassVar[str] = "average.v1"
    config_type: ClassVar[type[AverageConfig]] = AverageConfig
    config: AverageConfig

    def _join(self, tables: list[WordVectors], weights: list[float]) -> WordVectors:
        return average(tables, weights, words=self.config.words, unit=self.config.unit, align=self.config.align)


def concatenate(
    tables: Sequence[WordVectors], weights: Sequence[float] | None = None, *, words: Words = "common", unit: bool = True
) -> WordVectors:
    """Concatenate vectors; the new dimension is the sum of the old ones.

    Args:
        tables: Two tables or more; counts and provenance are those of the first.
        weights: Weight of the vectors of each table; None means 1 for all.
        words: Keep the words that all tables share, or all words, with zeros where one is missing.
        unit: Scale the vectors of each table to length one first, so that cosines of the result are weighted
            means of the cosines in the tables.
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
        weights: Weight of each table; None means 1 for all.
        words: Keep the words that all tables share, or all words.
        unit: Scale the vectors of each table to length one first.
        align: Rotate each table onto the first, by orthogonal Procrustes over their common words. Tables that
            were not trained together have unrelated axes.
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
        raise UsageError(f"Combining needs two tables or more; got {len(tables)}.")
    if words not in ("common", "all"):
        raise unknown_name("choice of words", words, ("common", "all"))
    weights = [1.0] * len(tables) if weights is None else weights
    if len(weights) != len(tables) or not all(0 < weight < np.inf for weight in weights):
        raise UsageError(f"There must be a weight above 0 for each of {len(tables)} tables; got {list(weights)}.")
    return weights


def _words(tables: Sequence[WordVectors], words: str) -> list[str]:
    """The words of the result, in the order of the first table, then of the second, and so on."""
    first, *others = tables
    if words == "all":
        return list(dict.fromkeys(word for table in tables for word in table.words))
    common = [word for word in first.words if all(word in table for table in others)]
    if not common:
        raise UsageError("The tables have no word in common. Check their case, or use all words.")
    return common


def _gathered(table: WordVectors, words: list[str], weight: float, unit: bool) -> NDArray[np.float32]:
    """The weighted vectors of words, zeros for words not in the table."""
    present = np.fromiter((word in table for word in words), np.bool_, len(words))
    rows = table.take([table.index(word) for word in words if word in table])
    gathered = np.zeros((len(words), table.dim), dtype=np.float32)
    gathered[present] = (unit_rows(rows) if unit else rows) * np.float32(weight)
    return gathered


def _rotation(table: WordVectors, first: WordVectors) -> NDArray[np.float32]:
    """[dim, dim] the rotation of unit rows of ``table`` that best fits those of ``first``."""
    common = [word for word in first.words if word in table]
    if not common:
        raise UsageError("Tables without common words cannot be aligned.")
    ours = unit_rows(table.take([table.index(word) for word in common])).astype(np.float64)
    theirs = unit_rows(first.take([first.index(word) for word in common])).astype(np.float64)
    left, _, right = np.linalg.svd(ours.T @ theirs)
    rotation: NDArray[np.float32] = (left @ right).astype(np.float32)
    return rotation


def _table(tables: Sequence[WordVectors], words: list[str], matrix: NDArray[np.float32]) -> WordVectors:
    """Counts from the first table that has each word, if all tables have counts or the first has all words."""
    first = tables[0]
    known = [table for table in tables if table.counts is not None]
    counts = None
    if len(known) == len(tables) or (first.counts is not None and all(word in first for word in words)):
        counts = np.array([_count(known, word) for word in words], dtype=np.int64)
    return WordVectors(words, matrix, counts=counts, provenance=first.provenance, distinct=True)


def _count(tables: Sequence[WordVectors], word: str) -> int:
    table = next(table for table in tables if word in table)
    return 0 if table.counts is None else int(table.counts[table.index(word)])
