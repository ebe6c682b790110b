"""Rows in 8-bit floating point by the kernel against those without it; interpreted without a GPU."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton", reason="needs triton")
import triton.language as tl

from wordstill.teacher.precision.fp8.rows import CODE, plain_rows
from wordstill.teacher.precision.fp8.rows_kernels import rows_by_kernel

GPU = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 9)
DEVICE = "cuda" if GPU else "cpu"
# The interpreter warns of what a GPU does silently.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def right_rounding(monkeypatch):
    """The interpreter rounds to 8 bits without carrying into the exponent, and knows no NaN there."""
    if GPU:
        return
    from triton.runtime import interpreter

    usual = interpreter._convert_float

    def convert(values, source, target, mode):
        if target is not tl.float8e4nv:
            return usual(values, source, target, mode)
        return torch.from_numpy(values.copy()).to(CODE).view(torch.uint8).numpy()

    monkeypatch.setattr(interpreter, "_convert_float", convert)


def rows(count, width):
    """Bfloat16 rows from small to large, one of them of zeros, and one with very different numbers."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(count, width, generator=generator) * torch.logspace(-3, 2, count)[:, None]
    x[-1] = 0
    x[0] *= torch.logspace(-6, 3, width)
    return x.bfloat16().to(DEVICE)


@pytest.mark.parametrize(("count", "width"), [(5, 48), (9, 384), (6, 768), (3, 3072), (2, 5000)])
def test_the_same_bits(count, width):
    x = rows(count, width)
    codes, scales = rows_by_kernel(x, "none")
    expected, expected_scales = plain_rows(x.cpu(), "none")
    assert torch.equal(scales.cpu(), expected_scales)
    assert torch.equal(codes.cpu().view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_activations(activation):
    """The kernel's are right to some 1e-7, so few codes fall on the other side of a middle."""
    x = rows(6, 768)
    x[1] = torch.linspace(-12, 12, 768)
    codes, scales = rows_by_kernel(x, activation)
    expected, expected_scales = plain_rows(x.cpu(), activation)
    torch.testing.assert_close(scales.cpu(), expected_scales, rtol=1e-6, atol=0)
    found, wanted = codes.cpu().float(), expected.float()
    assert (found != wanted).float().mean() < 2e-3
    assert ((found - wanted).abs() <= (wanted.abs() / 8).clamp(min=2**-9)).all()


def test_rows_that_do_not_lie_together():
    x = rows(5, 96)
    codes, _ = rows_by_kernel(x[:, 16:80], "none")
    assert torch.equal(codes.cpu().float(), plain_rows(x[:, 16:80].cpu(), "none")[0].float())


@pytest.mark.parametrize("activation", ["none", "gelu", "gelu_tanh"])
def test_what_is_not_finite_stays_so(activation):
    x = rows(6, 768)
    for row, odd in enumerate((float("inf"), -float("inf"), float("nan"))):
        x[row, 7] = odd
    codes, scales = rows_by_kernel(x, activation)
    finite = torch.isfinite(codes.float() * scales).all(1)
    assert finite.tolist() == [False] * 3 + [True] * 3
