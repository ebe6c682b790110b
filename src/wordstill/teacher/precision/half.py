"""A guard before bfloat16 is taken for a model that was not asked to run in it."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor

from wordstill.teacher.outputs import wanted_states

CLOSE_ENOUGH = 0.99
PROBE_TEXT = "The old still stands in the small house by the river, and nobody has moved it since 1923."


def bfloat16_if_close(model: Any, pieces: Tensor, depth: int, name: str) -> Any:
    """The model in bfloat16, or in float32 with a warning where bfloat16 changes its states too much.

    Args:
        model: A model on the CPU.
        pieces: Sub-words of a short text [n].
        depth: Number of its last layer.
        name: The teacher's name, for the warning.
    """
    full = model.to(torch.float32)
    half = copy.deepcopy(full).to(torch.bfloat16)
    cosine = agreement(full, half, pieces, depth)
    if cosine >= CLOSE_ENOUGH:
        return half
    warnings.warn(
        f"{name} stays in float32: in bfloat16 its states have a mean cosine of only {cosine:.3f} with those "
        "in float32. Give dtype bfloat16 to take it all the same.",
        stacklevel=5,
    )
    return full


@torch.inference_mode()
def agreement(one: Any, other: Any, pieces: Tensor, depth: int) -> float:
    """Mean cosine between the last states that two models give for a text."""
    first, second = (
        wanted_states(model(input_ids=pieces[None]), (depth,), depth, "the teacher")[depth][0].float()
        for model in (one, other)
    )
    return float(torch.nn.functional.cosine_similarity(first, second, dim=-1).mean())
