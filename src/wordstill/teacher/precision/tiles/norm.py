"""A linear layer, what its result is added to, and the norm of the sum: how halves of BERT's blocks end."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor, nn

from wordstill.teacher.precision.tiles.kernel import MOST_NUMBERS, STEP, kernel
from wordstill.teacher.precision.tiles.linear import TileLinear
from wordstill.teacher.precision.tiles.threads import share

PARTS = (TileLinear, nn.LayerNorm, nn.Dropout)
ARGUMENTS = ["hidden_states", "input_tensor"]
TRIED_ROWS = 4
SAME = 0.05
"""Largest difference that rounding to bfloat16 makes in a norm, whose numbers are near 1."""


class TileNorm(nn.Module):
    """The norm of ``linear(hidden_states) + input_tensor`` without a pause for rounding between the two.

    Args:
        ending: What it stands in for, see `ends_in_norm`; children keep their names.
    """

    def __init__(self, ending: nn.Module) -> None:
        super().__init__()
        for name, child in ending.named_children():
            self.add_module(name, child)
        (norm,) = (child for child in ending.children() if isinstance(child, nn.LayerNorm))
        self._epsilon = norm.eps
        # Copies even where they are in float32 already.
        self._weight, self._bias = (each.detach().to(torch.float32, copy=True) for each in norm.parameters())

    def forward(self, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
        """[..., N] of [..., K] and [..., N]."""
        (linear,) = (child for child in self.children() if isinstance(child, TileLinear))
        values: Tensor = linear(hidden_states).view(-1, linear.out_features)
        added = input_tensor.detach().reshape(values.shape).contiguous()
        share(len(values), STEP, lambda part: self._norm(values[part], added[part]))
        return values.view(input_tensor.shape)

    def _norm(self, values: Tensor, added: Tensor) -> None:
        kernel().norm(values, added, self._weight, self._bias, self._epsilon)


def ends_in_norm(module: nn.Module) -> bool:
    """Whether `TileNorm` gives what a module gives, by what it consists of and by a trial."""
    children = list(module.children())
    linears = [child for child in children if isinstance(child, TileLinear)]
    norms = [child for child in children if isinstance(child, nn.LayerNorm)]
    if len(linears) != 1 or len(norms) != 1 or not all(isinstance(child, PARTS) for child in children):
        return False
    (linear,), (norm,) = linears, norms
    fits = norm.normalized_shape == (linear.out_features,) and linear.out_features <= MOST_NUMBERS
    whole = norm.weight is not None and norm.bias is not None
    if not fits or not whole or [*inspect.signature(module.forward).parameters] != ARGUMENTS:
        return False
    generator = torch.Generator().manual_seed(0)
    sizes = (linear.in_features, linear.out_features)
    given = [torch.randn(TRIED_ROWS, size, generator=generator).bfloat16() for size in sizes]
    return torch.allclose(module(*given), TileNorm(module)(*given), rtol=SAME, atol=SAME)
