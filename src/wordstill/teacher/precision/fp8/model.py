"""A model whose linear layers run in 8-bit floating point, for GPUs that have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from wordstill.errors import TeacherError, UsageError
from wordstill.teacher.blocks import blocks_of, copy_of
from wordstill.teacher.precision.closeness import if_close
from wordstill.teacher.precision.fp8.linear import STEP, Fp8Linear, joined, parts_of
from wordstill.teacher.precision.linears import ACTIVATIONS, linear_weight

CLOSE_ENOUGH = 0.99
"""Least mean cosine of states to those in bfloat16."""
LEAST_CAPABILITY = (8, 9)


def fp8_if_close(model: Any, pieces: Tensor, depth: int, name: str) -> Any:
    """The model in fp8, or as it is with a warning where that changes its states too much.

    Args:
        model: A model in bfloat16.
        pieces: Sub-words of a short text [n].
        depth: Number of its last layer.
        name: The teacher's name, for the warning.
    """
    pieces = pieces.to(model.device)
    return if_close(
        model,
        lambda: fp8_model(model, pieces, depth, name),
        pieces,
        depth,
        least=CLOSE_ENOUGH,
        name=name,
        wanted="fp8",
        kept="bfloat16",
        stacklevel=4,
    )


@torch.no_grad()
def fp8_model(model: Any, pieces: Tensor, depth: int, name: str) -> Any:
    """A copy of a model with the linear layers of its blocks in fp8, where their sizes allow it.

    Args:
        model: A model in bfloat16; the copy shares what is not changed.
        pieces: Sub-words of a short text [n], to see which layers are given the same.
        depth: Number of its last layer.
        name: The teacher's name, for messages.

    Raises:
        TeacherError: The model's blocks cannot be found, or no layer of them has the right size.
    """
    changed = copy_of(model)
    blocks = blocks_of(changed, depth)
    if blocks is None:
        raise TeacherError(f"{name} cannot run in fp8: its {depth} layers are not a list of equal blocks")
    made = dict(_new_modules(changed, _Watch(changed, blocks, pieces)))
    if not made:
        raise TeacherError(f"{name} cannot run in fp8: no layer's sizes are multiples of {STEP}")
    for place, module in made.items():
        changed.set_submodule(place, module)
    return changed


def refuse_without_fp8(place: torch.device, name: str) -> None:
    """Refuse to run in fp8 where that is not possible.

    Raises:
        UsageError: The device is no GPU, or an older one.
    """
    if place.type != "cuda":
        raise UsageError(f"{name} cannot run in fp8 on {place.type}: that is for GPUs. Take dtype auto.")
    capability = torch.cuda.get_device_capability(place)
    if capability < LEAST_CAPABILITY:
        raise UsageError(
            f"{name} cannot run in fp8: {torch.cuda.get_device_name(place)} has compute capability "
            f"{capability[0]}.{capability[1]}, and 8.9 is the least that has it. Take dtype auto."
        )


class _Watch:
    """One run of a model over a text: what its linear layers were given, and what its activations gave.

    Attributes:
        given: By name of a linear layer.
        gave: By name of an activation.
    """

    def __init__(self, model: Any, blocks: Sequence[nn.Module], pieces: Tensor) -> None:
        self.given: dict[str, Tensor] = {}
        self.gave: dict[str, Tensor] = {}
        inside = {id(module) for block in blocks for module in block.modules()}
        with ExitStack() as stack:
            for name, module in model.named_modules():
                if id(module) in inside:
                    stack.callback(module.register_forward_hook(self._note(name)).remove)
            model(input_ids=pieces[None])

    def _note(self, name: str) -> Any:
        def note(module: nn.Module, given: tuple[Any, ...], gave: Any) -> None:
            if linear_weight(module) is not None:
                self.given[name] = given[0]
            elif type(module).__name__ in ACTIVATIONS:
                self.gave[name] = gave

        return note


def _new_modules(model: Any, seen: _Watch) -> Iterator[tuple[str, nn.Module]]:
    """What shall stand in the place of linear layers, and of activations just before them."""
    activations = {id(result): name for name, result in seen.gave.items()}
    groups: dict[int, list[str]] = {}
    for name, x in seen.given.items():
        groups.setdefault(id(x), []).append(name)
    for given, names in groups.items():
        weight, bias, sizes = joined([model.get_submodule(name) for name in names])
        if any(size % STEP for size in weight.shape) or weight.dtype is not torch.bfloat16:
            continue
        kind, before = "none", activations.get(given)
        if before is not None:
            kind = ACTIVATIONS[type(model.get_submodule(before)).__name__]
            yield before, nn.Identity()
        yield from zip(names, parts_of(Fp8Linear(weight, bias, kind), sizes))
