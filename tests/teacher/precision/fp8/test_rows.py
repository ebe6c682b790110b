"""Rows in 8-bit floating point: how far off they are, and what becomes of odd ones."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import gelu

from wordstill.teacher.precision.fp8.rows import LARGEST, SMALLEST_REACH, fp8_rows, plain_rows

ODD = float("inf"), -float("inf"), float("nan")


def rows(width=64):
    """Bfloat16 rows from very small to very large."""
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(9, width, generator=generator) * torch.logspace(-20, 20, 9)[:, None]).bfloat16()


def test_every_number_is_right_to_half_a_step():
    x = rows(512).float()
    codes, scales = fp8_rows(x)
    assert (codes.dtype, codes.shape, scales.shape) == (torch.float8_e4m3fn, x.shape, (9, 1))
    # Three bits of fraction; below 2**-6 of a scale steps are all the same.
    allowed = (x.abs() / 16).maximum(scales * 2**-10) * 1.0001
    assert ((codes.float() * scales - x).abs() <= allowed).all()
    assert codes.float().abs().amax(1).tolist() == [LARGEST] * 9


def test_rows_of_nothing():
    codes, scales = fp8_rows(torch.tensor([[0.0, -0.0], [1e-38, 0.0]]))
    assert codes.float().abs().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert scales.flatten().tolist() == pytest.approx([SMALLEST_REACH / LARGEST] * 2)


@pytest.mark.parametrize("activation", ["none", "gelu", "gelu_tanh"])
@pytest.mark.parametrize("odd", ODD)
def test_what_is_not_finite_stays_so(odd, activation):
    x = rows()[3:6]
    x[1, 7] = odd
    codes, scales = fp8_rows(x, activation)
    finite = torch.isfinite(codes.float() * scales).all(1)
    assert finite.tolist() == [True, False, True]


@pytest.mark.parametrize(("activation", "kind"), [("gelu", "none"), ("gelu_tanh", "tanh")])
def test_the_activation_comes_first(activation, kind):
    x = rows()
    one = plain_rows(x, activation)
    other = plain_rows(gelu(x.float(), approximate=kind), "none")
    assert all(torch.equal(first.float(), second.float()) for first, second in zip(one, other))
