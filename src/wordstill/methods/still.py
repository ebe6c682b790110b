"""``still``: wordstill's own method, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.methods.base import Method, Setup
from wordstill.methods.sums import Moments, RowSums
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class StillConfig:
    """Settings of `Still`."""

    layer: int
    dim: int | None = None
    context_weight: float = 0.5
    state_exponent: float = 0.25
    context_exponent: float = 0.25
    prior: float = 3.0


class Still(Method):
    """Experimental."""

    name: ClassVar[str] = "still.v1"
    config_type: ClassVar[type] = StillConfig
    config: StillConfig

    def __init__(self, config: StillConfig, setup: Setup) -> None:
        super().__init__(config, setup)
        rows, width, device = len(setup.vocabulary), setup.width, setup.device
        self.states = RowSums(rows, width, device)
        self.contexts = RowSums(rows, width, device)
        self.alone = RowSums(rows, width, device)
        self.spread = Moments(width, device)
        self.parts = {"states": self.states, "contexts": self.contexts, "alone": self.alone, "spread": self.spread}

    @property
    def layers(self) -> tuple[int, ...]:
        return (self.config.layer,)

    def words_alone(self) -> NDArray[np.int64]:
        return np.arange(len(self.setup.vocabulary))

    def observe(self, states: WordStates) -> None:
        known, layer = states.known, self.config.layer
        ids, sentence = states.word_ids[known], states.word_sentence[known]
        sentences = states.sentences(layer)
        self.states.add(ids, states.words(layer)[known])
        self.contexts.add(ids, sentences[sentence])
        self.spread.add(sentences, torch.bincount(sentence, minlength=len(sentences)).float())

    def observe_alone(self, states: WordStates) -> None:
        known = states.known
        self.alone.add(states.word_ids[known], states.words(self.config.layer)[known])

    def finish(self) -> WordVectors:
        return self.table(self.states.means(), self.states.counts > 0)
