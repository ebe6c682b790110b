"""A teacher's linear layers in 8 bits, where the processor is good at it and the states stay the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from wordstill.errors import TeacherError, UsageError
from wordstill.teacher import device
from wordstill.teacher.batches.bare import bare_batch
from wordstill.teacher.batches.loaded import LoadedBatch, Loader
from wordstill.teacher.blocks import blocks_of, copy_of
from wordstill.teacher.forward import Forward
from wordstill.teacher.precision.closeness import if_close
from wordstill.teacher.precision.int8.layers import Sample, use_int8
from wordstill.teacher.precision.int8.sample import RangeSample

CLOSE_ENOUGH = 0.998
"""Least mean cosine of states to those in float32; over a word's occurrences most of the rest cancels."""
OPERATOR = "qlinear_pointwise"


def int8_model(model: Any, texts: Sequence[Tensor], depth: int, name: str, *, packed: bool = False) -> Any:
    """A copy of a model with the linear layers of its blocks in 8 bits.

    Args:
        model: A model in float32 on the CPU.
        texts: Sub-words [n] of some texts like those it will read, with their special tokens; the ranges of
            numbers are learnt from them.
        depth: Number of its last layer.
        name: The teacher's name, for messages.
        packed: Whether the model reads packed texts.

    Raises:
        TeacherError: The processor cannot do it, or the model's blocks cannot be found.
    """
    refuse_without_int8(torch.device("cpu"), name)
    changed = copy_of(model)
    blocks = blocks_of(changed, depth)
    if blocks is None:
        raise TeacherError(f"{name} cannot run in int8: its {depth} layers are not a list of equal blocks.")
    use_int8(blocks, Sample(_loaded(texts), _forward(changed, depth, name, packed)))
    return changed


def int8_if_close(model: Any, sample: RangeSample, depth: int, name: str, *, packed: bool = False) -> Any:
    """The model in 8 bits, or as it is with a warning where that changes its states too much.

    Args:
        model: A model in float32 on the CPU.
        sample: What the ranges are learnt from, and what the result is judged by.
        depth: Number of its last layer.
        name: The teacher's name, for messages.
        packed: Whether the model reads packed texts.
    """

    def compare(changed: Any) -> float:
        judged = _loaded([sample.judged])
        one, other = (_forward(each, depth, name, packed)(judged, (depth,)) for each in (model, changed))
        return float(cosine_similarity(one[depth], other[depth]).mean())

    return if_close(
        model,
        lambda: int8_model(model, sample.learnt, depth, name, packed=packed),
        compare,
        least=CLOSE_ENOUGH,
        name=name,
        wanted="int8",
        kept="float32",
        stacklevel=3,
    )


def refuse_without_int8(place: torch.device, name: str) -> None:
    """Refuse to run in int8 where that is not possible.

    Raises:
        UsageError: The device is no CPU.
        TeacherError: The processor lacks the instructions.
    """
    if place.type != "cpu":
        raise UsageError(
            f"{name} cannot run in int8 on {place.type}: that is for CPUs. Take dtype auto, or device cpu."
        )
    if cpu_multiplies_int8():
        return
    reason = "this processor lacks the instructions (VNNI), or they do not work from this torch"
    advice = "Use dtype float32."
    if device.tiles_announced() and not device.cpu_multiplies_bfloat16():
        reason = "the processor's matrix tiles (AMX) do not work, and it is too late to do without them"
        advice = (
            f"Set {device.ISA_VARIABLE}={device.ISA_WITHOUT_TILES} in the environment before the start, or "
            "use dtype float32."
        )
    raise TeacherError(f"{name} cannot run in int8: {reason}. {advice}")


def _loaded(texts: Sequence[Tensor]) -> LoadedBatch:
    return Loader(torch.device("cpu"))(bare_batch([text.numpy() for text in texts]))


def _forward(model: Any, depth: int, name: str, packed: bool) -> Forward:
    forward = Forward(model, depth, name, pad_id=0)
    if packed:
        forward.pack(True)
    return forward


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
    device.avoid_broken_tiles()
    return device.survives(_product)


def _product() -> None:
    codes, weights = torch.ones(64, 64, dtype=torch.uint8), torch.ones(64, 64, dtype=torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(weights, None)
    ones, zeros = torch.ones(64), torch.zeros(64, dtype=torch.int64)
    torch.ops.onednn.qlinear_pointwise(
        codes, 1.0, 0, packed, ones, zeros, None, 1.0, 0, torch.float32, "none", [], "none"
    )
