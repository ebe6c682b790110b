"""A model is changed only as far as its states stay what they were."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from wordstill.errors import in_one_line
from wordstill.teacher.outputs import wanted_states


def if_close(
    exact: Any,
    change: Callable[[], Any],
    pieces: Tensor,
    depth: int,
    *,
    least: float,
    name: str,
    wanted: str,
    kept: str,
    stacklevel: int,
    advice: str = "",
) -> Any:
    """A changed model, or the exact one with a warning where that cannot be, or changes its states too much.

    Args:
        exact: The model as it is.
        change: Gives the changed one.
        pieces: Sub-words of a short text [n], to compare their states by.
        depth: Number of the last layer.
        least: Least mean cosine of their last states.
        name: The teacher's name, for the warning.
        wanted: What the changed model calculates in.
        kept: What the exact one does.
        stacklevel: How many calls above this one the user is, for the warning.
        advice: What the user can do about it.
    """
    try:
        changed = change()
        cosine = agreement(exact, changed, pieces, depth)
        reason = f"in {wanted} its states have a mean cosine of only {cosine:.4f} with those in {kept}"
    except Exception as error:  # Models have layers of every kind, and may ask these for what they lack.
        cosine, reason = 0.0, in_one_line(error)
    if cosine >= least:
        return changed
    message = f"{name} stays in {kept}, which takes longer: {reason}. {advice}".rstrip()
    warnings.warn(message, stacklevel=1 + stacklevel)
    return exact


@torch.inference_mode()
def agreement(one: Any, other: Any, pieces: Tensor, depth: int) -> float:
    """Mean cosine between the last states that two models give for a text."""
    first, second = (
        wanted_states(model(input_ids=pieces[None]), (depth,), depth, "the teacher")[depth][0].float()
        for model in (one, other)
    )
    return float(torch.nn.functional.cosine_similarity(first, second, dim=-1).mean())
