"""A whole step with shared negatives on a GPU, in a handful of launches.

A GPU has done what a step asks for long before the host has named its fifty small operations, so the host
would be what everything waits for.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordstill.methods.objectives import PairwiseRule
from wordstill.methods.row_kernels import KernelStep

LARGEST_BLOCK = 1024


class SharedStep:
    """Scores, loss, gradients and update of the rows of a table, as `RowTable` and `pairwise` have them.

    Args:
        kernels: Of the table.
        counts: How often each row was a positive [rows]; counted on.
        offsets: Added to the scores of each row [rows]; None adds nothing.
        rule: What the loss is.
    """

    def __init__(
        self, kernels: KernelStep, counts: Tensor, offsets: Tensor | None, rule: PairwiseRule
    ) -> None:
        self.kernels, self.counts, self.offsets, self.rule = kernels, counts, offsets, rule
        self._one = torch.ones(1, device=counts.device)

    def __call__(
        self,
        queries: Tensor,
        rows: Tensor,
        present: Tensor | None,
        negatives: Tensor,
        rate: float,
        loss: Tensor,
        gradient: Tensor | None = None,
    ) -> None:
        """Learn from B queries [B, dim].

        Args:
            queries: [B, dim].
            rows: Positives [B, P].
            present: Weight of each [B, P], 0 where it is empty; None is 1 for all.
            negatives: [N].
            rate: The learning rate.
            loss: The summed loss is added to it, float64.
            gradient: Gets the gradients of the queries [B, dim]; None where nobody wants them.
        """
        kernels, rule = self.kernels, self.rule
        kernels.calls += 1
        queries, rows, negatives = queries.contiguous(), rows.contiguous(), negatives.contiguous()
        vectors = kernels.weights[negatives]
        slopes = queries @ vectors.T
        _learn[(len(queries),)](
            queries,
            kernels.weights,
            rows,
            self._one if present is None else present.contiguous(),
            negatives,
            self._one if self.offsets is None else self.offsets,
            slopes,
            kernels.gradients,
            kernels.owners,
            self._one if gradient is None else gradient,
            self.counts,
            loss,
            rule.weight,
            rule.attraction,
            rule.repulsion,
            DRAWN=len(negatives),
            SLOTS=rows.shape[1],
            WEIGHTED=present is not None,
            OFFSET=self.offsets is not None,
            MASK=rule.mask_hits,
            PER_WINDOW=rule.per_window,
            BACKWARDS=gradient is not None,
            DIM=kernels.dim,
            BLOCK=kernels.block,
            NEGATIVES=min(LARGEST_BLOCK, triton.next_power_of_2(len(negatives))),
        )
        kernels.scatter(slopes.T @ queries, negatives, first=rows.numel())
        kernels.update(rows, negatives, rate)
        if gradient is not None:
            gradient.addmm_(slopes, vectors)


@triton.jit
def _softplus(value):
    return tl.maximum(value, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(value)))


@triton.jit
def _learn(
    queries,
    weights,
    rows,
    present,
    negatives,
    offsets,
    slopes,
    gradients,
    owners,
    backwards,
    counts,
    loss,
    weight,
    attraction,
    repulsion,
    DRAWN: tl.constexpr,
    SLOTS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    OFFSET: tl.constexpr,
    MASK: tl.constexpr,
    PER_WINDOW: tl.constexpr,
    BACKWARDS: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
    NEGATIVES: tl.constexpr,
):
    query = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < DIM
    values = tl.load(queries + query * DIM + column, mask=inside, other=0.0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    spent = tl.zeros((), dtype=tl.float32)
    size = tl.zeros((), dtype=tl.float32)
    for slot in range(SLOTS):
        place = query * SLOTS + slot
        row = tl.load(rows + place)
        share = 1.0
        if WEIGHTED:
            share = tl.load(present + place)
        vector = tl.load(weights + row * DIM + column, mask=inside, other=0.0)
        score = tl.sum(values * vector, axis=0)
        if OFFSET:
            score += tl.load(offsets + row)
        slope = -attraction * share * tl.sigmoid(-score)
        spent += attraction * share * _softplus(-score)
        size += share
        total += slope * vector
        tl.atomic_min(owners + row, place.to(tl.int32))
        if share != 0.0:
            tl.atomic_add(gradients + row * DIM + column, slope * values, mask=inside)
            tl.atomic_add(counts + row, 1)
    tl.store(backwards + query * DIM + column, total, mask=inside & BACKWARDS)
    factor = repulsion * weight
    if PER_WINDOW:
        factor *= size
    for start in range(0, DRAWN, NEGATIVES):
        number = start + tl.arange(0, NEGATIVES)
        there = number < DRAWN
        other = tl.load(negatives + number, mask=there, other=0)
        share = tl.where(there, factor, 0.0)
        if MASK:
            for slot in range(SLOTS):
                share = tl.where(other == tl.load(rows + query * SLOTS + slot), 0.0, share)
        score = tl.load(slopes + query * DRAWN + number, mask=there, other=0.0)
        if OFFSET:
            score += tl.load(offsets + other, mask=there, other=0.0)
        spent += tl.sum(share * _softplus(score), axis=0)
        tl.store(slopes + query * DRAWN + number, share * tl.sigmoid(score), mask=there)
    tl.atomic_add(loss, spent.to(tl.float64))
