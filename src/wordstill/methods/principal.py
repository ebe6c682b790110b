"""``principal``: the first principal component of a word's states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.methods.base import Method, RunContext
from wordstill.methods.linear_algebra import unit_rows
from wordstill.methods.sums import Accumulator, RowSums, row_blocks
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors

ROWS_AT_ONCE = 1 << 13


@dataclass(frozen=True)
class PrincipalConfig(Config):
    """Settings of `Principal`."""

    layer: int
    """Which layer's states; several (``all``, ``0-6``) give one table for each from the same pass."""
    rank: Annotated[int, Range(1)] = 4
    """Directions kept for each word while reading; more are more accurate and take more memory."""


class Principal(Method):
    r"""The first principal component of a word's states as a unit vector, oriented towards their mean.

    .. math::
        v_w = \pm \arg\max_{\|v\| = 1} \sum_{o \in \mathrm{occurrences}(w)} (v \cdot h_o)^2, \qquad
        v_w \cdot \sum_o h_o \ge 0

    Paper: Ethayarajh 2019, "How Contextual are Contextualized Word Representations?". The states are not
    centered, because the direction should represent what a word's occurrences share.

    Inputs: running text; words of the vocabulary that never occur in it are read in isolation.
    Cost: one small eigenvalue problem, of size 2 x rank, for each new word of a batch; memory
    (rank + 1) x vocabulary x width float32.
    Relations: similar to `Ase` with mean pooling if a word's states are similar; outliers have less influence.
    Deviations: states are seen once, and a word with more than ``rank`` occurrences is summarized by its ``rank``
    strongest directions so far. Up to ``rank`` occurrences the result is exact; for up to 2,000 occurrences, the tests
    require the sine of the angle to the exact component to be below 0.02. The order of the text matters to the same
    small degree.

    Example:
        >>> from wordstill import distill
        >>> tables = distill("corpus.txt", methods=["principal:layer=1"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "principal.v1"
    config_type: ClassVar[type[PrincipalConfig]] = PrincipalConfig
    config: PrincipalConfig

    def __init__(self, config: PrincipalConfig, run: RunContext) -> None:
        super().__init__(config, run)
        self.check(config, run.width)
        rows, width, device = len(run.vocabulary), run.width, run.device
        self.sums = RowSums(rows, width, device)
        self.sketches = RowSketches(rows, config.rank, width, device)
        self.parts = {"sums": self.sums, "sketches": self.sketches}
        self._is_unseen = torch.from_numpy(np.asarray(run.vocabulary.counts == 0)).to(device)

    @classmethod
    def check(cls, config: PrincipalConfig, width: int) -> None:
        """Refuse a rank above the teacher's width."""
        if config.rank > width:
            raise UsageError(f"principal:rank must be from 1 to {width}, the teacher's width; got {config.rank}.")

    def isolated_words(self) -> NDArray[np.int64]:
        """The words that never occur in the text."""
        return self.run.unseen

    def observe(self, states: WordStates) -> None:
        """Add the states of the words of a text."""
        known = states.known
        self._add(states.word_ids[known], states.words(self.config.layer)[known])

    def observe_isolated(self, states: WordStates) -> None:
        """Add the states of words that never occur."""
        known = states.known
        wanted = known[self._is_unseen[states.word_ids[known]]]
        self._add(states.word_ids[wanted], states.words(self.config.layer)[wanted])

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """The strongest direction of each word."""
        vectors = torch.empty_like(self.sums.sums)
        for rows in row_blocks(len(vectors), ROWS_AT_ONCE):
            strongest = unit_rows(self.sketches.strongest(rows))
            against = (strongest * self.sums.sums[rows]).sum(dim=1, keepdim=True) < 0
            vectors[rows] = torch.where(against, -strongest, strongest)
        return self.table(vectors, self.sums.counts > 0, provenance)

    def _add(self, rows: Tensor, values: Tensor) -> None:
        self.sums.add(rows, values)
        self.sketches.add(rows, values)


class RowSketches:
    r"""A low-rank sketch of all vectors seen for each row.

    With :math:`A` the vectors seen, as rows, a sketch :math:`B` has ``rank`` rows and
    :math:`B^\top B \approx A^\top A`: the strongest right singular vectors of the previous sketch and the new vectors,
    scaled by their singular values. Up to ``rank`` vectors are kept without loss.

    Memory: rows x rank x width float32.
    """

    def __init__(self, rows: int, rank: int, width: int, device: torch.device) -> None:
        self.rank = rank
        self.sketches = torch.zeros(rows, rank, width, device=device)

    def add(self, rows: Tensor, values: Tensor) -> None:
        """Observe one vector for each row in ``rows``; rows may repeat."""
        owners, blocks = _blocks_of(rows, values, self.rank)
        distinct = torch.unique_consecutive(owners)
        owners, order = torch.sort(torch.cat([distinct, owners]), stable=True)
        self.sketches[distinct] = _reduced(owners, torch.cat([self.sketches[distinct], blocks])[order])

    def strongest(self, rows: slice) -> Tensor:
        """[rows, width] the strongest direction times its singular value, with arbitrary sign."""
        return _compressed(self.sketches[rows], 1)[:, 0]

    def state_dict(self) -> dict[str, Tensor]:
        """Sketches [rows, rank, width]."""
        return {"sketches": self.sketches}

    def merge(self, other: Accumulator) -> None:
        """Keep the strongest directions of both."""
        theirs = other.state_dict()["sketches"]
        for rows in row_blocks(len(theirs), ROWS_AT_ONCE):
            both = torch.cat([self.sketches[rows], theirs[rows]], dim=1)
            self.sketches[rows] = _compressed(both, self.rank)


def _blocks_of(rows: Tensor, values: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Vectors grouped into zero-padded blocks of the same row: owners [K], blocks [K, size, d]."""
    rows, order = torch.sort(rows, stable=True)
    place = _places(rows)
    first = place % size == 0
    block = torch.cumsum(first, dim=0) - 1
    owners = rows[first]
    blocks = torch.zeros(len(owners), size, values.shape[1], device=values.device)
    blocks[block, place % size] = values[order].float()
    return owners, blocks


def _reduced(owners: Tensor, blocks: Tensor) -> Tensor:
    """[distinct owners, rank, d] one block for each owner, by repeatedly merging pairs of blocks."""
    rank = blocks.shape[1]
    while True:
        place = _places(owners)
        second = torch.nonzero(place % 2 == 1).flatten()
        if not len(second):
            return blocks
        blocks[second - 1] = _compressed(torch.cat([blocks[second - 1], blocks[second]], dim=1), rank)
        kept = place % 2 == 0
        owners, blocks = owners[kept], blocks[kept]


def _compressed(matrices: Tensor, rank: int) -> Tensor:
    """[K, rank, d] the strongest right singular vectors of each matrix [K, m, d], times singular values."""
    products = (matrices @ matrices.transpose(1, 2)).double()
    # The left singular vectors are those of the small matrix of products; columns ascend.
    left: Tensor = torch.linalg.eigh(products)[1].flip(2)[:, :, :rank].float()
    return left.transpose(1, 2) @ matrices


def _places(owners: Tensor) -> Tensor:
    """For sorted owners, the rank of each within its group [K]."""
    _, counts = torch.unique_consecutive(owners, return_counts=True)
    starts = torch.cumsum(counts, dim=0) - counts
    return torch.arange(len(owners), device=owners.device) - torch.repeat_interleave(starts, counts)
