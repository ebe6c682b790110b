"""``sentence-weights``: rows as long as their words weigh in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.postprocess.base import Transform, with_matrix
from wordstill.vectors.search import unit_rows
from wordstill.vectors.sentences import LENGTHS, SENTENCE_LENGTHS, sif, word_frequencies
from wordstill.vectors.table import WordVectors


@dataclass(frozen=True)
class SentenceWeightsConfig(Config):
    """Settings of `SentenceWeights`."""

    smoothing: Annotated[float, Range(0, above=True)] = 1e-3
    """The a of the weights: with less of it frequent words count less."""


class SentenceWeights(Transform):
    r"""Give each vector the length of its SIF weight: :math:`v_w \leftarrow \frac{a}{a + p(w)} v_w / |v_w|`.

    p(w) is the frequency of w (Arora, Liang and Ma 2017). A plain mean of rows is then the weighted mean, also in
    exported models, and no cosine between words changes.

    Cost: one pass over the table. A table without counts is taken to be in the order of frequency.
    """

    name: ClassVar[str] = "sentence-weights.v1"
    config_type: ClassVar[type[SentenceWeightsConfig]] = SentenceWeightsConfig
    config: SentenceWeightsConfig

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        weights = sif(word_frequencies(vectors), self.config.smoothing)
        matrix = unit_rows(vectors.matrix) * weights.astype(np.float32)[:, None]
        return with_matrix(vectors, matrix).replace(provenance={LENGTHS: SENTENCE_LENGTHS})
