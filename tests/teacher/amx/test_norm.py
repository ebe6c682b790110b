"""Endings of blocks by tiles: the norm of a sum in exact arithmetic, rounded once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from wordstill.teacher.amx import AmxLinear
from wordstill.teacher.amx.amx_layers import AmxNorm, ends_in_norm

pytestmark = pytest.mark.usefixtures("tiles")


class Ending(nn.Module):
    """As BERT has it."""

    def __init__(self, inputs=64, outputs=96, **settings):
        super().__init__()
        torch.manual_seed(0)
        self.dense = AmxLinear(nn.Linear(inputs, outputs).bfloat16())
        self.LayerNorm = nn.LayerNorm(outputs, eps=1e-3, dtype=torch.bfloat16, **settings)
        self.dropout = nn.Dropout(0.1)
        for parameter in self.LayerNorm.parameters():
            parameter.data.normal_()
        self.eval()

    def forward(self, hidden_states, input_tensor):
        return self.LayerNorm(self.dropout(self.dense(hidden_states)) + input_tensor)


class WithoutSum(Ending):
    def forward(self, hidden_states, input_tensor):
        return self.LayerNorm(self.dense(hidden_states))


class NormFirst(Ending):
    def forward(self, hidden_states, input_tensor):
        return self.LayerNorm(self.dense(hidden_states)) + input_tensor


class OtherNames(Ending):
    def forward(self, hidden_states, residual):
        return super().forward(hidden_states, residual)


class OneMore(Ending):
    def __init__(self):
        super().__init__()
        self.more = nn.Identity()


def exactly(ending, hidden, given):
    norm, linear = ending.LayerNorm, ending.dense
    values = linear(hidden).double() + given.double()
    return nn.functional.layer_norm(values, norm.normalized_shape, norm.weight.double(), norm.bias.double(), norm.eps)


@pytest.mark.parametrize("outputs", [32, 96, 384, 1024])
@pytest.mark.parametrize("rows", [1, 2, 31, 33, 300])
def test_norms_of_sums(rows, outputs):
    ending = Ending(outputs=outputs)
    hidden, given = torch.randn(rows, 64).bfloat16(), torch.randn(rows, outputs).bfloat16()
    result = AmxNorm(ending)(hidden, given)
    assert result.dtype is torch.bfloat16
    torch.testing.assert_close(result.double(), exactly(ending, hidden, given), rtol=2**-7, atol=1e-3)


def test_any_shape_and_stride_and_the_input_stays():
    ending = Ending()
    hidden, given = torch.randn(2, 3, 64).bfloat16(), torch.randn(96, 6).bfloat16().t().view(2, 3, 96)
    before = given.clone()
    result = AmxNorm(ending)(hidden, given)
    torch.testing.assert_close(result.double(), exactly(ending, hidden, given), rtol=2**-7, atol=1e-3)
    assert torch.equal(given, before)


def test_rows_at_the_end_of_memory(tiles, at_the_edge):
    values, added = (at_the_edge(torch.randn(5, 96).bfloat16()) for _ in range(2))
    weight, bias = (at_the_edge(torch.randn(96)) for _ in range(2))
    expected = nn.functional.layer_norm(values.float() + added.float(), (96,), weight, bias, 1e-5)
    tiles.norm(values, added, weight, bias, 1e-5)
    torch.testing.assert_close(values.float(), expected, rtol=2**-7, atol=1e-3)


def test_equal_numbers_and_broken_ones(tiles):
    values, added = torch.full((3, 32), 2.0).bfloat16(), torch.zeros(3, 32).bfloat16()
    added[1, 4], added[2, 5] = torch.nan, torch.inf
    tiles.norm(values, added, torch.ones(32), torch.full((32,), 0.5), 1e-5)
    assert bool((values[0] == 0.5).all())
    assert bool(values[1:].isnan().all())


def test_weights_keep_their_names():
    ending = Ending()
    before = ending.state_dict()
    after = AmxNorm(ending).state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("make", "fits"),
    [
        (Ending, True),
        (lambda: Ending(outputs=8192), True),
        (lambda: Ending(outputs=8224), False),
        (lambda: Ending(bias=False), False),
        (WithoutSum, False),
        (NormFirst, False),
        (OtherNames, False),
        (OneMore, False),
        (lambda: nn.Sequential(nn.LayerNorm(4)), False),
    ],
    ids=["BERT", "widest", "too wide", "no bias", "no sum", "norm first", "names", "more", "no linear"],
)
def test_what_it_can_stand_in_for(make, fits):
    with torch.no_grad():
        assert ends_in_norm(make()) is fits
