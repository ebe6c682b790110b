"""Means and extremes over ranges of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Pooling = Literal["mean", "max", "min"]


class RangeMeans:
    """Means of any ranges of the rows of a table [n, d].

    On a CPU from sums of the first rows, so that a long range costs no more than a short one; in float64 the
    difference of two sums is exact enough for any range. A GPU reads the rows again: that is faster there.
    """

    def __init__(self, values: Tensor) -> None:
        self._kernel = _kernel() if values.is_cuda else None
        self._values = values if self._kernel is not None else prefix_sums(values)

    def __call__(self, first: Tensor, last: Tensor, *, sums: bool = False) -> Tensor:
        """[R, d] float32 means of the rows ``first`` to ``last`` (exclusive); zeros for an empty range.

        Args:
            first: [R].
            last: [R].
            sums: Give the sums instead.
        """
        if self._kernel is not None:
            return self._kernel(self._values, first, last, sums)
        total = self._values[last] - self._values[first]
        return (total if sums else total / (last - first).clamp(min=1)[:, None]).float()


def prefix_sums(values: Tensor) -> Tensor:
    """[n + 1, d] float64 sums of the first rows."""
    sums = torch.zeros(values.shape[0] + 1, values.shape[1], dtype=torch.float64, device=values.device)
    torch.cumsum(values, dim=0, dtype=torch.float64, out=sums[1:])
    return sums


def range_extremes(values: Tensor, first: Tensor, last: Tensor, pooling: Pooling) -> Tensor:
    """[R, d] extreme value of each column in the rows ``first`` to ``last``; zeros for an empty range."""
    lengths = last - first
    owner = torch.repeat_interleave(torch.arange(len(first), device=values.device), lengths)
    inside = torch.arange(len(owner), device=values.device) - torch.repeat_interleave(
        lengths.cumsum(0) - lengths, lengths
    )
    rows = values[first[owner] + inside].float()
    result = torch.zeros(len(first), values.shape[1], device=values.device)
    index = owner[:, None].expand_as(rows)
    return result.scatter_reduce_(0, index, rows, "amax" if pooling == "max" else "amin", include_self=False)


def _kernel() -> Callable[[Tensor, Tensor, Tensor, bool], Tensor] | None:
    try:
        from wordstill.teacher.pooling_kernels import range_sums
    except ImportError:
        return None
    return range_sums
