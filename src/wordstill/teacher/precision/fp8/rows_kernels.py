"""Rows in 8-bit floating point on a GPU, read once and written once, with the activation before them."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordstill.teacher.precision.fp8.rows import CODE, LARGEST, SMALLEST_REACH

TILE = 4096
"""Numbers that one program holds, in one row or several."""
WARPS = 8


def rows_by_kernel(x: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """Codes [n, K] and scales [n, 1] of ``x`` [n, K]; without an activation those of `plain_rows`."""
    count, width = x.shape
    codes = torch.empty(count, width, dtype=CODE, device=x.device)
    scales = torch.empty(count, 1, dtype=torch.float32, device=x.device)
    block = triton.next_power_of_2(width)
    rows = max(1, TILE // block)
    _convert[(triton.cdiv(count, rows),)](
        x.contiguous(),
        codes,
        scales,
        count,
        GELU=activation == "gelu",
        TANH=activation == "gelu_tanh",
        LARGEST=LARGEST,
        SMALLEST=SMALLEST_REACH,
        WIDTH=width,
        ROWS=rows,
        BLOCK=block,
        num_warps=WARPS,
    )
    return codes, scales


@triton.jit
def _convert(
    values,
    codes,
    scales,
    count,
    GELU: tl.constexpr,
    TANH: tl.constexpr,
    LARGEST: tl.constexpr,
    SMALLEST: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    place = row[:, None] * WIDTH + column[None, :]
    inside = (row < count)[:, None] & (column < WIDTH)[None, :]
    x = tl.load(values + place, mask=inside, other=0.0).to(tl.float32)
    if GELU:
        x = _gelu(x)
    if TANH:
        x = x / (1.0 + tl.exp2(x * (-2.3022081 - 0.10294324 * x * x)))
    reach = tl.maximum(tl.max(tl.abs(x), axis=1), SMALLEST)
    largest = tl.full((ROWS,), LARGEST, dtype=tl.float32)
    # Rounded as everywhere else, unlike a plain division; so are the codes, which keep what is not a number.
    factor = tl.div_rn(largest, reach)
    tl.store(codes + place, (x * factor[:, None]).to(codes.dtype.element_ty), mask=inside)
    tl.store(scales + row, tl.div_rn(reach, largest), mask=row < count)


@triton.jit
def _gelu(x):
    # The tail of the normal distribution beyond |x|, right to 1e-7 (Abramowitz and Stegun 7.1.26), in fewer
    # instructions than tl.erf.
    size = tl.abs(x)
    t = 1.0 / (1.0 + 0.23164189 * size)
    beyond = t * (
        0.127414796 + t * (-0.142248368 + t * (0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)))
    )
    return tl.maximum(x, 0.0) - size * beyond * tl.exp2(-0.72134752 * size * size)
