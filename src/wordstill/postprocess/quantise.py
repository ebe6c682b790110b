"""``quantise``: numbers that fit into a byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from wordstill.formats.int8 import dequantise, quantise
from wordstill.postprocess.base import Transform, with_matrix
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class QuantiseConfig:
    """`Quantise` has no settings."""


class Quantise(Transform):
    r"""Round each vector to whole numbers from -127 to 127 times a scale of its own.

    .. math:: v_w \leftarrow s_w\, \mathrm{round}(v_w / s_w), \qquad s_w = \max_i |v_{wi}| / 127

    The table stays one of float32 numbers; written as int8 with scales it loses nothing more, and so shows
    before writing what that costs.
    """

    name: ClassVar[str] = "quantise.v1"
    config_type: ClassVar[type[QuantiseConfig]] = QuantiseConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        return {}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        return with_matrix(vectors, dequantise(*quantise(vectors.matrix)))
