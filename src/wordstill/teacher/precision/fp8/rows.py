"""Rows of numbers in 8-bit floating point, each with a scale of its own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import gelu

CODE = torch.float8_e4m3fn
"""Four bits of exponent and three of fraction; no infinity."""
LARGEST = 448.0
SMALLEST_REACH = 2.0**-100
"""Rows of smaller numbers are as good as zero."""


def fp8_rows(x: Tensor, activation: str = "none") -> tuple[Tensor, Tensor]:
    """Codes [n, K] and scales [n, 1] float32, whose product is nearly the activation of ``x`` [n, K].

    The largest number of a row gets the largest code. A row with a number that is not finite has a code or a
    scale that is not finite either.

    Args:
        x: Numbers of any kind.
        activation: ``none``, ``gelu`` or ``gelu_tanh``.
    """
    kernel = _kernel() if x.is_cuda else None
    return plain_rows(x, activation) if kernel is None else kernel(x, activation)


def plain_rows(x: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """`fp8_rows` without a kernel."""
    values = x.float()
    if activation != "none":
        values = gelu(values, approximate="tanh" if activation == "gelu_tanh" else "none")
    reach = values.abs().amax(1, keepdim=True).clamp(min=SMALLEST_REACH)
    # A number divided by a tensor would be its reciprocal times the number, rounded twice.
    factor = torch.full_like(reach, LARGEST) / reach
    return (values * factor).to(CODE), reach / LARGEST


def _kernel() -> Callable[[Tensor, str], tuple[Tensor, Tensor]] | None:
    try:
        from wordstill.teacher.precision.fp8.rows_kernels import rows_by_kernel
    except ImportError:
        return None
    return rows_by_kernel
