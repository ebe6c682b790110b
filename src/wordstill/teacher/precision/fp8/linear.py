"""Linear layers whose products are of 8-bit floating point numbers, several of them in one product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from wordstill.teacher.precision.fp8.rows import fp8_rows
from wordstill.teacher.precision.linears import linear_weight

STEP = 16
"""Products want multiples of it for the inputs and for the outputs."""


class Fp8Linear(nn.Module):
    r"""What a linear layer gives, with weights and inputs in 8 bits: each output has a scale, and each row.

    .. math:: y = s \odot q(a(x))\, Q^\top \odot t + b, \qquad W \approx \mathrm{diag}(t)\, Q

    Args:
        weight: [N, K].
        bias: [N].
        activation: Applied to the input, ``gelu`` or ``gelu_tanh``, which costs next to nothing here.
    """

    codes: Tensor
    scales: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, activation: str = "none") -> None:
        super().__init__()
        self.activation = activation
        codes, scales = fp8_rows(weight)
        # Not as weights: models would look at what kind of numbers they are.
        self.register_buffer("codes", codes)
        self.register_buffer("scales", scales.t())
        self.register_buffer("bias", bias.clone())

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] of [..., K]."""
        result: Tensor = torch.ops.wordstill.fp8_linear(
            x, self.codes, self.scales, self.bias, self.activation
        )
        return result


# One operator to the compiler, which would gain nothing by looking inside.
@torch.library.custom_op(
    "wordstill::fp8_linear",
    mutates_args=(),
    schema="(Tensor x, Tensor codes, Tensor scales, Tensor bias, str activation) -> Tensor",
)
def _fp8_linear(x: Tensor, codes: Tensor, scales: Tensor, bias: Tensor, activation: str) -> Tensor:
    rows, row_scales = fp8_rows(x.reshape(-1, x.shape[-1]), activation)
    product = torch._scaled_mm(
        rows, codes.t(), row_scales, scales, bias, out_dtype=x.dtype, use_fast_accum=True
    )
    return product.view(*x.shape[:-1], -1)


@_fp8_linear.register_fake
def _(x: Tensor, codes: Tensor, scales: Tensor, bias: Tensor, activation: str) -> Tensor:
    return x.new_empty(*x.shape[:-1], len(codes))


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
