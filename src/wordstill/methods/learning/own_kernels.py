"""A whole step on a GPU in which every query has negatives of its own."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from wordstill.methods.learning.pair_kernels import PairStep, _attract, _met, _softplus


class OwnStep(PairStep):
    """A `PairStep` with negatives [B, N]: every query goes through its rows once, and adds to theirs."""

    def collect(
        self,
        queries: Tensor,
        rows: Tensor,
        negatives: Tensor,
        present: Tensor | None,
        gradient: Tensor | None,
    ) -> None:
        """One launch."""
        kernels, rule = self.kernels, self.rule
        _learn_own[(len(queries),)](
            queries,
            kernels.weights,
            rows,
            self.nothing if present is None else present.contiguous(),
            negatives,
            self.nothing if self.offsets is None else self.offsets,
            kernels.gradients,
            kernels.owners,
            self.nothing if gradient is None else gradient,
            self.counts,
            self.loss,
            rule.weight,
            rule.attraction,
            rule.repulsion,
            len(queries),
            DRAWN=negatives.shape[1],
            SLOTS=rows.shape[1],
            WEIGHTED=present is not None,
            OFFSET=self.offsets is not None,
            MASK=rule.mask_hits,
            PER_WINDOW=rule.per_window,
            BACKWARDS=gradient is not None,
            DIM=kernels.dim,
            BLOCK=kernels.block,
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
