"""``whiten``: equal variance in all directions, or half-way to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.postprocess.base import Transform, require_dim, with_rows
from wordstill.postprocess.moments import (
    SMALLEST,
    common_rows,
    covariance_of,
    mean_of,
    principal,
    require_common,
)
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class WhitenConfig:
    """Settings of `Whiten`."""

    exponent: float = 0.5
    """How far: 0 only centres, 0.5 gives all directions the same variance."""
    common: int | None = None
    """Learn from so many most frequent words; None takes all."""

    def __post_init__(self) -> None:
        require_common(self.common, "whiten")
        if not 0 <= self.exponent <= 1:
            raise UsageError(f"whiten:exponent must be from 0 to 1; got {self.exponent}.")


class Whiten(Transform):
    r"""Multiply the centred vectors by a power of the inverse covariance, without turning the axes (ZCA).

    .. math:: v_w \leftarrow \Sigma^{-a} (v_w - \mu)

    Directions with less than 1e-8 of the largest variance are treated as if they had that much; a table
    without any variance becomes zeros. Cost: three passes and an eigenvalue problem.
    Relations: `AllButTheTop` takes the largest directions away; `Uncovec` does not centre and turns the axes.
    """

    name: ClassVar[str] = "whiten.v1"
    config_type: ClassVar[type[WhitenConfig]] = WhitenConfig
    config: WhitenConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        rows = common_rows(vectors, self.config.common)
        mean = mean_of(vectors, rows)
        values, directions = principal(covariance_of(vectors, rows, mean))
        return {"mean": mean, "values": values, "directions": directions}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, len(state["mean"]), "whiten")
        power = self._power(state)
        return with_rows(vectors, lambda block: (block - state["mean"]) @ power)

    def _power(self, state: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        values, directions = state["values"], state["directions"]
        if values[0] <= 0:
            return np.zeros_like(directions)
        powers = np.maximum(values, SMALLEST * values[0]) ** -self.config.exponent
        product: NDArray[np.float64] = (directions * powers) @ directions.T
        return product
