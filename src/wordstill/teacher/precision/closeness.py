"""How close the states of a changed model are to those of the exact one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wordstill.teacher.outputs import wanted_states


@torch.inference_mode()
def agreement(one: Any, other: Any, pieces: Tensor, depth: int) -> float:
    """Mean cosine between the last states that two models give for a text."""
    first, second = (
        wanted_states(model(input_ids=pieces[None]), (depth,), depth, "the teacher")[depth][0].float()
        for model in (one, other)
    )
    return float(torch.nn.functional.cosine_similarity(first, second, dim=-1).mean())
