"""A model in the precision that suits its device: by AMX, by bfloat16, or as it is; on a CPU found by a trial.

On a CPU the weights of linear layers are sorted once, as products read them, and not at every call.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from wordstill.teacher.amx import AmxUnavailable, with_amx
from wordstill.teacher.device import amx_announced, avoid_broken_amx, bfloat16_is_safe, choose_precision
from wordstill.teacher.layers import blocks_of, copy_of
from wordstill.teacher.precision.closeness import TOLERANCE, bfloat16_if_close, last_states, relative_difference
from wordstill.teacher.precision.trials import CHOICES, Choice, TrialMemory, run_trial

WITH_AMX = ("auto", "bfloat16")
"""Precisions for which matrix tiles are tried on a CPU, before what torch has."""
TRIED = range(1_000_000, 1_000_000_000)
"""Numbers of weights of models that a trial is made for: it would not repay for smaller ones, and several copies of a
larger one may not fit into memory."""
OPERATORS = ("_linear_pointwise", "_reorder_linear_weight")
"""What torch must have for sorted weights."""


def in_precision(model: Any, wanted: str, device: torch.device, probe: Tensor, depth: int, teacher: str) -> Any:
    """The model on its device, in the precision that is wanted.

    On a CPU ``auto`` and ``bfloat16`` use matrix tiles where the model fits them; else what torch has.

    Args:
        model: A model on the CPU; it is taken over.
        wanted: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        device: Where it shall run.
        probe: Subwords of a short text [n], to try what is faster.
        depth: Number of its last layer.
        teacher: The teacher's name, for messages.

    Raises:
        UsageError: The precision is unknown, or cannot be had on this device.
    """
    if device.type == "cpu" and wanted in WITH_AMX:
        with suppress(AmxUnavailable):
            return with_amx(model, probe, depth)
    dtype = choose_precision(wanted, device)
    if wanted == "auto" and device.type == "cpu" and dtype is torch.bfloat16:
        model = bfloat16_if_close(model, probe, depth, teacher)
    else:
        model = model.to(device, dtype)
    return with_sorted_weights(model, probe, depth) if device.type == "cpu" else model


def is_tried(model: Any, wanted: str, device: torch.device) -> bool:
    """Whether the precision of a model is found by a trial."""
    weights = sum(weight.numel() for weight in model.parameters())
    return wanted == "auto" and device.type == "cpu" and weights in TRIED


def fastest(
    model: Any, probe: Tensor, depth: int, teacher: str, memory: TrialMemory, recorded: str | None = None
) -> tuple[Any, Choice]:
    """A model on the CPU in the precision and with the kernels that are fastest here, without a change of its states.

    Args:
        model: A model on the CPU; it is taken over.
        probe: Subwords of a short text [n].
        depth: Number of its last layer.
        teacher: Its name, for messages.
        memory: What earlier trials chose.
        recorded: What a run that is resumed uses; it is not tried again.
    """
    known = Choice(recorded, "recorded by the run that is resumed") if recorded else memory.recall()
    if known is not None:
        found = _candidate(known.name, model, probe, depth, teacher)
        if found is not None:
            return found, known
    # Each but the first is a copy, and float32 is what the others are compared with.
    candidates = {name: _candidate(name, model, probe, depth, teacher) for name in CHOICES}
    usable = {name: found for name, found in candidates.items() if found is not None}
    choice = memory.keep(run_trial(usable, depth, teacher, probe.numpy()))
    return usable[choice.name], choice


def _candidate(name: str, model: Any, probe: Tensor, depth: int, teacher: str) -> Any:
    """The model by one of `CHOICES`, the model itself left in float32; None where that is impossible or changes it."""
    if name == "tiles":
        with suppress(AmxUnavailable):
            return with_amx(model, probe, depth)
        return None
    exact = model.to(torch.float32)
    if name == "bfloat16":
        if not has_bfloat16():
            return None
        exact = bfloat16_if_close(exact, probe, depth, teacher)
        if exact.dtype is not torch.bfloat16:
            return None
    return with_sorted_weights(exact, probe, depth)


def has_bfloat16() -> bool:
    """Whether torch multiplies bfloat16 on this processor without a detour, and survives it."""
    known = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)()
    return bool(known) and (not amx_announced() or bfloat16_is_safe())


@torch.inference_mode()
def with_sorted_weights(model: Any, subwords: Tensor, depth: int) -> Any:
    """A copy of a model on a CPU with sorted weights in its blocks; the model where the states of a text [n] differ."""
    avoid_broken_amx()
    if not all(hasattr(torch.ops.mkldnn, name) for name in OPERATORS):
        return model
    changed = copy_of(model)
    try:
        for name, layer in _linear_layers(changed, depth).items():
            changed.set_submodule(name, SortedLinear(layer))
        one, other = (last_states(each, subwords, depth) for each in (model, changed))
        same = relative_difference(other, one) <= TOLERANCE[one.dtype]
    except Exception:  # Some models look at a layer's weights while they run.
        same = False
    return changed if same else model


class SortedLinear(nn.Module):
    """What a linear layer on a CPU gives, in bfloat16 about a fifth faster; `state_dict` gives its weights back."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        self._weight: Tensor = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] of [..., K]."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, self.bias, "none", [], "")
        return product

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}weight"] = self._weight.to_dense()


def _linear_layers(model: Any, depth: int) -> dict[str, nn.Linear]:
    inside = {id(module) for block in blocks_of(model, depth) or [] for module in block.modules()}
    return {
        name: module
        for name, module in model.named_modules()
        if type(module) is nn.Linear and id(module) in inside and module.weight.dtype in TOLERANCE
    }
