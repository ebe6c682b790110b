"""Steps with a single score for a window, and with gradient clipping, as Triton kernels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordstill.methods.learning.objectives import WindowRule
from wordstill.methods.learning.pair_kernels import softplus
from wordstill.methods.learning.row_kernels import KernelStep
from wordstill.methods.learning.rows import EVERY, RowTable

LARGEST_TILE = 1 << 15
"""Maximum size of the rows of a window, which must fit into the registers of a program."""
KINDS = {"summed": 0, "attended": 1, "attended-held": 2}


@dataclass(eq=False)
class WindowStep:
    """A step of a table and its projection, as in `WindowLearner`, with negatives drawn for each center."""

    kernels: KernelStep
    """The kernels of the table."""
    projection: RowTable
    counts: Tensor
    """How often each row was a positive [rows]; updated."""
    offsets: Tensor | None
    """Added to the scores of each row [rows]; None adds nothing."""
    rule: WindowRule
    learning_rate: Tensor
    """[], read in every step."""
    loss: Tensor
    """The loss is added to this sum [], float64."""

    def __call__(self, inputs: Tensor, rows: Tensor, present: Tensor, negatives: Tensor) -> None:
        """Learn from B centers.

        Args:
            inputs: Inputs of the projection [B, width].
            rows: Positives [B, P].
            present: Weight of each positive [B, P], 0 where it is empty.
            negatives: [B, N].
        """
        rows, negatives = rows.contiguous(), negatives.contiguous()
        queries = inputs @ self.projection.weights.T
        gradient = torch.empty_like(queries)
        self._scatter(queries, rows, present.contiguous(), negatives, gradient)
        moved, rate = gradient.T @ inputs, self.learning_rate
        if self.rule.clip is not None:
            norm = (self.kernels.squared_norm(rows, negatives) + moved.square().sum()).sqrt()
            rate = rate * (self.rule.clip / norm.clamp(min=1e-12)).clamp(max=1.0)
        self.kernels.update(rows, negatives, rate)
        self.projection.apply(EVERY, moved, rate)

    @staticmethod
    def fits(slots: int, dim: int) -> bool:
        """Whether the rows of a window with this many slots fit into registers."""
        return int(triton.next_power_of_2(slots) * triton.next_power_of_2(dim)) <= LARGEST_TILE

    def _scatter(self, queries: Tensor, rows: Tensor, present: Tensor, negatives: Tensor, gradient: Tensor) -> None:
        kernels, rule = self.kernels, self.rule
        _learn_window[(len(queries),)](
            queries,
            kernels.weights,
            rows,
            present,
            negatives,
            kernels.weights if self.offsets is None else self.offsets,
            kernels.gradients,
            kernels.owners,
            gradient,
            self.counts,
            self.loss,
            rule.semantic,
            rule.contrastive,
            rule.contextualised,
            len(queries),
            KIND=KINDS[rule.objective],
            DRAWN=negatives.shape[1],
            SLOTS=rows.shape[1],
            PLACES=triton.next_power_of_2(rows.shape[1]),
            NEGATIVES=triton.next_power_of_2(negatives.shape[1]),
            OFFSET=self.offsets is not None,
            DIM=kernels.dim,
            BLOCK=kernels.block,
        )


@triton.jit
def _slopes(scores, shares, KIND: tl.constexpr):
    """The loss of the joint score of a query's positives, and its derivative with respect to each score."""
    there = shares != 0.0
    found = tl.max(there.to(tl.float32), axis=0)
    if KIND == 0:
        portions = shares
    else:
        masked = tl.where(there, scores + tl.log(tl.where(there, shares, 1.0)), -float("inf"))
        largest = tl.max(tl.where(found > 0, masked, 0.0), axis=0)
        powers = tl.where(there, tl.exp(masked - largest), 0.0)
        portions = powers / tl.where(found > 0, tl.sum(powers, axis=0), 1.0)
    score = tl.sum(tl.where(there, portions * scores, 0.0), axis=0)
    slopes = -tl.sigmoid(-score) * portions
    if KIND == 1:
        slopes = tl.where(there, slopes * (1 + scores - score), 0.0)
    return found * softplus(-score), slopes


@triton.jit
def _meet(values, weights, offsets, rows, there, OFFSET: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of a table, and their scores with a query."""
    column = tl.arange(0, BLOCK)
    inside = there[:, None] & (column < DIM)[None, :]
    vectors = tl.load(weights + rows[:, None] * DIM + column[None, :], mask=inside, other=0.0)
    scores = tl.sum(vectors * values[None, :], axis=1)
    if OFFSET:
        scores += tl.load(offsets + rows, mask=there, other=0.0)
    return vectors, scores


@triton.jit
def _spread(gradients, rows, there, slopes, values, DIM: tl.constexpr, BLOCK: tl.constexpr):
    """Add a query to the gradients of its rows, multiplied by their slopes."""
    column = tl.arange(0, BLOCK)
    inside = there[:, None] & (column < DIM)[None, :]
    tl.atomic_add(gradients + rows[:, None] * DIM + column[None, :], slopes[:, None] * values[None, :], mask=inside)


@triton.jit
def _learn_window(
    queries,
    weights,
    rows,
    present,
    negatives,
    offsets,
    gradients,
    owners,
    backwards,
    counts,
    loss,
    semantic,
    contrastive,
    contextualised,
    batch,
    KIND: tl.constexpr,
    DRAWN: tl.constexpr,
    SLOTS: tl.constexpr,
    PLACES: tl.constexpr,
    NEGATIVES: tl.constexpr,
    OFFSET: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    query = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < DIM
    values = tl.load(queries + query * DIM + column, mask=inside, other=0.0)
    slots = query * SLOTS + tl.arange(0, PLACES)
    there = tl.arange(0, PLACES) < SLOTS
    shares = tl.load(present + slots, mask=there, other=0.0)
    named = tl.load(rows + slots, mask=there, other=0)
    vectors, scores = _meet(values, weights, offsets, named, there, OFFSET, DIM, BLOCK)
    spent, slopes = _slopes(scores, shares, KIND)
    slopes *= semantic
    total = tl.sum(slopes[:, None] * vectors, axis=0)
    tl.atomic_min(owners + named, slots.to(tl.int32), mask=there)
    filled = shares != 0.0
    _spread(gradients, named, filled, slopes, values, DIM, BLOCK)
    tl.atomic_add(counts + named, tl.full((PLACES,), 1, tl.int64), mask=filled)
    squares = tl.sum(values * values, axis=0)
    spent = semantic * spent + contextualised * softplus(-squares)
    total += -2 * contextualised * tl.sigmoid(-squares) * values
    slots = query * DRAWN + tl.arange(0, NEGATIVES)
    there = tl.arange(0, NEGATIVES) < DRAWN
    named = tl.load(negatives + slots, mask=there, other=0)
    vectors, scores = _meet(values, weights, offsets, named, there, OFFSET, DIM, BLOCK)
    slopes = tl.where(there, contrastive * tl.sigmoid(scores), 0.0)
    spent += tl.sum(tl.where(there, contrastive * softplus(scores), 0.0), axis=0)
    total += tl.sum(slopes[:, None] * vectors, axis=0)
    tl.atomic_min(owners + named, (batch * SLOTS + slots).to(tl.int32), mask=there)
    _spread(gradients, named, there, slopes, values, DIM, BLOCK)
    tl.store(backwards + query * DIM + column, total, mask=inside)
    tl.atomic_add(loss, spent.to(tl.float64))
