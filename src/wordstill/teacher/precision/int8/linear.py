"""A linear layer whose products are of 8-bit numbers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from wordstill.teacher.precision.int8.inputs import FixedCode, InputCode, RowCode, decoded
from wordstill.teacher.precision.int8.rounding import round_weights

FAR_OUT = 4.0
"""A channel is kept in float32 where it reaches so many times as far as the median channel."""
MOST_FAR_OUT = 8
JUDGED_ROWS = 256
"""So many inputs show which code has the smaller error."""
ROW_ADVANTAGE = {False: 1.25, True: 2.5}
"""Codes by row are taken where their error is so many times as small; more where an activation follows, which
is part of the product behind a fixed code."""


class Int8Linear(nn.Module):
    r"""What a linear layer gives, with weights and inputs in 8 bits and sums in 32 bits, which are exact.

    .. math:: y = s \, r \, (q(x) - z) Q^\top \odot t + b', \qquad W F \approx \mathrm{diag}(t)\, Q

    Each output has its own step t; of the two codes for inputs (`int8_inputs`) the one with the smaller error
    over a sample is taken. A row's result does not depend on the other rows.

    Args:
        weight: [N, K].
        bias: [N].
        sample: Inputs that the layer has seen [n, K]; numbers far beyond theirs are cut off.
        activation: ``gelu`` or ``gelu_tanh``, to apply to the result.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, sample: Tensor, activation: str = "none") -> None:
        super().__init__()
        self.activation = activation
        self.in_features = weight.shape[1]
        bias = torch.zeros(len(weight)) if bias is None else bias
        self._wanted = bias + weight @ sample.mean(0)
        self.code, self._far_out = _choose_code(weight, sample, activation)
        near = _without(sample, self._far_out)
        quantised, self._steps = round_weights(
            _without(weight, self._far_out) * self.code.factors,
            (decoded(self.code, near) - self.code.centre) / self.code.factors,
        )
        self._packed = torch.ops.onednn.qlinear_prepack(quantised, None)
        self._zeros = torch.zeros(len(quantised), dtype=torch.int64)
        self._far_weight = weight[:, self._far_out].t().contiguous()
        self._bias = bias + (quantised.float() * self._steps[:, None]) @ (
            self.code.centre / self.code.factors
        )

    def set_mean_right(self, x: Tensor) -> None:
        """Change the bias so that the mean over some inputs [n, K] is what it was over the sample.

        So errors of this layer and of those before it do not pile up to a shift (Nagel et al. 2019,
        "Data-Free Quantization").
        """
        self._bias += self._wanted - self._linear(x, "none").mean(0)

    @torch.inference_mode()
    def forward(self, x: Tensor) -> Tensor:
        """[..., N] of [..., K]."""
        return self._linear(x.reshape(-1, self.in_features), self.activation).view(*x.shape[:-1], -1)

    def _linear(self, x: Tensor, activation: str) -> Tensor:
        codes, row_steps = self.code(x)
        if row_steps is None:
            return self._product(codes, self._bias, activation)
        y = self._product(codes, None, "none").mul_(row_steps).add_(self._bias)
        if len(self._far_out):
            y.addmm_(x[:, self._far_out], self._far_weight)
        if activation != "none":
            y = gelu(y, approximate="tanh" if activation == "gelu_tanh" else "none")
        return y

    def _product(self, codes: Tensor, bias: Tensor | None, activation: str) -> Tensor:
        post, _, kind = activation.partition("_")
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            codes, self.code.scale, self.code.zero, self._packed, self._steps, self._zeros, bias,
            1.0, 0, torch.float32, post, [], kind or "none",
        )  # fmt: skip
        return product


def _choose_code(weight: Tensor, sample: Tensor, activation: str) -> tuple[InputCode, Tensor]:
    """How inputs are written, and which channels stay in float32."""
    far_out = _far_out(sample)
    near_weight, near = _without(weight, far_out), _without(sample, far_out)
    # Ranges are learnt from one half of the sample and judged by the other.
    fixed_error = _error(FixedCode(sample[::2], weight), sample[1::2], weight)
    row_error = _error(RowCode(near[::2]), near[1::2], near_weight)
    if fixed_error <= ROW_ADVANTAGE[activation != "none"] * row_error:
        return FixedCode(sample, weight), far_out[:0]
    return RowCode(near), far_out


def _far_out(sample: Tensor) -> Tensor:
    """Numbers of the few channels that reach much farther than most."""
    reach = sample.abs().amax(0)
    far, channels = reach.topk(min(MOST_FAR_OUT, len(reach) - 1))
    return channels[far > FAR_OUT * reach.median()].sort().values


def _without(columns: Tensor, channels: Tensor) -> Tensor:
    return columns.index_fill(1, channels, 0.0)


def _error(code: InputCode, sample: Tensor, weight: Tensor) -> float:
    """Size of the error that the code of the input makes in the output, over some of the sample."""
    sample = sample[:: max(1, len(sample) // JUDGED_ROWS)]
    return float(((decoded(code, sample) - sample) @ weight.t()).norm())
