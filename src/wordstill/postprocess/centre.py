"""``centre`` and ``unit``: what most other transforms expect to be done before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.postprocess.base import WORDS, Transform, require_dim, with_rows, words_digest
from wordstill.postprocess.moments import common_rows, mean_of, require_common
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class CentreConfig:
    """Settings of `Centre`."""

    common: int | None = None
    """Take the mean of so many most frequent words; None takes all."""

    def __post_init__(self) -> None:
        require_common(self.common, "centre")


class Centre(Transform):
    r"""Take the mean vector away: :math:`v_w \leftarrow v_w - \mu`.

    Cost: two passes over the table.
    """

    name: ClassVar[str] = "centre.v1"
    config_type: ClassVar[type[CentreConfig]] = CentreConfig
    config: CentreConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        return {"mean": mean_of(vectors, common_rows(vectors, self.config.common))}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, len(state["mean"]), "centre")
        return with_rows(vectors, lambda block: block - state["mean"])


@dataclass(frozen=True)
class UnitConfig:
    """`Unit` has no settings."""


class Unit(Transform):
    r"""Give each vector length one: :math:`v_w \leftarrow v_w / |v_w|`. Zeros stay zeros."""

    name: ClassVar[str] = "unit.v1"
    config_type: ClassVar[type[UnitConfig]] = UnitConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        # Kept only because the digest in the provenance covers them.
        lengths = [_lengths(block.astype(np.float64)) for block in vectors.blocks()]
        return {"lengths": np.concatenate(lengths), WORDS: words_digest(vectors.words)}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        return with_rows(vectors, lambda block: block / _lengths(block)[:, None])


def _lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """[rows] the lengths, 1 for zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.where(lengths == 0, 1.0, lengths)
