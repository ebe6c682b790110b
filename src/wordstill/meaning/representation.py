"""From the states of a word in a sentence to one vector: every model and baseline is such a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from torch import Tensor

Representation: TypeAlias = Callable[[Tensor], Tensor]
"""Gives vectors [n, width] of states [n, layers, width]."""


def layer_mean(states: Tensor) -> Tensor:
    """The raw baseline, and the target of reconstruction: the mean of the layers (Eq. 1)."""
    return states.mean(dim=1)
