"""A layer by tiles gives what the weights, rounded to bfloat16, give in exact arithmetic, rounded once."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from wordstill.teacher import device
from wordstill.teacher.amx import AmxLinear

pytestmark = pytest.mark.usefixtures("tiles")
ROWS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257, 300]


def layer(inputs, outputs, *, bias=True, dtype=torch.bfloat16):
    torch.manual_seed(0)
    return nn.Linear(inputs, outputs, bias=bias, dtype=dtype)


def exactly(linear, x, gelu=False):
    weight = linear.weight.detach().bfloat16().double()
    bias = None if linear.bias is None else linear.bias.detach().double()
    result = nn.functional.linear(x.double(), weight, bias)
    return nn.functional.gelu(result) if gelu else result


def assert_rounded_once(result, expected):
    assert result.dtype is torch.bfloat16
    torch.testing.assert_close(result.double(), expected, rtol=2**-8, atol=2e-5)


@pytest.mark.parametrize("gelu", [False, True], ids=["plain", "gelu"])
@pytest.mark.parametrize("rows", ROWS)
def test_any_number_of_rows(rows, gelu):
    linear = layer(96, 64)
    x = torch.randn(rows, 96).bfloat16()
    assert_rounded_once(AmxLinear(linear, gelu=gelu)(x), exactly(linear, x, gelu))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("sizes", [(32, 32), (32, 160), (160, 32), (1536, 384), (1024, 1056)], ids=str)
def test_any_size(sizes, bias):
    """The last is too large for the cache of a core."""
    linear = layer(*sizes, bias=bias)
    x = torch.randn(300, sizes[0]).bfloat16()
    assert_rounded_once(AmxLinear(linear)(x), exactly(linear, x))


def test_any_shape_and_stride():
    linear = layer(64, 32)
    tiled = AmxLinear(linear)
    for x in (torch.randn(64), torch.randn(2, 3, 64), torch.randn(64, 5).t(), torch.randn(4, 128)[:, ::2]):
        x = x.bfloat16()
        assert tiled(x).shape == (*x.shape[:-1], 32)
        assert_rounded_once(tiled(x), exactly(linear, x))
    assert tiled(torch.empty(0, 64, dtype=torch.bfloat16)).shape == (0, 32)


def test_a_row_does_not_depend_on_the_others():
    tiled = AmxLinear(layer(384, 96), gelu=True)
    x = torch.randn(131, 384).bfloat16()
    whole = tiled(x)
    assert all(torch.equal(whole[row : row + 1], tiled(x[row : row + 1])) for row in range(len(x)))
    assert torch.equal(whole[50:], tiled(x[50:]))


def test_several_threads_give_the_same():
    tiled = AmxLinear(layer(384, 96))
    x = torch.randn(1001, 384).bfloat16()
    alone = tiled(x)
    try:
        torch.set_num_threads(3)
        assert torch.equal(tiled(x), alone)
    finally:
        torch.set_num_threads(1)


def test_gelu_over_its_whole_range():
    linear = nn.Linear(32, 32, bias=False, dtype=torch.bfloat16)
    nn.init.eye_(linear.weight)
    x = torch.cat([torch.linspace(-9, 9, 4000), torch.logspace(-30, 38, 96), -torch.logspace(-30, 38, 96)])
    x = x.bfloat16().view(-1, 32)
    result, expected = AmxLinear(linear, gelu=True)(x).double(), nn.functional.gelu(x.double())
    torch.testing.assert_close(result, expected, rtol=2**-8, atol=1e-6)


@pytest.mark.parametrize("gelu", [False, True], ids=["plain", "gelu"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_stays_so(bad, gelu):
    linear = layer(64, 64)
    x = torch.randn(40, 64).bfloat16()
    x[7, 3] = bad
    result = AmxLinear(linear, gelu=gelu)(x)
    # An infinity below zero is nothing after gelu.
    lost = gelu and exactly(linear, x)[7] == -torch.inf
    assert (~torch.isfinite(result[7]) | lost).all()
    others = torch.arange(40) != 7
    assert_rounded_once(result[others], exactly(linear, x, gelu)[others])


def test_state_dict_gives_the_weights_back():
    for bias in (True, False):
        linear = layer(96, 64, bias=bias)
        before, after = linear.state_dict(), AmxLinear(linear).state_dict()
        assert before.keys() == after.keys()
        assert all(torch.equal(before[name], after[name]) for name in before)


def test_what_is_no_linear_layer():
    with pytest.raises(TypeError, match="Embedding is not a linear layer"):
        AmxLinear(nn.Embedding(32, 32))


def test_copies_give_the_same():
    tiled, x = AmxLinear(layer(64, 32, dtype=torch.float32)), torch.randn(5, 64).bfloat16()
    assert torch.equal(copy.deepcopy(tiled)(x), tiled(x))


def test_wrong_inputs():
    tiled = AmxLinear(layer(64, 32))
    with pytest.raises(TypeError, match=r"needs bfloat16, got torch\.float32"):
        tiled(torch.randn(3, 64))
    with pytest.raises(ValueError, match="needs 64 numbers per row, got 32"):
        tiled(torch.randn(3, 32).bfloat16())


@pytest.mark.parametrize("rows", [1, 17, 32, 33])
def test_memory_beyond_its_own_is_not_touched(rows, tiles, at_the_edge):
    weight = at_the_edge(torch.randn(32, 64).bfloat16())
    x, y = (at_the_edge(torch.zeros(rows, size).bfloat16()) for size in (64, 32))
    bias = at_the_edge(torch.ones(32))
    assert device.survives(lambda: tiles.linear(x, weight, bias, y, gelu=False))
