"""A method for wordstill, as a plug-in: the mean direction of a word's states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from wordstill.core.settings import Config, Range
from wordstill.methods import Method, RunContext
from wordstill.methods.sums import RowSums
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class MeanDirectionConfig(Config):
    """Settings, which users write as ``mean-direction:layer=2,power=0.5``."""

    layer: int
    """Which layer's states; several (``all``, ``0-6``) give one table for each."""
    power: Annotated[float, Range(0, 1)] = 1.0
    """How far lengths are evened out: 0 gives the plain mean, 1 counts directions only."""


class MeanDirection(Method):
    r"""The mean of a word's states over their lengths: :math:`v_w = \mathrm{mean}_o \; h_o / \|h_o\|^p`."""

    name: ClassVar[str] = "mean-direction.v1"
    config_type: ClassVar[type[MeanDirectionConfig]] = MeanDirectionConfig
    config: MeanDirectionConfig

    def __init__(self, config: MeanDirectionConfig, run: RunContext) -> None:
        super().__init__(config, run)
        self.sums = RowSums(len(run.vocabulary), run.width, run.device)
        self.parts = {"sums": self.sums}  # What checkpoints save.

    @property
    def layers(self) -> tuple[int, ...]:
        """The one layer of the settings."""
        return (self.config.layer,)

    def observe(self, states: WordStates) -> None:
        """Add the states of a batch of running text."""
        words = states.words(self.config.layer)[states.known]  # [K, width], those of the vocabulary
        lengths = words.norm(dim=1, keepdim=True).clamp(min=1e-12)
        self.sums.add(states.word_ids[states.known], words / lengths**self.config.power)

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """The means; words that never occurred are left out."""
        return self.table(self.sums.pooled(), self.sums.counts > 0, provenance)
