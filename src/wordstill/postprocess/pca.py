"""``pca``: fewer numbers per word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.postprocess.base import Transform, require_dim, with_rows
from wordstill.postprocess.moments import common_rows, covariance_of, mean_of, principal, require_common
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class PcaConfig:
    """Settings of `Pca`."""

    dim: int | None = None
    """How many numbers a vector has in the end; None keeps all and only turns the axes."""
    common: int | None = None
    """Learn from so many most frequent words; None takes all."""

    def __post_init__(self) -> None:
        require_common(self.common, "pca")
        if self.dim is not None and self.dim < 1:
            raise UsageError(f"pca:dim must be 1 or more; got {self.dim}.")


class Pca(Transform):
    r"""Coordinates of the centred vectors along the directions of largest variance, the largest first.

    .. math:: v_w \leftarrow P^\top (v_w - \mu)

    Cost: three passes and an eigenvalue problem.
    """

    name: ClassVar[str] = "pca.v1"
    config_type: ClassVar[type[PcaConfig]] = PcaConfig
    config: PcaConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        dim = vectors.dim if self.config.dim is None else self.config.dim
        if dim > vectors.dim:
            raise UsageError(f"pca:dim must be at most {vectors.dim}, the table's; got {dim}.")
        rows = common_rows(vectors, self.config.common)
        mean = mean_of(vectors, rows)
        directions = principal(covariance_of(vectors, rows, mean))[1]
        return {"mean": mean, "directions": directions[:, :dim]}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        mean, directions = state["mean"], state["directions"]
        require_dim(vectors, len(mean), "pca")
        return with_rows(vectors, lambda block: (block - mean) @ directions, directions.shape[1])
