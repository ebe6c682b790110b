"""Hidden layers of a teacher, from the model's output or from hooks: 0 is the embedding, n the n-th block's output."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from wordstill.errors import TeacherError, UsageError

INPUT_EMBEDDINGS = -1
"""The pseudo-layer of the model's input embeddings, from which layer 0 is computed; for a model without any
(``embeds_alone``), layer 0."""
CLOSE_ENOUGH = 0.99
"""Minimum mean cosine with the states in float32 for choosing a lower precision."""
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 3e-2, torch.float16: 1e-2}
"""Largest relative difference that rounding explains between two computations of the same states."""


def resolve_layers(wanted: str | int, depth: int) -> tuple[int, ...]:
    """Parse ``last``, ``all``, ``top-half``, a number or a list such as ``0-3,-1`` into layer numbers.

    Negative numbers count from the last layer, ``depth``.

    >>> resolve_layers("top-half", 6), resolve_layers("0-2,-1", 6)
    ((4, 5, 6), (0, 1, 2, 6))
    """
    named = {"last": (depth,), "all": tuple(range(depth + 1)), "top-half": tuple(range(depth // 2 + 1, depth + 1))}
    text = str(wanted).strip()
    if text in named:
        return named[text]
    layers: set[int] = set()
    for part in text.split(","):
        layers.update(_part(part.strip(), depth, text))
    return tuple(sorted(layers))


def wanted_states(output: Any, layers: tuple[int, ...], depth: int, name: str) -> dict[int, Tensor]:
    """The states of some layers in a model's output, [texts, subwords, d] each; ``depth`` is the last layer.

    Raises:
        TeacherError: There are no hidden states, or not those of every layer.
    """
    last = getattr(output, "last_hidden_state", None)
    if layers == (depth,) and last is not None:
        return {depth: last}
    hidden = getattr(output, "hidden_states", None)
    if hidden is None or len(hidden) != depth + 1:
        given = "none" if hidden is None else f"{len(hidden)} layers of them"
        raise TeacherError(
            f"The teacher {name} returns no hidden states to distil: expected {depth + 1} layers, got {given} "
            f"in its {type(output).__name__}. Use the bare model (AutoModel), not one for a task."
        )
    return {layer: hidden[layer] for layer in layers}


@torch.inference_mode()
def agreement(one: Any, other: Any, subwords: Tensor, depth: int) -> float:
    """Mean cosine between the last-layer states of two models for a text."""
    first, second = (last_states(model, subwords, depth)[0].float() for model in (one, other))
    return float(torch.nn.functional.cosine_similarity(first, second, dim=-1).mean())


def last_states(model: Any, subwords: Tensor, depth: int) -> Tensor:
    """[1, n, d] states of the last layer for a text [n]."""
    return wanted_states(model(input_ids=subwords[None]), (depth,), depth, "the teacher")[depth]


def relative_difference(one: Tensor, other: Tensor) -> float:
    """Norm of the difference, relative to that of ``other``."""
    one, other = one.float(), other.float()
    return float((one - other).norm() / other.norm().clamp(min=1e-12))


def blocks_of(model: Any, depth: int) -> nn.ModuleList | None:
    """The model's list of ``depth`` blocks; None if there is no list of so many modules of one class."""
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and len(module) == depth and len(set(map(type, module))) == 1:
            return module
    return None


class Watched(nn.Module):
    """A wrapper around a compiled block, where hooks can see the block's inputs."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, *given: Any, **named: Any) -> Any:
        """The output of the block."""
        return self.block(*given, **named)

    def __getattr__(self, name: str) -> Any:
        # Some models read attributes of their blocks, such as the kind of attention.
        own = self.__dict__["_modules"]
        return own[name] if name in own else getattr(own["block"], name)


def copy_of(model: Any) -> Any:
    """A copy of a model that shares its weights, so that modules of the copy can be replaced."""
    weights = itertools.chain(model.parameters(), model.buffers())
    return copy.deepcopy(model, {id(weight): weight for weight in weights})


class LayerHooks:
    """Captures the inputs of a model's blocks, separately for every thread that runs the model.

    Hooks stay on the blocks until `remove`, since adding or removing one would disturb other threads; which layers
    to capture is stored per thread.
    """

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        self.blocks = list(blocks)
        self._hooks: list[RemovableHandle] = []
        self._lock, self._own = threading.Lock(), threading.local()

    @contextmanager
    def before(self, layers: Sequence[int], *, stop: bool) -> Iterator[dict[int, Tensor]]:
        """Capture the inputs of some blocks while this thread runs the model inside the context.

        Args:
            layers: Layers below the last: layer n is the input of block n, counted from 0.
            stop: Stop the forward pass at the highest of them.
        """
        seen: dict[int, Tensor] = {}
        self._attach()
        self._own.wanted = _Wanted(frozenset(layers), max(layers) if stop else None, seen)
        try:
            with suppress(_Enough):
                yield seen
        finally:
            self._own.wanted = None

    def remove(self) -> None:
        """Remove the hooks, which cannot be compiled."""
        with self._lock:
            while self._hooks:
                self._hooks.pop().remove()

    def __deepcopy__(self, memo: dict[int, Any]) -> LayerHooks:
        # The hooks of a copied model are not used.
        return self

    def _attach(self) -> None:
        with self._lock:
            if not self._hooks:
                self._hooks += [
                    block.register_forward_pre_hook(partial(self._look, layer), with_kwargs=True)
                    for layer, block in enumerate(self.blocks)
                ]

    def _look(self, layer: int, _: nn.Module, given: Any, named: dict[str, Any]) -> None:
        wanted: _Wanted | None = getattr(self._own, "wanted", None)
        if wanted is None or layer not in wanted.layers:
            return
        wanted.seen[layer] = given[0] if given else named["hidden_states"]
        if layer == wanted.last:
            raise _Enough


def _part(part: str, depth: int, whole: str) -> range:
    low, dash, high = part.partition("-") if not part.startswith("-") else (part, "", "")
    try:
        first = int(low)
        last = int(high) if dash else first
    except ValueError:
        raise UsageError(
            f"layers {whole!r}: cannot read {part!r}. Expected last, all, top-half, a number or a list such as 0-3,-1."
        ) from None
    first, last = (number + depth + 1 if number < 0 else number for number in (first, last))
    if first > last:
        raise UsageError(f"layers {whole!r}: {part!r} runs backwards. Write {last}-{first}.")
    if first < 0 or last > depth:
        raise UsageError(f"layers {whole!r}: {part!r} is outside 0 to {depth}, the layers this teacher has.")
    return range(first, last + 1)


class _Wanted(NamedTuple):
    """The layers to capture in one thread."""

    layers: frozenset[int]
    last: int | None
    seen: dict[int, Tensor]


class _Enough(Exception):
    """All requested states are captured, so the forward pass can stop."""
