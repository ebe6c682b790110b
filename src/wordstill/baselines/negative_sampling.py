"""Negative sampling: a table of targets with its negatives, loss and steps."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.methods.learning.objectives import pairwise
from wordstill.methods.learning.rows import RowOptimizer, RowTable


class PredictedTable:
    r"""A table of targets, which queries predict by negative sampling.

    .. math:: \ell(q, t) = \log(1 + e^{-q \cdot u_t}) + \sum_{n \sim \mathrm{noise}, n \ne t} \log(1 + e^{q \cdot u_n})

    Args:
        counts: How often each row is a target [R]; negatives are drawn by a power of it.
        dim: Size of a row; rows are initially zero.
        noise_power: The power.
        negatives: Negatives for each target.
        optimizer: How rows are updated.
        generator: Draws the negatives; the table is on its device.
    """

    def __init__(
        self,
        counts: NDArray[np.int64],
        dim: int,
        noise_power: float,
        negatives: int,
        optimizer: RowOptimizer,
        generator: torch.Generator,
    ) -> None:
        self.table = RowTable(torch.zeros(len(counts), dim, device=generator.device), optimizer)
        self.negatives, self.generator = negatives, generator
        # Rows that are never a target are never drawn.
        noise = np.where(counts > 0, counts.astype(np.float64) ** noise_power, 0.0)
        self._cumulative = torch.from_numpy(np.cumsum(noise) / max(float(noise.sum()), 1e-300)).to(generator.device)

    def draw(self, targets: int) -> Tensor:
        """Negatives of some targets [T, N]."""
        shape = (targets, self.negatives)
        points = torch.rand(shape, dtype=torch.float64, device=self.generator.device, generator=self.generator)
        # The last bound can be below 1 by rounding.
        return torch.searchsorted(self._cumulative, points, right=True).clamp_(max=len(self._cumulative) - 1)

    def learn(
        self,
        queries: Tensor,
        targets: Tensor,
        negatives: Tensor,
        rate: float,
        *,
        scale: float = 1.0,
        row_limit: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Update the rows; returns the summed loss and its gradients with respect to the queries [T, dim].

        Args:
            queries: [T, dim].
            targets: Target row of each query [T].
            negatives: Negative rows of each query [T, N].
            rate: The learning rate.
            scale: Factor of all gradients.
            row_limit: A row that occurs more often steps by this many mean gradients instead of the sum.
        """
        loss, coefficients, slots = prediction_losses(self.table, queries, targets, negatives)
        coefficients = scale * coefficients
        gradients = self.table.query_gradients(slots, coefficients)
        if row_limit is not None:
            coefficients = coefficients * row_shares(slots, row_limit)
        self.table.step(queries, slots, coefficients, rate)
        return loss, gradients


def prediction_losses(
    table: RowTable, queries: Tensor, targets: Tensor, negatives: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Summed loss, its derivatives with respect to the scores [T, 1 + N], and their rows [T, 1 + N]."""
    slots = torch.cat([targets[:, None], negatives], dim=1)
    scores = table.scores(queries, slots)
    drawn = (negatives != targets[:, None]).to(scores.dtype)
    found = pairwise(scores[:, :1], scores[:, 1:], torch.ones_like(scores[:, :1]), drawn)
    return found.total, torch.cat([found.positive, found.negative], dim=1), slots


def row_shares(slots: Tensor, limit: float) -> Tensor:
    """Factor for the gradient of each slot that limits every row to ``limit`` mean gradients."""
    _, place, counts = torch.unique(slots, return_inverse=True, return_counts=True)
    shares: Tensor = (limit / counts).clamp(max=1.0)
    return shares[place]
