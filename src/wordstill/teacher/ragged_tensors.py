"""Index arithmetic for tensors of runs of different lengths, which never makes a GPU's host wait."""

from __future__ import annotations

import torch
from torch import Tensor


def running_sum(lengths: Tensor) -> Tensor:
    """Where each run starts, and the total at the end."""
    offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64, device=lengths.device)
    torch.cumsum(lengths, dim=0, out=offsets[1:])
    return offsets


def owners_of(lengths: Tensor, total: int) -> Tensor:
    """For each element of the runs, the number of its run."""
    numbers = torch.arange(len(lengths), device=lengths.device)
    return numbers.repeat_interleave(lengths, output_size=total)


def runs(starts: Tensor, lengths: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """For each element of the runs ``start, start + 1, …`` the number of its run, and the element."""
    owner = owners_of(lengths, total)
    shift = starts - running_sum(lengths)[:-1]
    return owner, torch.arange(total, device=starts.device) + shift[owner]
