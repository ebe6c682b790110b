from __future__ import annotations

import pytest
import torch
from torch import nn

from wordstill.teacher.precision.linears import joined, linear_weight, parts_of


class Counting(nn.Module):
    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias, self.calls = weight, bias, 0

    def forward(self, x):
        self.calls += 1
        return nn.functional.linear(x, self.weight, self.bias)


@pytest.fixture
def layers():
    torch.manual_seed(0)
    return [nn.Linear(8, 3), nn.Linear(8, 5, bias=False), nn.Linear(8, 4)]


def test_one_product_gives_what_each_layer_gave(layers):
    weight, bias, sizes = joined(layers)
    product = Counting(weight, bias)
    parts = parts_of(product, sizes)
    for round_number in (1, 2):
        x = torch.randn(2, 6, 8)
        for part, layer in zip(parts, layers):
            torch.testing.assert_close(part(x), layer(x))
        assert product.calls == round_number
    assert parts[0].shared._last.result is None


def test_another_input_is_another_product(layers):
    weight, bias, sizes = joined(layers)
    first, second, _ = parts_of(Counting(weight, bias), sizes)
    one, other = torch.randn(6, 8), torch.randn(6, 8)
    torch.testing.assert_close(first(one), layers[0](one))
    torch.testing.assert_close(second(other), layers[1](other))


def test_one_layer_is_the_product_itself(layers):
    weight, bias, sizes = joined(layers[:1])
    product = Counting(weight, bias)
    assert parts_of(product, sizes) == [product]


def test_weights_of_gpt2_lie_the_other_way(tiny_model):
    layer = tiny_model("gpt2").h[0].attn.c_attn
    x = torch.randn(5, 32)
    torch.testing.assert_close(nn.functional.linear(x, linear_weight(layer), layer.bias), layer(x))
    assert linear_weight(nn.LayerNorm(4)) is None
