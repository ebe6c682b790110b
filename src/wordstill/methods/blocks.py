"""Blocks of states that are shrunk, whitened and mixed into one table, for `Still`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import torch
from torch import Tensor

from wordstill.core.settings import Range
from wordstill.methods.linear_algebra import centered, principal_axes, ridge, symmetric_power, unit_rows
from wordstill.methods.sums import Moments, RowSums, row_blocks

ROWS_AT_ONCE = 1 << 15
RIDGE = 0.01
ENOUGH_OCCURRENCES = 5
COMMON_WORDS = 20_000
Exponent: TypeAlias = Annotated[float, Range(0, 1)]
Prior: TypeAlias = Annotated[float, Range(0, 1e15, above=True)]
Weight: TypeAlias = Annotated[float, Range(0, 1e6)]


@dataclass(frozen=True, eq=False)
class Block:
    """One kind of vector of each word, and how it is shrunk, whitened and weighted."""

    sums: RowSums
    isolated: RowSums | None = None
    """States of isolated words, from which a regression predicts rare words' vectors; None does not shrink rows."""
    prior: float = 0.0
    """Weight of the prediction, in occurrences."""
    exponent: float = 0.0
    """How far to whiten rows: 0 not at all, 0.5 fully."""
    weight: float = 1.0
    by_count: bool = False
    """Whether the weight of rare words shrinks too."""
    spread: Moments | None = None
    """Source of mean and covariance; None takes the rows of frequent words."""
    cells: RowSums | None = None
    """The sums by cell; None if all cells of a word share its row."""


class ShrunkRows:
    r"""Rows of a block, shrunk towards their prediction from the isolated word.

    .. math:: x_w = \frac{n_w \bar x_w + \kappa\, \hat x_w}{n_w + \kappa}

    with :math:`\hat x_w` from a ridge regression on the isolated state, fitted on frequent words.

    Args:
        block: The sums.
        frequent: The words to fit regression, mean and covariance on [V].
        rows_at_once: Rows to hold in float64 at a time.
    """

    def __init__(self, block: Block, frequent: Tensor, rows_at_once: int = ROWS_AT_ONCE) -> None:
        self.block = block
        observed, isolated = block.sums, block.isolated
        width = observed.sums.shape[1]
        moments = Moments(width if isolated is None else 2 * width, frequent.device)
        for rows in blocks_of(frequent, rows_at_once):
            parts = [observed.pooled(rows), *([] if isolated is None else [isolated.pooled(rows)])]
            moments.add(torch.cat(parts, dim=1), torch.ones_like(rows))
        mean, covariance = moments.mean(), moments.covariance()
        self.mean, self.covariance = mean[:width], covariance[:width, :width]
        self.isolated_mean = mean[width:]
        if isolated is not None:
            self.weights = ridge(covariance[width:, width:], covariance[width:, :width], RIDGE)

    def __call__(self, rows: slice | Tensor) -> Tensor:
        """[rows, width] float64."""
        block = self.block
        observed = block.sums.pooled(rows).double()
        if block.isolated is None:
            # Rows without observations become zeros after centering.
            return torch.where(block.sums.counts[rows, None] > 0, observed, self.mean)
        counts = block.sums.counts[rows, None].double()
        readable = block.isolated.counts[rows, None] > 0
        deviation = centered(block.isolated.pooled(rows).double(), self.isolated_mean)
        expected = self.mean + torch.where(readable, deviation, 0.0) @ self.weights
        return (counts * observed + block.prior * expected) / (counts + block.prior)


class WhitenedBlock:
    """Shrunk rows, centered, whitened, scaled to length one, and multiplied by the block's weight."""

    def __init__(self, block: Block, frequent: Tensor, rows_at_once: int) -> None:
        self.block, self.rows = block, ShrunkRows(block, frequent, rows_at_once)
        self.mean = self.rows.mean if block.spread is None else block.spread.mean()
        covariance = self.rows.covariance if block.spread is None else block.spread.covariance()
        self.whitening = symmetric_power(covariance, -block.exponent) if block.exponent else None

    def __call__(self, rows: slice | Tensor) -> Tensor:
        """[rows, width] float64."""
        return self._weight(rows) * unit_rows(self._whitened(rows))

    def shifts(self, cells: slice, words: Tensor) -> Tensor:
        r"""[n, width] differences between the rows of cells and of their words [n].

        .. math:: \lambda_w \frac{n_w}{n_w + \kappa} \frac{\Sigma^{-a} (\bar x_c - \bar x_w)}{|\Sigma^{-a} (x_w - \mu)|}

        Shrinkage, length and weight are those of the whole word, so that the row of a word is the mean of the rows of
        its cells, weighted by their counts.
        """
        block = self.block
        if block.cells is None:
            return torch.zeros(len(words), block.sums.sums.shape[1], dtype=torch.float64, device=words.device)
        distinct, place = torch.unique_consecutive(words, return_inverse=True)
        length = torch.linalg.vector_norm(self._whitened(distinct), dim=1, keepdim=True)
        factor = torch.where(length > 0, self._weight(distinct) / length, 0.0)
        if block.isolated is not None:
            counts = block.sums.counts[distinct, None].double()
            factor = factor * counts / (counts + block.prior)
        observed = block.cells.pooled(cells).to(words.device).double()
        shift = observed - block.sums.pooled(distinct).double()[place]
        return factor[place] * (shift if self.whitening is None else shift @ self.whitening)

    def _whitened(self, rows: slice | Tensor) -> Tensor:
        deviations = centered(self.rows(rows), self.mean)
        return deviations if self.whitening is None else deviations @ self.whitening

    def _weight(self, rows: slice | Tensor) -> Tensor:
        """[rows, 1], or one number for all."""
        block = self.block
        if not block.by_count:
            return torch.tensor(block.weight, dtype=torch.float64, device=block.sums.sums.device)
        counts = block.sums.counts[rows, None].double()
        return block.weight * counts / (counts + block.prior)


class Mixture:
    r"""All blocks concatenated and reduced by PCA.

    .. math:: v_w = \Lambda^{-e} P^\top (b_w - m)

    with mean m, directions P and variances :math:`\Lambda` over the most common of the frequent words, so that a long
    tail of names does not dominate. The first coordinates matter most.

    Args:
        blocks: The blocks.
        frequent: The words to fit on [V].
        counts: Occurrences of each word [V].
        dim: Number of directions to keep.
        exponent: How far to whiten the result.
        rows_at_once: Rows to hold in float64 at a time.
        common_words: Number of words to fit the directions on.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        frequent: Tensor,
        counts: Tensor,
        dim: int,
        exponent: float = 0.0,
        *,
        rows_at_once: int = ROWS_AT_ONCE,
        common_words: int = COMMON_WORDS,
    ) -> None:
        self.parts = [WhitenedBlock(block, frequent, rows_at_once) for block in blocks]
        self.size, self.rows_at_once = len(counts), rows_at_once
        joint = Moments(sum(block.sums.sums.shape[1] for block in blocks), counts.device)
        for chosen in blocks_of(_most_common(frequent, counts, common_words), rows_at_once):
            joint.add(self._joined(chosen), torch.ones_like(chosen))
        self.center = joint.mean()
        variances, self.directions = principal_axes(joint.covariance(), dim)
        if exponent:
            self.directions = self.directions * torch.where(variances > 0, variances, 1.0) ** -exponent

    def table(self) -> Tensor:
        """[V, dim] float32 on the host."""
        vectors = torch.empty(self.size, self.directions.shape[1])
        for rows in row_blocks(self.size, self.rows_at_once):
            vectors[rows] = self._reduced(rows).float().cpu()
        return vectors

    def cell_rows(self, cells: slice, words: Tensor) -> Tensor:
        """[n, dim] rows of cells of words [n]; see `WhitenedBlock.shifts`."""
        words = words.to(self.center.device)
        shifts = torch.cat([part.shifts(cells, words) for part in self.parts], dim=1)
        distinct, place = torch.unique_consecutive(words, return_inverse=True)
        return self._reduced(distinct)[place] + shifts @ self.directions

    def _joined(self, rows: slice | Tensor) -> Tensor:
        return torch.cat([part(rows) for part in self.parts], dim=1)

    def _reduced(self, rows: slice | Tensor) -> Tensor:
        return (self._joined(rows) - self.center) @ self.directions


def frequent_words(counts: Tensor, isolated: Tensor, width: int) -> Tensor:
    """[V] the words to fit means, covariances and regressions on."""
    frequent = (counts >= ENOUGH_OCCURRENCES) & (isolated > 0)
    return frequent if int(frequent.sum()) > width else (counts > 0) & (isolated > 0)


def shrunk_table(block: Block, frequent: Tensor, rows_at_once: int = ROWS_AT_ONCE) -> Tensor:
    """[V, width] float32 rows of a block, shrunk as in `ShrunkRows`."""
    shrunk, counts = ShrunkRows(block, frequent, rows_at_once), block.sums.counts
    table = torch.empty_like(block.sums.sums)
    for rows in row_blocks(len(counts), rows_at_once):
        table[rows] = shrunk(rows).float()
    return table


def blocks_of(words: Tensor, size: int) -> Iterator[Tensor]:
    """Ids of the words in a mask [V], in blocks."""
    yield from torch.split(torch.nonzero(words).flatten(), size)


def _most_common(frequent: Tensor, counts: Tensor, number: int) -> Tensor:
    """[V] the most common of the frequent words, including all ties."""
    if int(frequent.sum()) <= number:
        return frequent
    least = torch.topk(torch.where(frequent, counts, 0), number).values[-1]
    return frequent & (counts >= least)
