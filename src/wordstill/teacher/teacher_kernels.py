"""Kernels of the teacher on a GPU: attention over short packed texts, and sums over ranges of rows."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 64, 32
WARPS = 4
STAGES = {2: 3, 4: 2}
"""By bytes per number, because prefetched blocks must fit into the shared memory of a program."""


def attend_short_texts(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bounds: Tensor,
    scale: float,
    causal: bool,
    bias: Tensor | None = None,
    reach: int | None = None,
) -> Tensor:
    """[P, heads, d] attention in which each text attends only to itself.

    A program computes one head of one text, so that a text costs no more than its own subwords. Kernels for long texts
    split a text among programs and round its length up to their larger blocks.

    Args:
        query: [P, heads, d], where d is a power of two and the last axis contiguous.
        key: [P, groups, d], where heads is a multiple of groups.
        value: Like the key.
        bounds: [B + 1] int32 start of each text, and the end.
        scale: Scale of the scores.
        causal: Whether a subword attends only to itself and those before it.
        bias: [heads, 2 n - 1] added to scores, by distance from 1 - n to n - 1; no text is longer than n.
        reach: Subwords at this distance or farther are masked; None masks none.
    """
    rows, heads, width = query.shape
    # Scores are exponents of 2 in the kernel.
    table = query if bias is None else (bias.float() * math.log2(math.e)).contiguous()
    result = torch.empty(rows, heads, width, dtype=query.dtype, device=query.device)
    _attend[(heads, len(bounds) - 1)](
        query,
        key,
        value,
        result,
        bounds,
        table,
        0 if bias is None else bias.shape[1] // 2,
        reach or 0,
        scale * math.log2(math.e),
        *query.stride()[:2],
        *key.stride()[:2],
        *value.stride()[:2],
        *result.stride()[:2],
        GROUP=heads // key.shape[1],
        CAUSAL=causal,
        BIASED=bias is not None,
        LOCAL=reach is not None,
        DIM=width,
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        num_warps=WARPS,
        num_stages=STAGES[query.element_size()],
    )
    return result


@triton.jit
def _attend(
    query,
    key,
    value,
    result,
    bounds,
    table,
    middle,
    reach,
    scale,
    query_row,
    query_head,
    key_row,
    key_head,
    value_row,
    value_head,
    result_row,
    result_head,
    GROUP: tl.constexpr,
    CAUSAL: tl.constexpr,
    BIASED: tl.constexpr,
    LOCAL: tl.constexpr,
    DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    head = tl.program_id(0)
    text = tl.program_id(1)
    begin = tl.load(bounds + text).to(tl.int64)
    length = (tl.load(bounds + text + 1) - begin).to(tl.int32)
    column = tl.arange(0, DIM)
    query += begin * query_row + head * query_head
    key += begin * key_row + (head // GROUP) * key_head
    value += begin * value_row + (head // GROUP) * value_head
    result += begin * result_row + head * result_head
    for first in range(0, length, ROWS):
        seeing = first + tl.arange(0, ROWS)
        there = (seeing < length)[:, None]
        asked = tl.load(query + seeing[:, None] * query_row + column[None, :], mask=there, other=0.0)
        # Not minus infinity, because all of the first columns may be masked for a row.
        largest = tl.full((ROWS,), -1.0e30, dtype=tl.float32)
        total = tl.zeros((ROWS,), dtype=tl.float32)
        taken = tl.zeros((ROWS, DIM), dtype=tl.float32)
        nearest = 0
        last = tl.minimum(first + ROWS, length) if CAUSAL else length
        if LOCAL:
            nearest = tl.maximum(first - reach + 1, 0) // COLUMNS * COLUMNS
            last = tl.minimum(first + ROWS + reach - 1, last)
        for start in range(nearest, last, COLUMNS):
            seen = start + tl.arange(0, COLUMNS)
            inside = (seen < length)[:, None]
            keys = tl.load(key + seen[:, None] * key_row + column[None, :], mask=inside, other=0.0)
            values = tl.load(value + seen[:, None] * value_row + column[None, :], mask=inside, other=0.0)
            visible = (seen < length)[None, :]
            if CAUSAL:
                visible = visible & (seen[None, :] <= seeing[:, None])
            distance = seen[None, :] - seeing[:, None]
            if LOCAL:
                visible = visible & (distance < reach) & (distance > -reach)
            # Without TF32, because float32 is chosen for its precision.
            products = tl.dot(asked, tl.trans(keys), input_precision="ieee")
            scores = products * scale
            if BIASED:
                near = visible & there
                scores += tl.load(table + head * (2 * middle + 1) + middle + distance, mask=near, other=0.0)
            scores = tl.where(visible, scores, -float("inf"))
            above = tl.maximum(largest, tl.max(scores, axis=1))
            shares = tl.exp2(scores - above[:, None])
            fading = tl.exp2(largest - above)
            total = total * fading + tl.sum(shares, axis=1)
            shares = shares.to(values.dtype)
            taken = tl.dot(shares, values, taken * fading[:, None], input_precision="ieee")
            largest = above
        place = result + seeing[:, None] * result_row + column[None, :]
        tl.store(place, (taken / total[:, None]).to(result.dtype.element_ty), mask=there)


def range_sums(values: Tensor, start: Tensor, end: Tensor, sums: bool) -> Tensor:
    """[R, d] float32 sums, or means, of the rows from ``start`` up to ``end`` of values [n, d]."""
    width = values.shape[1]
    result = torch.empty(len(start), width, dtype=torch.float32, device=values.device)
    if len(start):
        block = min(1024, triton.next_power_of_2(width))
        grid = (len(start), triton.cdiv(width, block))
        _range_sums[grid](values.contiguous(), start, end, result, MEAN=not sums, DIM=width, BLOCK=block)
    return result


@triton.jit
def _range_sums(values, starts, ends, result, MEAN: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    number = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < DIM
    begin = tl.load(starts + number)
    end = tl.load(ends + number)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(begin, end):
        total += tl.load(values + row * DIM + column, mask=inside, other=0.0).to(tl.float32)
    if MEAN:
        total = total / tl.maximum(end - begin, 1).to(tl.float32)
    tl.store(result + number * DIM + column, total, mask=inside)
