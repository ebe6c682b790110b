"""A guard before bfloat16 is taken for a model that was not asked to run in it."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from wordstill.teacher.precision.closeness import if_close

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
    return if_close(
        full,
        lambda: copy.deepcopy(full).to(torch.bfloat16),
        pieces,
        depth,
        least=CLOSE_ENOUGH,
        name=name,
        wanted="bfloat16",
        kept="float32",
        stacklevel=5,
        advice="Give dtype bfloat16 to take it all the same.",
    )
