"""Linear layers of models of every kind: their weights, and several of them in one product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

ACTIVATIONS = {
    "GELUActivation": "gelu",
    "NewGELUActivation": "gelu_tanh",
    "GELUTanh": "gelu_tanh",
    "PytorchGELUTanh": "gelu_tanh",
}
"""Activations that a layer of ours can apply, by the name of their class in transformers."""


def linear_weight(module: nn.Module) -> Tensor | None:
    """[N, K] of a linear layer or of GPT-2's transposed one; None of anything else."""
    if type(module) is nn.Linear:
        return module.weight.detach()
    if type(module).__name__ == "Conv1D" and isinstance(module.weight, Tensor):
        return module.weight.detach().t()
    return None


def joined(layers: Sequence[nn.Module]) -> tuple[Tensor, Tensor, list[int]]:
    """Weight [N, K] and bias [N] of linear layers as of a single one, and how many outputs each has."""
    weights = [weight for weight in map(linear_weight, layers) if weight is not None]
    biases = [
        layer.bias.detach() if isinstance(layer.bias, Tensor) else weight.new_zeros(len(weight))
        for layer, weight in zip(layers, weights)
    ]
    return torch.cat(weights), torch.cat(biases), [len(weight) for weight in weights]


def parts_of(product: nn.Module, sizes: Sequence[int]) -> list[nn.Module]:
    """What stands in the place of each layer that was joined; a single one is the product itself.

    Args:
        product: Gives the outputs of all, one after another.
        sizes: How many outputs each has.
    """
    if len(sizes) == 1:
        return [product]
    shared = SharedLinear(product, len(sizes))
    stops = torch.tensor(sizes).cumsum(0).tolist()
    return [LinearPart(shared, stop - size, stop) for stop, size in zip(stops, sizes)]


class SharedLinear(nn.Module):
    """Linear layers that are given the same tensor, as queries, keys and values are, in one product.

    Each of them asks for its part of the result, which is made for the first and let go with the last. It
    serves one thread at a time: the compiler does not know what each would keep for itself.

    Args:
        product: Gives the outputs of all, one after another.
        parts: How many there are.
    """

    def __init__(self, product: nn.Module, parts: int) -> None:
        super().__init__()
        self.product, self.parts = product, parts
        self._last = _Last()

    def part(self, x: Tensor, start: int, stop: int) -> Tensor:
        """[..., stop - start] some of the outputs."""
        last = self._last
        if last.result is None or last.given is not x:
            last.given, last.result, last.asked = x, self.product(x), 0
        result = last.result[..., start:stop]
        last.asked += 1
        if last.asked == self.parts:
            last.given = last.result = None
        return result


class _Last:
    """What was given and worked out last."""

    def __init__(self) -> None:
        self.given: Tensor | None = None
        self.result: Tensor | None = None
        self.asked = 0


class LinearPart(nn.Module):
    """One of the layers of a `SharedLinear`; its outputs are those from ``start`` to ``stop``."""

    def __init__(self, shared: SharedLinear, start: int, stop: int) -> None:
        super().__init__()
        self.shared, self.start, self.stop = shared, start, stop

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] of [..., K]."""
        return self.shared.part(x, self.start, self.stop)
