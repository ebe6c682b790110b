"""Sums over ranges of rows on a GPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


def range_sums(values: Tensor, first: Tensor, last: Tensor, sums: bool) -> Tensor:
    """[R, d] float32 sums, or means, of the rows ``first`` to ``last`` (exclusive) of values [n, d]."""
    width = values.shape[1]
    result = torch.empty(len(first), width, dtype=torch.float32, device=values.device)
    if len(first):
        block = min(1024, triton.next_power_of_2(width))
        grid = (len(first), triton.cdiv(width, block))
        _range_sums[grid](values.contiguous(), first, last, result, MEAN=not sums, DIM=width, BLOCK=block)
    return result


@triton.jit
def _range_sums(values, first, last, result, MEAN: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    number = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < DIM
    begin = tl.load(first + number)
    end = tl.load(last + number)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(begin, end):
        total += tl.load(values + row * DIM + column, mask=inside, other=0.0).to(tl.float32)
    if MEAN:
        total = total / tl.maximum(end - begin, 1).to(tl.float32)
    tl.store(result + number * DIM + column, total, mask=inside)
