"""``decontextual``: the states of isolated words, without any context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.methods.base import Method, RunContext
from wordstill.methods.sums import RowSums
from wordstill.teacher.layers import INPUT_EMBEDDINGS
from wordstill.teacher.states import Pooling, WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class DecontextualConfig:
    """Settings of `Decontextual`."""

    layer: int
    """Which layer's states."""
    subword: Pooling = "mean"
    """How the states of a word's subwords become one: mean, max or min."""


@dataclass(frozen=True)
class TokenTableConfig:
    """Settings of `TokenTable`."""

    subword: Pooling = "mean"
    """How the rows of a word's subwords become one: mean, max or min."""


class Decontextual(Method):
    r"""The state of an isolated word.

    .. math:: v_w = \mathrm{pool}_{i \in w}\; h_i(w)

    Paper: Bommasani et al. 2020, "Interpreting Pretrained Contextualized Representations via Reductions to
    Static Embeddings", the decontextualized baseline.

    Inputs: the vocabulary only; no running text. Case: the most frequent spelling in the text is read.
    Cost: one text of a few subwords for each word of the vocabulary.
    Relations: `Ase` averages over real contexts instead; `Still` falls back to this vector for rare words.
    Deviations: the special tokens are read by the teacher, but are not part of the mean (the authors' code
    does not feed them to BERT at all).

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["decontextual"])["decontextual"]  # doctest: +SKIP
    """

    name: ClassVar[str] = "decontextual.v1"
    normed: ClassVar[bool] = True
    config_type: ClassVar[type[Any]] = DecontextualConfig
    reads_text: ClassVar[bool] = False
    config: DecontextualConfig | TokenTableConfig

    def __init__(self, config: DecontextualConfig | TokenTableConfig, run: RunContext) -> None:
        super().__init__(config, run)
        self.isolated = RowSums(len(run.vocabulary), run.width, run.device)
        self.parts = {"alone": self.isolated}

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    def observe_isolated(self, states: WordStates) -> None:
        """Keep the states of words."""
        known = states.known
        words = states.words(self.layers[0], self.config.subword)
        self.isolated.add(states.word_ids[known], words, known)

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """The isolated states."""
        return self.table(self.isolated.pooled(), self.isolated.counts > 0, provenance)


class TokenTable(Decontextual):
    r"""The teacher's own table of input embeddings; its layers are never run.

    .. math:: v_w = \mathrm{pool}_{i \in w}\; E_i

    Paper: the baseline of Wang, Cui and Zhang 2019 and of Zheng et al. 2022 (BERT_base, GPT2_token). Layer 0 of
    `Decontextual` is something else: positions and segments are added to E, and the sum is normalized.

    Inputs: the vocabulary only. Case: the most frequent spelling in the text is read.
    Cost: one row for each subword of the vocabulary.
    Relations: `Decontextual` runs the model over the same subwords.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["token-table"])["token-table"]  # doctest: +SKIP
    """

    name: ClassVar[str] = "token-table.v1"
    config_type: ClassVar[type[Any]] = TokenTableConfig
    config: TokenTableConfig

    @property
    def layers(self) -> tuple[int, ...]:
        """The pseudo-layer of input embeddings."""
        return (INPUT_EMBEDDINGS,)
