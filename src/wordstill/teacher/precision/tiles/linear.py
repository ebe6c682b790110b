"""A linear layer by matrix tiles, whose weights lie in the order in which tiles take them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from wordstill.teacher.precision.linears import linear_weight
from wordstill.teacher.precision.tiles.kernel import STEP, kernel
from wordstill.teacher.precision.tiles.threads import share

HALF = STEP // 2


class TileLinear(nn.Module):
    """What a linear layer gives in bfloat16, with sums in float32; `state_dict` gives its weights back.

    A row's result does not depend on the other rows.

    Args:
        linear: The layer, on a CPU, or GPT-2's transposed one; its sizes are multiples of 32.
        gelu: Whether to apply the exact ``gelu`` to the result.

    Raises:
        TypeError: It is no linear layer.
    """

    def __init__(self, linear: nn.Module, *, gelu: bool = False) -> None:
        super().__init__()
        weight = linear_weight(linear)
        if weight is None:
            raise TypeError(f"{type(linear).__name__} is no linear layer.")
        self.out_features, self.in_features = weight.shape
        self.gelu, self.bias = gelu, linear.bias
        self._transposed = type(linear) is not nn.Linear
        self._weight = _sorted(weight.to(torch.bfloat16))
        bias = self.bias.detach() if isinstance(self.bias, Tensor) else torch.zeros(self.out_features)
        # A copy even where it is in float32 already.
        self._full_bias = bias.to(torch.float32, copy=True)

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] of [..., K].

        Raises:
            TypeError: The input is not in bfloat16.
            ValueError: It has another size.
            NoTiles: This process cannot use matrix tiles.
        """
        if x.dtype is not torch.bfloat16:
            raise TypeError(f"A layer by matrix tiles wants bfloat16, got {x.dtype}.")
        if x.shape[-1] != self.in_features:
            raise ValueError(f"The layer wants {self.in_features} numbers a row, got {x.shape[-1]}.")
        given = x.detach().reshape(-1, self.in_features).contiguous()
        y = torch.empty(len(given), self.out_features, dtype=torch.bfloat16)
        share(len(given), STEP, lambda part: self._multiply(given[part], y[part]))
        return y.view(*x.shape[:-1], self.out_features)

    def _multiply(self, x: Tensor, y: Tensor) -> None:
        kernel().linear(x, self._weight, self._full_bias, y, gelu=self.gelu)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        weight = self._weight.permute(0, 2, 4, 1, 3, 5).reshape(self.out_features, self.in_features)
        destination[f"{prefix}weight"] = weight.t().contiguous() if self._transposed else weight


def _sorted(weight: Tensor) -> Tensor:
    """[N/32, K/32, 2, 16, 16, 2] of [N, K]: 32 outputs, 32 inputs, halves of outputs, pairs of inputs."""
    outputs, inputs = weight.shape
    parts = weight.reshape(outputs // STEP, 2, HALF, inputs // STEP, HALF, 2)
    return parts.permute(0, 3, 1, 4, 2, 5).contiguous()
