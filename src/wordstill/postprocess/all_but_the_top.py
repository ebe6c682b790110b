"""``abtt``: all but the top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.postprocess.base import WORDS, Transform, require_dim, with_rows, words_digest
from wordstill.postprocess.moments import common_rows, covariance_of, mean_of, principal, require_common
from wordstill.vectors import WordVectors

DIMENSIONS_PER_DIRECTION = 100


@dataclass(frozen=True)
class AllButTheTopConfig:
    """Settings of `AllButTheTop`."""

    directions: int | None = None
    """How many directions are taken away; None takes a hundredth of the dimension, as in the paper."""
    common: int | None = None
    """Learn from so many most frequent words; None takes all."""

    def __post_init__(self) -> None:
        require_common(self.common, "abtt")
        if self.directions is not None and self.directions < 0:
            raise UsageError(f"abtt:directions must be 0 or more; got {self.directions}.")


class AllButTheTop(Transform):
    r"""Take away the mean and what lies in the directions of largest variance.

    .. math:: v_w \leftarrow v_w - \mu - \sum_{i=1}^{D} u_i u_i^\top (v_w - \mu)

    Paper: Mu and Viswanath 2018, "All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations". In theirs the projection is of :math:`v_w` and not of :math:`v_w - \mu`; the results
    differ by the same vector for all words, and here what is left is centred.

    Relations: `Whiten` makes large directions smaller instead of taking them away.
    """

    name: ClassVar[str] = "abtt.v1"
    config_type: ClassVar[type[AllButTheTopConfig]] = AllButTheTopConfig
    config: AllButTheTopConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        rows = common_rows(vectors, self.config.common)
        mean = mean_of(vectors, rows)
        count = self._count(vectors.dim)
        top = principal(covariance_of(vectors, rows, mean))[1][:, :count]
        taken = [(block - mean) @ top for block in vectors.blocks()]
        # The last two are kept only because the digest in the provenance covers them.
        return {
            "mean": mean,
            "top": top,
            "taken": np.concatenate(taken).astype(np.float32),
            WORDS: words_digest(vectors.words),
        }

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        mean, top = state["mean"], state["top"]
        require_dim(vectors, len(mean), "abtt")

        def change(block: NDArray[np.float64]) -> NDArray[np.float64]:
            block -= mean
            block -= (block @ top) @ top.T
            return block

        return with_rows(vectors, change)

    def _count(self, dim: int) -> int:
        count = self.config.directions
        if count is None:
            return max(1, dim // DIMENSIONS_PER_DIRECTION) if dim > 1 else 0
        if count >= dim:
            raise UsageError(f"abtt:directions must be below the dimension, {dim}; got {count}.")
        return count
