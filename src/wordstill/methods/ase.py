"""``ase``: aggregated static embeddings, a word's states pooled over all its occurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.methods.base import Method, Setup
from wordstill.methods.sums import RowExtremes, RowSums
from wordstill.teacher.states import Pooling, WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class AseConfig:
    """Settings of `Ase`."""

    layer: int
    """Which layer's states; ask for several (``all``, ``0-6``) to get one table for each from the same pass."""
    subword: Pooling = "mean"
    """How the states of a word's sub-words become one: mean, max or min."""
    context: Pooling = "mean"
    """How a word's occurrences become one vector: mean, max or min."""


class Ase(Method):
    r"""A word's contextual states, pooled over sub-words and then over occurrences.

    .. math:: v_w = \mathrm{pool}_{o \in \mathrm{occurrences}(w)} \; \mathrm{pool}_{i \in o}\; h_i

    Paper: Bommasani et al. 2020, "Interpreting Pretrained Contextualized Representations via Reductions to Static
    Embeddings"; the strongest baseline of X2Static (Gupta and Jaggi 2021).

    Inputs: running text; words of the vocabulary that never occur in it are read alone (as the authors do).
    Cost: one scatter-add for each word; memory vocabulary x width float32.
    Relations: `Decontextual` reads no text; `Still` adds the contexts of the word and whitens both.
    Deviations: all occurrences are used, not a sample; special tokens are always given to the teacher and never
    pooled (the authors run BERT without them, and let RoBERTa's last word take in ``</s>``).

    Example:
        >>> from wordstill import distill
        >>> tables = distill("corpus.txt", methods=["ase:layer=all"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "ase.v1"
    config_type: ClassVar[type] = AseConfig
    config: AseConfig

    def __init__(self, config: AseConfig, setup: Setup) -> None:
        super().__init__(config, setup)
        rows, width, device = len(setup.vocabulary), setup.width, setup.device
        self.unseen = np.flatnonzero(setup.vocabulary.counts == 0)
        self.states: RowSums | RowExtremes
        if config.context == "mean":
            self.states = RowSums(rows, width, device)
        else:
            self.states = RowExtremes(rows, width, device, config.context)
        self.alone = RowSums(rows if len(self.unseen) else 0, width, device)
        self.parts = {"states": self.states, "alone": self.alone}

    @property
    def layers(self) -> tuple[int, ...]:
        return (self.config.layer,)

    def words_alone(self) -> NDArray[np.int64]:
        return self.unseen

    def observe(self, states: WordStates) -> None:
        known = states.known
        self.states.add(states.word_ids[known], states.words(self.config.layer, self.config.subword)[known])

    def observe_alone(self, states: WordStates) -> None:
        known = states.known
        self.alone.add(states.word_ids[known], states.words(self.config.layer, self.config.subword)[known])

    def finish(self) -> WordVectors:
        vectors, seen = self.states.means(), self.states.counts > 0
        if len(self.unseen):
            vectors = torch.where(seen[:, None], vectors, self.alone.means())
            seen = seen | (self.alone.counts > 0)
        return self.table(vectors, seen)
