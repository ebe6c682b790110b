"""A model whose linear layers run by matrix tiles, where they all fit and its states stay the same."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from wordstill.errors import in_one_line
from wordstill.teacher.blocks import blocks_of
from wordstill.teacher.precision.closeness import agreement
from wordstill.teacher.precision.half import CLOSE_ENOUGH
from wordstill.teacher.precision.linears import linear_weight
from wordstill.teacher.precision.tiles.kernel import STEP, NoTiles, kernel
from wordstill.teacher.precision.tiles.linear import TileLinear
from wordstill.teacher.precision.tiles.norm import TileNorm, ends_in_norm

MOST_OF_IT = 0.9
"""Share of the blocks' weights that must be in linear layers; all else is slow in bfloat16."""


@torch.no_grad()
def with_tiles(model: Any, pieces: Tensor, depth: int) -> Any:
    """A copy of a model in bfloat16, with the linear layers of its blocks by matrix tiles.

    Args:
        model: A model on the CPU; it comes to be in float32.
        pieces: Sub-words of a short text [n].
        depth: Number of its last layer.

    Raises:
        NoTiles: This process has no tiles, the model's layers do not fit them, or its states would change.
    """
    _refuse_unfit(blocks_of(model, depth) or [])
    kernel()
    exact = model.to(torch.float32)
    changed = copy.deepcopy(exact).to(torch.bfloat16)
    try:
        _replace(changed, blocks_of(changed, depth) or [], pieces)
        cosine = agreement(exact, changed, pieces, depth)
    except Exception as error:  # Some models look at a layer's weights while they run.
        raise NoTiles(in_one_line(error)) from error
    if not cosine >= CLOSE_ENOUGH:
        raise NoTiles(f"its states have a mean cosine of only {cosine:.3f} with those in float32")
    return changed


def _refuse_unfit(blocks: Sequence[nn.Module]) -> None:
    weights = [
        weight for block in blocks for weight in map(linear_weight, block.modules()) if weight is not None
    ]
    if any(size % STEP for weight in weights for size in weight.shape):
        raise NoTiles(f"sizes of its linear layers are not multiples of {STEP}")
    total = sum(parameter.numel() for block in blocks for parameter in block.parameters())
    if not weights or sum(weight.numel() for weight in weights) < MOST_OF_IT * total:
        raise NoTiles("most of it is not in the linear layers of a list of equal blocks")


def _replace(model: Any, blocks: Sequence[nn.Module], pieces: Tensor) -> None:
    """Put tiles in the place of linear layers, and of those activations that they can apply themselves."""
    inside = {id(module) for block in blocks for module in block.modules()}
    modules = {name: module for name, module in model.named_modules() if id(module) in inside}
    layers = {
        name: TileLinear(module) for name, module in modules.items() if linear_weight(module) is not None
    }
    gelus = {name: module for name, module in modules.items() if type(module).__name__ == "GELUActivation"}
    for name, layer in layers.items():
        model.set_submodule(name, layer)
    for name, before in _layers_before(gelus, list(layers.values()), model, pieces).items():
        model.set_submodule(name, nn.Identity())
        for layer in before:
            layer.gelu = True
    for name, module in modules.items():
        if ends_in_norm(module):
            model.set_submodule(name, TileNorm(module))


def _layers_before(
    gelus: dict[str, nn.Module], layers: Sequence[TileLinear], model: Any, pieces: Tensor
) -> dict[str, list[TileLinear]]:
    """The layers whose results an activation is given as they are, of those that are given nothing else."""
    results: list[tuple[Tensor, TileLinear]] = []
    before: dict[str, list[TileLinear]] = {name: [] for name in gelus}

    def note(name: str, given: Tensor) -> None:
        found = [layer for result, layer in results if result is given]
        if found and name in before:
            before[name] += found
        else:
            before.pop(name, None)

    with ExitStack() as stack:
        for layer in layers:
            hook = layer.register_forward_hook(lambda layer, _, result: results.append((result, layer)))
            stack.callback(hook.remove)
        for name, gelu in gelus.items():
            before_hook = gelu.register_forward_pre_hook(lambda _, given, name=name: note(name, given[0]))
            stack.callback(before_hook.remove)
        model(input_ids=pieces[None])
    return {name: layers for name, layers in before.items() if layers}
