"""Arrays of the host on a device, without waiting for what a GPU still has to do."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def send(array: NDArray[np.integer], device: torch.device) -> Tensor:
    """An array [n] as a tensor there: of 64 bits, or of 32 where it has no more."""
    kind = torch.int64 if array.dtype == np.int64 else torch.int32
    # Only from pinned memory does a copy not wait.
    staged = torch.empty(len(array), dtype=kind, pin_memory=device.type == "cuda" and len(array) > 0)
    # By numpy: torch shares longer copies among threads, which takes milliseconds where cores are busy.
    np.copyto(staged.numpy(), array, casting="unsafe")
    return staged.to(device, non_blocking=True)
