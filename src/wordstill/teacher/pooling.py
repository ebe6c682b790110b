"""Means and extremes over ranges of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

Pooling = Literal["mean", "max", "min"]
TIMES_SHARED = 8
"""A row that is in so many ranges, on average, need not be read for each of them."""


class RangeMeans:
    """Means of any ranges of the rows of a table [n, d].

    Ranges that share few rows are summed one by one. On a CPU, those that share many are differences of sums
    of the first rows, so that a long range costs no more than a short one; in float64 a difference of two
    sums is exact enough for any range.
    """

    def __init__(self, values: Tensor, times_shared: int = TIMES_SHARED) -> None:
        self._most_rows = times_shared * len(values)
        self._kernel = _kernel() if values.is_cuda else None
        self._values = values if self._kernel is not None else values.float()
        self._sums: Tensor | None = None

    def __call__(self, start: Tensor, end: Tensor, *, sums: bool = False) -> Tensor:
        """[R, d] float32 means, or sums, of the rows ``start`` to ``end`` [R]; zeros for an empty range."""
        if self._kernel is not None:
            return self._kernel(self._values, start, end, sums)
        lengths = end - start
        rows = int(lengths.sum())
        if rows <= self._most_rows:
            indices = _rows_of(start, lengths, rows)
            begins = lengths.cumsum(0) - lengths
            return embedding_bag(indices, self._values, begins, mode="sum" if sums else "mean")
        if self._sums is None:
            self._sums = prefix_sums(self._values)
        total = self._sums[end] - self._sums[start]
        return (total if sums else total / lengths.clamp(min=1)[:, None]).float()


def prefix_sums(values: Tensor) -> Tensor:
    """[n + 1, d] float64 sums of the first rows."""
    sums = torch.zeros(values.shape[0] + 1, values.shape[1], dtype=torch.float64, device=values.device)
    torch.cumsum(values, dim=0, dtype=torch.float64, out=sums[1:])
    return sums


def range_extremes(values: Tensor, start: Tensor, end: Tensor, pooling: Pooling) -> Tensor:
    """[R, d] extreme value of each column in the rows ``start`` to ``end``; zeros for an empty range."""
    lengths = end - start
    owner = torch.repeat_interleave(torch.arange(len(start), device=values.device), lengths)
    rows = values[_rows_of(start, lengths, len(owner))].float()
    result = torch.zeros(len(start), values.shape[1], device=values.device)
    index = owner[:, None].expand_as(rows)
    return result.scatter_reduce_(0, index, rows, "amax" if pooling == "max" else "amin", include_self=False)


def _rows_of(start: Tensor, lengths: Tensor, rows: int) -> Tensor:
    """[rows] all the rows of all ranges."""
    shift = start + lengths - lengths.cumsum(0)
    return torch.arange(rows, device=start.device) + shift.repeat_interleave(lengths, output_size=rows)


def _kernel() -> Callable[[Tensor, Tensor, Tensor, bool], Tensor] | None:
    try:
        from wordstill.teacher.kernels.pooling_kernels import range_sums
    except ImportError:
        return None
    return range_sums
