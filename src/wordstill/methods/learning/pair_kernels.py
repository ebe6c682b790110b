"""Pairwise steps as Triton kernels, with negatives shared by all queries or drawn for each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordstill.methods.learning.objectives import PairwiseRule
from wordstill.methods.learning.row_kernels import KernelStep

LARGEST_BLOCK = 1024


@dataclass(eq=False)
class PairStep:
    """Scores, loss, gradients and update of the rows of a table, as in `RowTable` and `pairwise`.

    Launching the fifty small operations of a step takes the host much longer than the GPU needs to run them; here they
    are a handful.
    """

    kernels: KernelStep
    """The kernels of the table."""
    counts: Tensor
    """How often each row was a positive [rows]; updated."""
    offsets: Tensor | None
    """Added to the scores of each row [rows]; None adds nothing."""
    rule: PairwiseRule
    learning_rate: Tensor
    """[], read in every step."""
    loss: Tensor
    """The loss is added to this sum [], float64."""

    def __post_init__(self) -> None:
        # Kernels need an address even for missing arguments.
        self.nothing = torch.ones(1, device=self.counts.device)

    def __call__(
        self,
        queries: Tensor,
        rows: Tensor,
        negatives: Tensor,
        present: Tensor | None = None,
        gradient: Tensor | None = None,
    ) -> None:
        """Learn from B queries [B, dim].

        Args:
            queries: [B, dim].
            rows: Positives [B, P].
            negatives: [N] shared by all queries, so that scores and gradients are matrix products; or [B, N].
            present: Weight of each positive [B, P], 0 where it is empty; None is 1 for all.
            gradient: The gradients of the queries [B, dim] are written to this; None does not write them.
        """
        queries, rows, negatives = queries.contiguous(), rows.contiguous(), negatives.contiguous()
        kernels, rule, shared, drawn = self.kernels, self.rule, negatives.dim() == 1, negatives.shape[-1]
        vectors = kernels.weights[negatives] if shared else kernels.weights
        slopes = queries @ vectors.T if shared else self.nothing
        _learn[(len(queries),)](
            queries,
            kernels.weights,
            rows,
            self.nothing if present is None else present.contiguous(),
            negatives,
            self.nothing if self.offsets is None else self.offsets,
            slopes,
            kernels.gradients,
            kernels.owners,
            self.nothing if gradient is None else gradient,
            self.counts,
            self.loss,
            rule.weight,
            rule.attraction,
            rule.repulsion,
            len(queries),
            SHARED=shared,
            DRAWN=drawn,
            SLOTS=rows.shape[1],
            WEIGHTED=present is not None,
            OFFSET=self.offsets is not None,
            MASK=rule.mask_accidental_hits,
            PER_WINDOW=rule.per_window,
            BACKWARDS=gradient is not None,
            DIM=kernels.dim,
            BLOCK=kernels.block,
            NEGATIVES=min(LARGEST_BLOCK, triton.next_power_of_2(drawn)),
        )
        if shared:
            kernels.scatter(slopes.T @ queries, negatives, first=rows.numel())
            if gradient is not None:
                gradient.addmm_(slopes, vectors)
        kernels.update(rows, negatives, self.learning_rate)


@triton.jit
def softplus(value):
    """log(1 + exp(value)) without overflow."""
    return tl.maximum(value, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(value)))


@triton.jit
def _met(values, weights, offsets, row, OFFSET: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    """A row of a table, and its score with a query."""
    column = tl.arange(0, BLOCK)
    vector = tl.load(weights + row * DIM + column, mask=column < DIM, other=0.0)
    score = tl.sum(values * vector, axis=0)
    if OFFSET:
        score += tl.load(offsets + row)
    return vector, score


@triton.jit
def _attract(
    query,
    values,
    weights,
    rows,
    present,
    offsets,
    gradients,
    owners,
    counts,
    attraction,
    SLOTS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    OFFSET: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Learn from a query's positives; returns their gradient with respect to the query, loss, and sum of weights."""
    column = tl.arange(0, BLOCK)
    inside = column < DIM
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    spent = tl.zeros((), dtype=tl.float32)
    size = tl.zeros((), dtype=tl.float32)
    for slot in range(SLOTS):
        place = query * SLOTS + slot
        row = tl.load(rows + place)
        share = 1.0
        if WEIGHTED:
            share = tl.load(present + place)
        vector, score = _met(values, weights, offsets, row, OFFSET, DIM, BLOCK)
        slope = -attraction * share * tl.sigmoid(-score)
        spent += attraction * share * softplus(-score)
        size += share
        total += slope * vector
        tl.atomic_min(owners + row, place.to(tl.int32))
        if share != 0.0:
            tl.atomic_add(gradients + row * DIM + column, slope * values, mask=inside)
            tl.atomic_add(counts + row, 1)
    return total, spent, size


@triton.jit
def _without_hits(share, negative, positives, SLOTS: tl.constexpr):
    """Weights of negatives, 0 for accidental hits of a positive."""
    for slot in range(SLOTS):
        share = tl.where(negative == tl.load(positives + slot), 0.0, share)
    return share


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
    batch,
    SHARED: tl.constexpr,
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
    total, spent, size = _attract(
        query, values, weights, rows, present, offsets, gradients, owners, counts, attraction,
        SLOTS, WEIGHTED, OFFSET, DIM, BLOCK,
    )  # fmt: skip
    factor = repulsion * weight
    if PER_WINDOW:
        factor *= size
    if SHARED:
        for start in range(0, DRAWN, NEGATIVES):
            number = start + tl.arange(0, NEGATIVES)
            there = number < DRAWN
            other = tl.load(negatives + number, mask=there, other=0)
            share = tl.where(there, factor, 0.0)
            if MASK:
                share = _without_hits(share, other, rows + query * SLOTS, SLOTS)
            score = tl.load(slopes + query * DRAWN + number, mask=there, other=0.0)
            if OFFSET:
                score += tl.load(offsets + other, mask=there, other=0.0)
            spent += tl.sum(share * softplus(score), axis=0)
            tl.store(slopes + query * DRAWN + number, share * tl.sigmoid(score), mask=there)
    else:
        for slot in range(DRAWN):
            place = query * DRAWN + slot
            row = tl.load(negatives + place)
            share = factor
            if MASK:
                share = _without_hits(share, row, rows + query * SLOTS, SLOTS)
            vector, score = _met(values, weights, offsets, row, OFFSET, DIM, BLOCK)
            slope = share * tl.sigmoid(score)
            spent += share * softplus(score)
            total += slope * vector
            tl.atomic_min(owners + row, (batch * SLOTS + place).to(tl.int32))
            if share != 0.0:
                tl.atomic_add(gradients + row * DIM + column, slope * values, mask=inside)
    tl.store(backwards + query * DIM + column, total, mask=inside & BACKWARDS)
    tl.atomic_add(loss, spent.to(tl.float64))
