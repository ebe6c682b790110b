"""``uncovec``: from similarity to relatedness and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.postprocess.base import Transform, require_dim, with_rows
from wordstill.postprocess.moments import SMALLEST, common_rows, covariance_of, principal
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class UncovecConfig:
    """Settings of `Uncovec`."""

    alpha: float = -0.15
    """Below 0 similarity order goes down, towards syntax and similarity; above 0 towards relatedness."""

    def __post_init__(self) -> None:
        if not -1 <= self.alpha <= 1:
            raise UsageError(f"uncovec:alpha must be from -1 to 1; got {self.alpha}.")


class Uncovec(Transform):
    r"""Change the order of similarity that the dot products express.

    .. math:: X \leftarrow X Q \Lambda^{\alpha}, \qquad X^\top X = Q \Lambda Q^\top

    With alpha = (n - 1) / 2, dot products of the new vectors are similarities of order n of the old ones.
    Vectors are neither centred nor scaled. Directions in which nothing lies stay empty whatever alpha.

    Paper: Artetxe, Labaka, Lopez-Gazpio and Agirre 2018, "Uncovering Divergent Linguistic Information in Word
    Embeddings with Lessons for Intrinsic and Extrinsic Evaluation".
    """

    name: ClassVar[str] = "uncovec.v1"
    config_type: ClassVar[type[UncovecConfig]] = UncovecConfig
    config: UncovecConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        moment = covariance_of(vectors, common_rows(vectors, None), np.zeros(vectors.dim))
        values, directions = principal(moment * len(vectors))
        return {"values": values, "directions": directions}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, len(state["values"]), "uncovec")
        turned = state["directions"] * self._powers(state["values"])
        return with_rows(vectors, lambda block: block @ turned)

    def _powers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[dim]; of values that are rounding only, negative powers would be noise."""
        filled = values > SMALLEST**2 * values[0]
        raised = np.where(filled, values, 1.0) ** self.config.alpha
        powers: NDArray[np.float64] = np.where(filled, raised, 0.0)
        return powers
