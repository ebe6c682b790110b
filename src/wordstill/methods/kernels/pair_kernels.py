"""Pairwise steps as Triton kernels, with negatives that are shared or each query's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordstill.methods.kernels.row_kernels import KernelStep
from wordstill.methods.learning.objectives import PairwiseRule


class PairStep(ABC):
    """Scores, loss, gradients and update of the rows of a table, as `RowTable` and `pairwise` have them.

    A GPU has done what a step asks for long before the host has named its fifty small operations, so the host
    would be what everything waits for; here they are a handful.

    Args:
        kernels: Of the table.
        counts: How often each row was a positive [rows]; counted on.
        offsets: Added to the scores of each row [rows]; None adds nothing.
        rule: What the loss is.
        learning_rate: [], looked up at every step.
        loss: What the summed loss is added to [], float64.
    """

    def __init__(
        self,
        kernels: KernelStep,
        counts: Tensor,
        offsets: Tensor | None,
        rule: PairwiseRule,
        learning_rate: Tensor,
        loss: Tensor,
    ) -> None:
        self.kernels, self.counts, self.offsets, self.rule = kernels, counts, offsets, rule
        self.learning_rate, self.loss = learning_rate, loss
        # Kernels want an address even for what is not there.
        self.nothing = torch.ones(1, device=counts.device)

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
            negatives: [N] for all queries, or [B, N].
            present: Weight of each positive [B, P], 0 where it is empty; None is 1 for all.
            gradient: Gets the gradients of the queries [B, dim]; None where nobody wants them.
        """
        queries, rows, negatives = queries.contiguous(), rows.contiguous(), negatives.contiguous()
        self.collect(queries, rows, negatives, present, gradient)
        self.kernels.update(rows, negatives, self.learning_rate)

    @abstractmethod
    def collect(
        self, queries: Tensor, rows: Tensor, negatives: Tensor, present: Tensor | None, gradient: Tensor | None
    ) -> None:
        """Add up the gradients of all rows that are named, and do all else but updating them."""

    def _arguments(
        self, queries: Tensor, rows: Tensor, negatives: Tensor, present: Tensor | None, gradient: Tensor | None
    ) -> dict[str, Any]:
        """What both kernels are launched with."""
        kernels, rule = self.kernels, self.rule
        return {
            "queries": queries,
            "weights": kernels.weights,
            "rows": rows,
            "present": self.nothing if present is None else present.contiguous(),
            "negatives": negatives,
            "offsets": self.nothing if self.offsets is None else self.offsets,
            "gradients": kernels.gradients,
            "owners": kernels.owners,
            "backwards": self.nothing if gradient is None else gradient,
            "counts": self.counts,
            "loss": self.loss,
            "weight": rule.weight,
            "attraction": rule.attraction,
            "repulsion": rule.repulsion,
            "SLOTS": rows.shape[1],
            "WEIGHTED": present is not None,
            "OFFSET": self.offsets is not None,
            "MASK": rule.mask_accidental_hits,
            "PER_WINDOW": rule.per_window,
            "BACKWARDS": gradient is not None,
            "DIM": kernels.dim,
            "BLOCK": kernels.block,
        }


@triton.jit
def _softplus(value):
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
    """Learn from a query's positives: its gradient by them, their loss, and the sum of their weights."""
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
        spent += attraction * share * _softplus(-score)
        size += share
        total += slope * vector
        tl.atomic_min(owners + row, place.to(tl.int32))
        if share != 0.0:
            tl.atomic_add(gradients + row * DIM + column, slope * values, mask=inside)
            tl.atomic_add(counts + row, 1)
    return total, spent, size


LARGEST_BLOCK = 1024


class SharedStep(PairStep):
    """A `PairStep` with negatives [N]: their scores and gradients are products of matrices."""

    def collect(
        self, queries: Tensor, rows: Tensor, negatives: Tensor, present: Tensor | None, gradient: Tensor | None
    ) -> None:
        """Scores of negatives, then the positives and all slopes, then the gradients of negatives."""
        kernels = self.kernels
        vectors = kernels.weights[negatives]
        slopes = queries @ vectors.T
        _learn_shared[(len(queries),)](
            slopes=slopes,
            DRAWN=len(negatives),
            NEGATIVES=min(LARGEST_BLOCK, triton.next_power_of_2(len(negatives))),
            **self._arguments(queries, rows, negatives, present, gradient),
        )
        kernels.scatter(slopes.T @ queries, negatives, first=rows.numel())
        if gradient is not None:
            gradient.addmm_(slopes, vectors)


@triton.jit
def _learn_shared(
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
    total, spent, size = _attract(
        query, values, weights, rows, present, offsets, gradients, owners, counts, attraction,
        SLOTS, WEIGHTED, OFFSET, DIM, BLOCK,
    )  # fmt: skip
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


class OwnStep(PairStep):
    """A `PairStep` with negatives [B, N]: every query goes through its rows once, and adds to theirs."""

    def collect(
        self, queries: Tensor, rows: Tensor, negatives: Tensor, present: Tensor | None, gradient: Tensor | None
    ) -> None:
        """One launch."""
        _learn_own[(len(queries),)](
            batch=len(queries), DRAWN=negatives.shape[1], **self._arguments(queries, rows, negatives, present, gradient)
        )


@triton.jit
def _learn_own(
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
    weight,
    attraction,
    repulsion,
    batch,
    DRAWN: tl.constexpr,
    SLOTS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    OFFSET: tl.constexpr,
    MASK: tl.constexpr,
    PER_WINDOW: tl.constexpr,
    BACKWARDS: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
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
    for slot in range(DRAWN):
        place = query * DRAWN + slot
        row = tl.load(negatives + place)
        share = factor
        if MASK:
            for other in range(SLOTS):
                share = tl.where(row == tl.load(rows + query * SLOTS + other), 0.0, share)
        vector, score = _met(values, weights, offsets, row, OFFSET, DIM, BLOCK)
        slope = share * tl.sigmoid(score)
        spent += share * _softplus(score)
        total += slope * vector
        tl.atomic_min(owners + row, (batch * SLOTS + place).to(tl.int32))
        if share != 0.0:
            tl.atomic_add(gradients + row * DIM + column, slope * values, mask=inside)
    tl.store(backwards + query * DIM + column, total, mask=inside & BACKWARDS)
    tl.atomic_add(loss, spent.to(tl.float64))
