"""A linear layer whose products are of 8-bit floating point numbers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordstill.teacher.precision.fp8.rows import fp8_rows

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
