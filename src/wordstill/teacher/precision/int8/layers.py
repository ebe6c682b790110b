"""Puts 8-bit layers in the place of a model's linear layers, after watching what these are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from wordstill.teacher.batches.loaded import LoadedBatch
from wordstill.teacher.forward import Forward
from wordstill.teacher.precision.int8.linear import Int8Linear
from wordstill.teacher.precision.linears import ACTIVATIONS, joined, linear_weight, parts_of


@dataclass(frozen=True)
class Sample:
    """Some texts, and what runs the model over them."""

    batch: LoadedBatch
    forward: Forward

    def run(self) -> None:
        """Let the model read it."""
        self.forward(self.batch, (self.forward.depth,))

    def rows(self, given: Tensor) -> Tensor:
        """[n, K] what a layer was given, without padding."""
        mask = self._mask
        return given[mask] if given.shape[:2] == mask.shape else given.flatten(0, -2)

    @cached_property
    def _mask(self) -> Tensor:
        """[texts, longest] which sub-words are no padding, where texts are padded."""
        lengths = torch.from_numpy(self.batch.lengths)
        return torch.arange(int(lengths.max())) < lengths[:, None]


@torch.inference_mode()
def use_int8(blocks: Sequence[nn.Module], sample: Sample) -> None:
    """Replace every linear layer inside a model's blocks; needs two runs over the sample.

    Args:
        blocks: The model's repeated parts, in float32; they are changed.
        sample: What ranges are learnt from, and the model.
    """
    model = sample.forward.model
    names = {id(module): name for name, module in model.named_modules()}
    makers = [_BlockMaker(names[id(block)], block, sample) for block in blocks]
    with ExitStack() as stack:
        for maker in makers:
            for handle in maker.watch():
                stack.callback(handle.remove)
        sample.run()
    with ExitStack() as stack:
        for maker in makers:
            for name, module in maker.made.items():
                model.set_submodule(name, module)
        for module in model.modules():
            if isinstance(module, Int8Linear):
                # Layers run in order, so each meets inputs that are right already.
                handle = module.register_forward_pre_hook(
                    lambda layer, given: layer.set_mean_right(sample.rows(given[0]))
                )
                stack.callback(handle.remove)
        sample.run()


class _BlockMaker:
    """Watches a block, and makes its new layers as soon as it has run.

    Attributes:
        made: New modules by name.
    """

    def __init__(self, name: str, block: nn.Module, sample: Sample) -> None:
        self.made: dict[str, nn.Module] = {}
        self._block, self._sample = block, sample
        modules = [(f"{name}.{inner}", module) for inner, module in block.named_modules()]
        self._linears = {inner: module for inner, module in modules if linear_weight(module) is not None}
        self._activations = {
            inner: module for inner, module in modules if type(module).__name__ in ACTIVATIONS
        }
        self._given: dict[str, Tensor] = {}
        self._gave: dict[str, Tensor] = {}

    def watch(self) -> list[Any]:
        """Handles of the hooks that do it."""
        watched = [*self._linears.items(), *self._activations.items()]
        hooks = [module.register_forward_hook(self._note(name)) for name, module in watched]
        return [*hooks, self._block.register_forward_hook(lambda *_: self._make())]

    def _note(self, name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def note(_: nn.Module, given: tuple[Tensor, ...], gave: Tensor) -> None:
            self._given[name], self._gave[name] = given[0], gave

        return note

    def _make(self) -> None:
        groups: dict[tuple[str, int], list[str]] = {}
        for name in self._linears:
            if name in self._given:
                alone = self._activation_of(name) or ""
                groups.setdefault((alone, id(self._given[name])), []).append(name)
        for (activation, _), group in groups.items():
            self._make_group(group, activation)
        self._given.clear()
        self._gave.clear()

    def _activation_of(self, linear: str) -> str | None:
        """Name of the activation that was given the layer's output as it was."""
        for name in self._activations:
            if self._given.get(name) is self._gave[linear]:
                return name
        return None

    def _make_group(self, group: list[str], activation: str) -> None:
        weight, bias, sizes = joined([self._linears[name] for name in group])
        kind = ACTIVATIONS[type(self._activations[activation]).__name__] if activation else "none"
        product = Int8Linear(weight, bias, self._sample.rows(self._given[group[0]]), kind)
        if activation:
            self.made[activation] = nn.Identity()
        self.made.update(zip(group, parts_of(product, sizes)))
