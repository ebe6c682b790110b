"""``principal``: the direction in which most of a word's states lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.errors import UsageError
from wordstill.methods.base import Method, Setup
from wordstill.methods.linear import unit_rows
from wordstill.methods.sketches import RowSketches
from wordstill.methods.sums import RowSums
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors

ROWS_AT_ONCE = 1 << 13


@dataclass(frozen=True)
class PrincipalConfig:
    """Settings of `Principal`."""

    layer: int
    """Which layer's states; several (``all``, ``0-6``) give one table for each from the same pass."""
    rank: int = 4
    """Directions kept for each word while reading; more are more exact and need more memory."""

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise UsageError(f"principal:rank must be at least 1; got {self.rank}.")


class Principal(Method):
    r"""The first principal component of a word's states, of length one, on the side of their mean.

    .. math::
        v_w = \pm \arg\max_{\|v\| = 1} \sum_{o \in \mathrm{occurrences}(w)} (v \cdot h_o)^2, \qquad
        v_w \cdot \sum_o h_o \ge 0

    Paper: Ethayarajh 2019, "How Contextual are Contextualized Word Representations?". The states are not
    centred: what a word's occurrences share is what is wanted.

    Inputs: running text; words of the vocabulary that never occur in it are read alone.
    Cost: one small eigenvalue problem, of size 2 x rank, for each new word of a batch; memory
    (rank + 1) x vocabulary x width float32.
    Relations: `Ase` with mean pooling is the same where a word's states are alike; this one is pulled less by
    occurrences that differ from the others.
    Deviations: the states are seen once, and a word with more than ``rank`` occurrences is summarised by its
    ``rank`` strongest directions so far. Up to ``rank`` occurrences nothing is lost; beyond, the tests hold
    the sine of the angle to the exact component below 0.02 for up to 2,000 occurrences. More rank is more
    exact. The order of the text matters to the same small degree.

    Example:
        >>> from wordstill import distill
        >>> tables = distill("corpus.txt", methods=["principal:layer=1"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "principal.v1"
    config_type: ClassVar[type[PrincipalConfig]] = PrincipalConfig
    config: PrincipalConfig

    def __init__(self, config: PrincipalConfig, setup: Setup) -> None:
        super().__init__(config, setup)
        self.check(config, setup.width)
        rows, width, device = len(setup.vocabulary), setup.width, setup.device
        self.unseen = np.flatnonzero(setup.vocabulary.counts == 0)
        self.sums = RowSums(rows, width, device)
        self.sketches = RowSketches(rows, config.rank, width, device)
        self.parts = {"sums": self.sums, "sketches": self.sketches}
        self._is_unseen = torch.from_numpy(np.asarray(setup.vocabulary.counts == 0)).to(device)

    @classmethod
    def check(cls, config: PrincipalConfig, width: int) -> None:
        """Refuse more directions than there are."""
        if config.rank > width:
            raise UsageError(
                f"principal:rank must be from 1 to {width}, the teacher's width; got {config.rank}."
            )

    @property
    def layers(self) -> tuple[int, ...]:
        """The one layer of the settings."""
        return (self.config.layer,)

    def words_alone(self) -> NDArray[np.int64]:
        """The words that never occur in the text."""
        return self.unseen

    def observe(self, states: WordStates) -> None:
        """Take in the states of the words of a text."""
        known = states.known
        self._add(states.word_ids[known], states.words(self.config.layer)[known])

    def observe_alone(self, states: WordStates) -> None:
        """Take in the states of words that never occur."""
        known = states.known
        wanted = known[self._is_unseen[states.word_ids[known]]]
        self._add(states.word_ids[wanted], states.words(self.config.layer)[wanted])

    def finish(self) -> WordVectors:
        """The strongest direction of each word."""
        vectors = torch.empty_like(self.sums.sums)
        for rows in _blocks(len(vectors)):
            strongest = unit_rows(self.sketches.strongest(rows))
            against = (strongest * self.sums.sums[rows]).sum(dim=1, keepdim=True) < 0
            vectors[rows] = torch.where(against, -strongest, strongest)
        return self.table(vectors, self.sums.counts > 0)

    def _add(self, rows: Tensor, values: Tensor) -> None:
        self.sums.add(rows, values)
        self.sketches.add(rows, values)


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + ROWS_AT_ONCE, rows)) for start in range(0, rows, ROWS_AT_ONCE))
