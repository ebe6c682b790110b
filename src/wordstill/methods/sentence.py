"""``sentence``: word vectors whose plain mean is the teacher's vector of the sentence, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.settings import Config, Range
from wordstill.methods.base import Method, RunContext, refuse_unseen
from wordstill.methods.blocks import Block, Prior, frequent_words, shrunk_table
from wordstill.methods.sentence_regression import Bags, observe_bags, regress
from wordstill.methods.sums import RowSums
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class SentenceConfig(Config):
    """Settings of `Sentence`, chosen on development halves (experiments/results.md)."""

    layer: int
    """Which layer's states."""
    target: Literal["mean", "first", "last"] = "mean"
    """What of the teacher is the sentence's vector: the mean of its states, or the state of the first or the
    last subword, special tokens included. Take what the model was trained to pool."""
    strength: Annotated[float, Range(0, 1e9, above=True)] = 0.03
    """How strongly a word is held near its mean state: less for sentences, more (0.3) for single words."""
    state_prior: Prior = 0.5
    """How many occurrences the guess from the isolated word counts for."""


class Sentence(Method):
    r"""Ridge regression of the teacher's sentence vectors on bags of words.

    With :math:`t_s` the unit vector of sentence s, :math:`x_s` its bag of known words divided by their number,
    and :math:`V_0` the table of mean states, shrunk as in `Still` and scaled to fit:

    .. math:: \min_V \; \sum_s |t_s - V^\top x_s|^2 + \lambda\, |V - V_0|^2

    Rows keep their lengths: they say how much a word matters in a sentence. A plain mean of rows is the
    sentence vector.

    Paper: none; model2vec's tokenlearn trains towards a like objective step by step.

    Inputs: running text, and every word of the vocabulary in isolation. Words that never occur get what their
    isolated state lets one expect. Sentences are what the teacher reads as sentences, whatever the unit.
    Cost: three tables of vocabulary x width float32, 8 bytes for each word of the text, and about 20 sparse
    products at the end; no sentence vector is stored. Exact, mergeable, no random numbers.
    Relations: with an infinite ``strength`` it is `Ase`, shrunk. `Still` has its rows as one block.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["sentence"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "sentence.v1"
    purpose: ClassVar[str] = "sentences as plain means"
    config_type: ClassVar[type[SentenceConfig]] = SentenceConfig
    config: SentenceConfig

    def __init__(self, config: SentenceConfig, run: RunContext) -> None:
        super().__init__(config, run)
        refuse_unseen("sentence", run)
        rows, width, device = len(run.vocabulary), run.width, run.device
        self.states, self.isolated = RowSums(rows, width, device), RowSums(rows, width, device)
        self.bags = Bags(rows, width, device)
        self.parts = {"states": self.states, "alone": self.isolated, "bags": self.bags}

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    def observe(self, states: WordStates) -> None:
        """Add the states of words, and the sentences they stand in."""
        known, layer = states.known, self.config.layer
        self.states.add(states.word_ids[known], states.words(layer), known)
        observe_bags(self.bags, states, self._targets(states), self.run.words)

    def observe_isolated(self, states: WordStates) -> None:
        """Keep the states of words."""
        known = states.known
        self.isolated.add(states.word_ids[known], states.words(self.config.layer), known)

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """Solve the regression."""
        frequent = frequent_words(self.states.counts, self.isolated.counts, self.run.width)
        prior = shrunk_table(Block(self.states, self.isolated, self.config.state_prior), frequent)
        vectors = regress(self.bags, prior, self.config.strength).table
        return self.table(vectors, (self.states.counts > 0) | (self.isolated.counts > 0), provenance)

    def sentence_weights(self, vectors: Tensor) -> Tensor:
        """Their own lengths."""
        lengths: Tensor = torch.linalg.vector_norm(vectors, dim=1)
        return lengths

    def _targets(self, states: WordStates) -> Tensor:
        """[S, width]."""
        if self.config.target == "mean":
            return states.sentences(self.config.layer)
        texts, owner = states.batch.text_offsets, states.batch.sentence_text
        places = texts[owner] if self.config.target == "first" else texts[owner + 1] - 1
        return states.hidden[self.config.layer][places]
