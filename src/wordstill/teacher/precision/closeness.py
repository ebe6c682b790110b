"""How close the states of a changed model are to those of the exact one."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor

from wordstill.errors import in_one_line
from wordstill.teacher.layers import wanted_states

CLOSE_ENOUGH = 0.99
"""Mean cosine from which on another precision is taken."""
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 3e-2, torch.float16: 1e-2}
"""Largest relative difference between two ways to the same states that rounding explains."""
PROBE_TEXT = "The old still stands in the small house by the river, and nobody has moved it since 1923."


def bfloat16_if_close(model: Any, subwords: Tensor, depth: int, name: str) -> Any:
    """A model on the CPU in bfloat16, or in float32 with a warning where that changes the states of a text [n]."""
    full = model.to(torch.float32)
    try:
        half = copy.deepcopy(full).to(torch.bfloat16)
        cosine = agreement(full, half, subwords, depth)
        reason = f"in bfloat16 its states have a mean cosine of only {cosine:.4f} with those in float32"
    except Exception as error:  # Models have layers of every kind, and some do not run in bfloat16.
        cosine, reason = 0.0, in_one_line(error)
    if cosine >= CLOSE_ENOUGH:
        return half
    warnings.warn(
        f"{name} stays in float32, which is slower: {reason}. Set dtype bfloat16 to use it anyway.", stacklevel=4
    )
    return full


@torch.inference_mode()
def agreement(one: Any, other: Any, subwords: Tensor, depth: int) -> float:
    """Mean cosine between the last states that two models give for a text."""
    first, second = (last_states(model, subwords, depth)[0].float() for model in (one, other))
    return float(torch.nn.functional.cosine_similarity(first, second, dim=-1).mean())


def last_states(model: Any, subwords: Tensor, depth: int) -> Tensor:
    """[1, n, d] of a text [n]."""
    return wanted_states(model(input_ids=subwords[None]), (depth,), depth, "the teacher")[depth]


def relative_difference(one: Tensor, other: Tensor) -> float:
    """Size of the difference beside that of the other."""
    one, other = one.float(), other.float()
    return float((one - other).norm() / other.norm().clamp(min=1e-12))
