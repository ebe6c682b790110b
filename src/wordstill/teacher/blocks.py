"""The repeated blocks of a model, and the states between them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from torch import Tensor, nn


def blocks_of(model: Any, depth: int) -> list[nn.Module] | None:
    """The model's blocks in order, or None where they are not ``depth`` modules of one kind in one list."""
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and len(module) == depth and len(set(map(type, module))) == 1:
            return list(module)
    return None


def copy_of(model: Any) -> Any:
    """A model whose parts can be replaced; the weights of both are the same tensors."""
    weights = itertools.chain(model.parameters(), model.buffers())
    return copy.deepcopy(model, {id(weight): weight for weight in weights})


@contextmanager
def states_before(
    blocks: Sequence[nn.Module], layers: Sequence[int], *, stop: bool
) -> Iterator[dict[int, Tensor]]:
    """What the model gives to some of its blocks when it is run inside.

    Args:
        blocks: The model's blocks.
        layers: Numbers of layers below the last: layer n is what block n, counted from 0, is given.
        stop: End the run of the model at the highest of them.
    """
    seen: dict[int, Tensor] = {}
    last = max(layers) if stop else None
    with ExitStack() as stack:
        for layer in layers:
            look = partial(_look, seen, layer, layer == last)
            stack.callback(blocks[layer].register_forward_pre_hook(look, with_kwargs=True).remove)
        with suppress(_Enough):
            yield seen


class _Enough(Exception):
    """All wanted states have been seen, so the rest of the model need not run."""


def _look(
    seen: dict[int, Tensor], layer: int, last: bool, _: nn.Module, given: Any, named: dict[str, Any]
) -> None:
    seen[layer] = given[0] if given else named["hidden_states"]
    if last:
        raise _Enough
