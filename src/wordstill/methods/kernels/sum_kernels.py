"""Scatter-add of vectors to rows of a table as a Triton kernel, without a host synchronization."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

RUN = 32


def add_rows(sums: Tensor, counts: Tensor, rows: Tensor, values: Tensor, places: Tensor | None) -> None:
    """Add ``values[places]``, or all values, to the named rows of sums [V, d], and count in counts [V].

    Rows are sorted, so that vectors of one row lie together and are summed, up to `RUN` at a time, before
    they meet the table. Runs of a frequent row come in the order in which the GPU takes them, so sums differ
    by rounding from run to run.
    """
    if not len(rows):
        return
    ordered, order = torch.sort(rows, stable=True)
    taken = order if places is None else places[order]
    counts.index_add_(0, rows, torch.ones_like(rows))
    width = values.shape[1]
    block = min(1024, triton.next_power_of_2(width))
    grid = (triton.cdiv(len(rows), RUN), triton.cdiv(width, block))
    _add_runs[grid](sums, ordered, taken, values.contiguous(), len(rows), LENGTH=RUN, DIM=width, BLOCK=block)


@triton.jit
def _add_runs(sums, rows, places, values, count, LENGTH: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    begin = tl.program_id(0) * LENGTH
    end = tl.minimum(begin + LENGTH, count)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < DIM
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    current = tl.load(rows + begin)
    for number in range(begin, end):
        row = tl.load(rows + number)
        if row != current:
            tl.atomic_add(sums + current * DIM + column, total, mask=inside)
            total = tl.zeros((BLOCK,), dtype=tl.float32)
            current = row
        place = tl.load(places + number)
        total += tl.load(values + place * DIM + column, mask=inside, other=0.0).to(tl.float32)
    tl.atomic_add(sums + current * DIM + column, total, mask=inside)
