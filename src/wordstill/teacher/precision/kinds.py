"""The precision that a model runs in."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from wordstill.teacher.device import choose_precision
from wordstill.teacher.precision.cpu_linear import with_sorted_weights
from wordstill.teacher.precision.half import bfloat16_if_close
from wordstill.teacher.precision.tiles import NoTiles, with_tiles

BY_TILES = ("auto", "bfloat16")
"""Precisions for which matrix tiles are tried on a CPU, before what torch has."""


def in_precision(
    model: Any, wanted: str, device: torch.device, probe: Tensor, depth: int, teacher: str
) -> Any:
    """The model on its device, in the precision that is wanted.

    On a CPU ``auto`` and ``bfloat16`` use matrix tiles where the model fits them; else what torch has.

    Args:
        model: A model on the CPU; it is taken over.
        wanted: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        device: Where it shall run.
        probe: Sub-words of a short text [n], to try what is faster.
        depth: Number of its last layer.
        teacher: The teacher's name, for messages.

    Raises:
        UsageError: The precision is unknown, or cannot be had on this device.
    """
    if device.type == "cpu" and wanted in BY_TILES:
        with suppress(NoTiles):
            return with_tiles(model, probe, depth)
    return _by_torch(model, wanted, device, probe, depth, teacher)


def _by_torch(model: Any, wanted: str, device: torch.device, probe: Tensor, depth: int, teacher: str) -> Any:
    """The model with the products that torch has."""
    dtype = choose_precision(wanted, device)
    if wanted == "auto" and device.type == "cpu" and dtype is torch.bfloat16:
        model = bfloat16_if_close(model, probe, depth, teacher)
    else:
        model = model.to(device, dtype)
    return with_sorted_weights(model, probe, depth) if device.type == "cpu" else model
