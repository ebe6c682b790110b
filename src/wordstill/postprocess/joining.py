"""``concatenate`` and ``average``: a second table joins the first."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.postprocess.base import WORDS, Transform, words_digest
from wordstill.postprocess.combine import Words, average, concatenate
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class ConcatenateConfig:
    """Settings of `Concatenate`."""

    table: str | WordVectors = ""
    """The second table, or the file or folder that holds it."""
    weight: float = 1.0
    """What its vectors are multiplied with."""
    words: Words = "common"
    """Whether to keep the words of both tables, or all, with zeros where one of them has no vector."""
    unit: bool = True
    """Whether to give the vectors of both tables length one first."""


@dataclass(frozen=True)
class AverageConfig(ConcatenateConfig):
    """Settings of `Average`; the weight is that of the second table, where the first has 1."""

    align: bool = False
    """Whether to turn the second table onto the first."""


class _Joining(Transform):
    """What learns nothing from a table but needs another one."""

    config: ConcatenateConfig

    def settings(self) -> dict[str, Any]:
        """The settings, the second table by its place, size and provenance."""
        named = {name: value for name, value in vars(self.config).items() if name != "table"}
        other = self._other()
        place = self.config.table if isinstance(self.config.table, str) else None
        described = {
            "path": place,
            "words": len(other),
            "dim": other.dim,
            "provenance": dict(other.provenance),
        }
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


class Concatenate(_Joining):
    r"""The vectors of two tables side by side: :math:`v_w \leftarrow v_w \oplus \lambda\, u_w`.

    Counts are those of the first table. See `wordstill.postprocess.combine.concatenate` for more tables.
    """

    name: ClassVar[str] = "concatenate.v1"
    config_type: ClassVar[type[ConcatenateConfig]] = ConcatenateConfig

    def _join(self, tables: list[WordVectors], weights: list[float]) -> WordVectors:
        return concatenate(tables, weights, words=self.config.words, unit=self.config.unit)


class Average(_Joining):
    r"""The mean of the vectors of two tables: :math:`v_w \leftarrow (v_w + \lambda\, u_w) / (1 + \lambda)`.

    Counts are those of the first table. See `wordstill.postprocess.combine.average` for more tables.
    """

    name: ClassVar[str] = "average.v1"
    config_type: ClassVar[type[AverageConfig]] = AverageConfig
    config: AverageConfig

    def _join(self, tables: list[WordVectors], weights: list[float]) -> WordVectors:
        return average(
            tables, weights, words=self.config.words, unit=self.config.unit, align=self.config.align
        )
