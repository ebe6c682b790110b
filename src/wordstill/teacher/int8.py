"""A teacher's linear layers in 8 bits, where the processor is good at it and the states stay the same."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from wordstill.errors import TeacherError
from wordstill.teacher import device
from wordstill.teacher.blocks import blocks_of
from wordstill.teacher.half_precision import agreement
from wordstill.teacher.int8_layers import Sample, use_int8

CLOSE_ENOUGH = 0.998
"""Least mean cosine of states to those in float32; over a word's occurrences most of the rest cancels."""
SAMPLE_TEXTS = 64
"""How many texts ranges are learnt from; fewer give worse ranges, more take longer."""
SAMPLE_LENGTH = 128
"""Sub-words of each."""
OPERATOR = "qlinear_pointwise"


def int8_model(model: Any, texts: Sequence[Tensor], depth: int, name: str) -> Any:
    """A copy of a model with the linear layers of its blocks in 8 bits.

    Args:
        model: A model in float32 on the CPU.
        texts: Sub-words [n] of some texts like those it will read, with their special tokens; the ranges of
            numbers are learnt from them.
        depth: Number of its last layer.
        name: The teacher's name, for messages.

    Raises:
        TeacherError: The processor cannot do it, or the model's blocks cannot be found.
    """
    if not cpu_multiplies_int8():
        raise TeacherError(
            f"{name} cannot run in int8: this processor lacks the instructions (VNNI), or they do not work "
            "from this torch. Use dtype float32."
        )
    changed = copy.deepcopy(model)
    blocks = blocks_of(changed, depth)
    if blocks is None:
        raise TeacherError(f"{name} cannot run in int8: its {depth} layers are not a list of equal blocks.")
    use_int8(changed, blocks, _sample(texts))
    return changed


def int8_if_close(model: Any, texts: Sequence[Tensor], depth: int, name: str) -> Any:
    """The model in 8 bits, or as it is with a warning where that changes its states too much.

    Args:
        model: A model in float32 on the CPU.
        texts: Sub-words [n] of some texts, at least two; it is tried on the last, and learns from the others.
        depth: Number of its last layer.
        name: The teacher's name, for messages.
    """
    try:
        changed = int8_model(model, texts[:-1], depth, name)
        cosine = agreement(model, changed, texts[-1], depth)
        reason = f"in int8 its states have a mean cosine of only {cosine:.4f} with those in float32"
    except Exception as error:  # Models have layers of every kind, and may ask these for what they lack.
        cosine, reason = 0.0, f"{type(error).__name__}: {error}".split("\n")[0]
    if cosine >= CLOSE_ENOUGH:
        return changed
    warnings.warn(f"{name} stays in float32, which takes longer: {reason}.", stacklevel=3)
    return model


def _sample(texts: Sequence[Tensor]) -> Sample:
    """As many texts as are wanted from all over the given ones, cut to the same length."""
    chosen = [text[:SAMPLE_LENGTH] for text in texts[:: max(1, -(-len(texts) // SAMPLE_TEXTS))]]
    mask = pad_sequence([torch.ones(len(text), dtype=torch.bool) for text in chosen], batch_first=True)
    return Sample(pad_sequence(chosen, batch_first=True), mask)


@cache
def cpu_multiplies_int8() -> bool:
    """Whether this processor has instructions for 8-bit products (VNNI) that really work from torch.

    Where its matrix tiles are announced but broken, oneDNN is told to leave them alone; it listens only
    before its first product in a process.
    """
    if not getattr(torch.cpu, "_is_vnni_supported", lambda: False)():
        return False
    if not hasattr(torch.ops.onednn, OPERATOR):
        return False
    if device.tiles_announced() and not device.cpu_multiplies_bfloat16():
        device.avoid_matrix_tiles()
    return device.survives(_product)


def _product() -> None:
    codes, weights = torch.ones(64, 64, dtype=torch.uint8), torch.ones(64, 64, dtype=torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(weights, None)
    ones, zeros = torch.ones(64), torch.zeros(64, dtype=torch.int64)
    torch.ops.onednn.qlinear_pointwise(
        codes, 1.0, 0, packed, ones, zeros, None, 1.0, 0, torch.float32, "none", [], "none"
    )
