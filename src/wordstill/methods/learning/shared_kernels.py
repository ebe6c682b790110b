"""A whole step on a GPU whose negatives are shared by all queries, in a handful of launches."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from wordstill.methods.learning.pair_kernels import PairStep, _attract, _softplus

LARGEST_BLOCK = 1024


class SharedStep(PairStep):
    """A `PairStep` with negatives [N]: their scores and gradients are products of matrices."""

    def collect(
        self,
        queries: Tensor,
        rows: Tensor,
        negatives: Tensor,
        present: Tensor | None,
        gradient: Tensor | None,
    ) -> None:
        """Scores of negatives, then the positives and all slopes, then the gradients of negatives."""
        kernels, rule = self.kernels, self.rule
        vectors = kernels.weights[negatives]
        slopes = queries @ vectors.T
        _learn_shared[(len(queries),)](
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
