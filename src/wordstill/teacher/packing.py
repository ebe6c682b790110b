"""Whether a model may read packed texts: it is tried, since no model says so reliably."""

from __future__ import annotations

import torch
from torch import Tensor

from wordstill.core.ragged import Ints
from wordstill.errors import in_one_line
from wordstill.teacher.assembly import trial_batch
from wordstill.teacher.batch import DeviceLoader
from wordstill.teacher.forward import Forward

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 3e-2, torch.float16: 1e-2}
"""Largest relative difference between packed and padded states that rounding explains."""


def pack_if_same(forward: Forward, subwords: Ints, limit: int, device: torch.device) -> str | None:
    """Let a model read packed texts if that gives what padded ones give; else the reason why not.

    Args:
        forward: Runs the model; padded when this is called.
        subwords: Subwords of a short text, with its special tokens [n].
        limit: Longest text; the trial has more subwords, so that no table of positions hides a fault.
        device: Where the model is.
    """
    batch = DeviceLoader(device)(trial_batch(subwords, limit))
    batch.await_arrival()
    layers = (forward.depth,)
    padded = forward(batch, layers)[forward.depth]
    try:
        forward.use_packing(True)
        packed = forward(batch, layers)[forward.depth]
        difference = relative_difference(packed, padded)
    except Exception as error:  # Models refuse in every way: by type, by shape, by a missing argument.
        forward.use_packing(False)
        return in_one_line(error)
    if not difference <= TOLERANCE.get(padded.dtype, 1e-3):
        forward.use_packing(False)
        return f"its states differ by {difference:.1%} from those of padded texts"
    return None


def relative_difference(one: Tensor, other: Tensor) -> float:
    """Size of the difference beside that of the other."""
    one, other = one.float(), other.float()
    return float((one - other).norm() / other.norm().clamp(min=1e-12))
