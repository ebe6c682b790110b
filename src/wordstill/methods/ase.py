"""``ase``: aggregated static embeddings, a word's states pooled over all its occurrences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.methods.base import Method, RunContext
from wordstill.methods.sums import RowExtremes, RowSums
from wordstill.teacher.states import Pooling, WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class AseConfig:
    """Settings of `Ase`."""

    layer: int
    """Which layer's states; several (``all``, ``0-6``) give one table for each from the same pass."""
    subword: Pooling = "mean"
    """How the states of a word's subwords become one: mean, max or min."""
    context: Pooling = "mean"
    """How a word's occurrences become one vector: mean, max or min."""


class Ase(Method):
    r"""A word's contextual states, pooled over subwords and then over occurrences.

    .. math:: v_w = \mathrm{pool}_{o \in \mathrm{occurrences}(w)} \; \mathrm{pool}_{i \in o}\; h_i

    Paper: Bommasani et al. 2020, "Interpreting Pretrained Contextualized Representations via Reductions to
    Static Embeddings"; the strongest baseline of X2Static (Gupta and Jaggi 2021).

    Inputs: running text; words of the vocabulary that never occur in it are read in isolation (as the authors
    do). A word that occurs only in truncated parts of sentences is left out.
    Cost: one scatter-add for each word; memory vocabulary x width float32.
    Relations: `Decontextual` reads no text; `Still` adds the contexts of the word and whitens both.
    Deviations: all occurrences are used, not a sample; special tokens are always given to the teacher and
    never pooled (the authors run BERT without them, and let RoBERTa's last word take in ``</s>``).

    Example:
        >>> from wordstill import distill
        >>> tables = distill("corpus.txt", methods=["ase:layer=all"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "ase.v1"
    purpose: ClassVar[str] = "a plain baseline"
    normed: ClassVar[bool] = True
    unseen_parts: ClassVar[tuple[str, ...]] = ("alone",)
    config_type: ClassVar[type[AseConfig]] = AseConfig
    config: AseConfig

    def __init__(self, config: AseConfig, run: RunContext) -> None:
        super().__init__(config, run)
        rows, width, device = len(run.vocabulary), run.width, run.device
        unseen = run.unseen
        self.states: RowSums | RowExtremes
        if config.context == "mean":
            self.states = RowSums(rows, width, device)
        else:
            self.states = RowExtremes(rows, width, device, config.context)
        self.isolated = RowSums(len(unseen), width, device)
        self.parts = {"states": self.states, "alone": self.isolated}
        # [V] row of each unseen word in the table of isolated words, -1 for the others.
        self._isolated_row = torch.full((rows,), -1, dtype=torch.int64)
        self._isolated_row[unseen] = torch.arange(len(unseen))
        self._isolated_row = self._isolated_row.to(device)
        self.keep_cells("states")

    @classmethod
    def has_folds(cls, config: AseConfig) -> bool:
        """Yes for means; maxima of parts cannot be added."""
        return config.context == "mean"

    def isolated_words(self) -> NDArray[np.int64]:
        """The words that never occur in the text."""
        return self.run.unseen

    def observe(self, states: WordStates) -> None:
        """Pool the states of the words of a text."""
        self.add("states", states, self._words(states), states.known)

    def observe_isolated(self, states: WordStates) -> None:
        """Keep the states of words that never occur."""
        known = states.known
        rows = self._isolated_row[states.word_ids[known]]
        wanted = rows >= 0
        self.isolated.add(rows[wanted], self._words(states), known[wanted])

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """The pooled states, or the isolated states of words that never occur."""
        vectors, seen = self.states.pooled(), self.states.counts > 0
        # A word that was read in isolation may occur in text that was added later.
        lacking = ~seen[self.run.unseen]
        rows = torch.from_numpy(self.run.unseen).to(seen.device)[lacking]
        vectors[rows] = self.isolated.pooled()[lacking]
        seen[rows] = self.isolated.counts[lacking] > 0
        return self.table(vectors, seen, provenance, self._cell_rows)

    def _cell_rows(self, cells: slice, words: Tensor) -> Tensor:
        assert self.cells is not None
        return self.cells.parts["states"].pooled(cells)

    def _words(self, states: WordStates) -> Tensor:
        return states.words(self.config.layer, self.config.subword)
