from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import cosine_similarity, gelu

from wordstill.teacher.precision.fp8.linear import Fp8Linear, joined, parts_of
from wordstill.teacher.precision.fp8.rows import fp8_rows

GPU = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 9)
DEVICE = "cuda" if GPU else "cpu"


@pytest.fixture
def layer():
    """Weight, bias and some inputs."""
    generator = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(96, 64, generator=generator), torch.randn(96, generator=generator)
    x = torch.randn(1, 45, 64, generator=generator) * torch.logspace(-2, 2, 45)[None, :, None]
    return [each.bfloat16().to(DEVICE) for each in (weight, bias, x)]


@pytest.mark.parametrize("activation", ["none", "gelu", "gelu_tanh"])
def test_the_product_is_that_of_the_codes(layer, activation):
    weight, bias, x = layer
    found = Fp8Linear(weight, bias, activation)(x)
    assert (found.dtype, found.shape) == (torch.bfloat16, (1, 45, 96))
    (rows, steps), (columns, scales) = fp8_rows(x[0], activation), fp8_rows(weight)
    exact = (rows.double() * steps) @ (columns.double() * scales).t() + bias.double()
    # Rounded to bfloat16 once; sums on a GPU are kept in 22 bits or so.
    torch.testing.assert_close(found[0].double(), exact, rtol=2**-8, atol=float(exact.abs().max()) * 1e-4)


def test_it_is_close_to_the_layer(layer):
    weight, bias, x = layer
    found = Fp8Linear(weight, bias, "gelu")(x)
    expected = gelu(x.double()) @ weight.double().t() + bias.double()
    assert cosine_similarity(found.double(), expected, dim=-1).min() > 0.998


def test_a_row_does_not_depend_on_the_others(layer):
    weight, bias, x = layer
    product = Fp8Linear(weight, bias)
    torch.testing.assert_close(product(x)[:, 7:9], product(x[:, 7:9]))


@pytest.mark.parametrize("odd", [float("inf"), float("nan")])
def test_what_is_not_finite_stays_so(layer, odd):
    weight, bias, x = layer
    x[0, 3, 5] = odd
    finite = torch.isfinite(Fp8Linear(weight, bias)(x)).all(-1)[0]
    assert finite.tolist() == [row != 3 for row in range(45)]


def test_the_operator_is_what_it_says(layer):
    weight, bias, x = layer
    product = Fp8Linear(weight, bias)
    torch.library.opcheck(
        torch.ops.wordstill.fp8_linear.default,
        (x, product.codes, product.scales, product.bias, "gelu"),
        test_utils="test_faketensor",
    )


class Attention(nn.Module):
    def __init__(self, product):
        super().__init__()
        self.query, self.key, self.value = parts_of(product, [32] * 3)

    def forward(self, x):
        return (self.query(x) @ self.key(x).mT).softmax(-1) @ self.value(x)


def test_compiled_it_is_one_graph_for_every_number_of_rows(layer):
    weight, bias, x = layer
    attention, graphs = Attention(Fp8Linear(weight, bias)), []

    def backend(graph, _):
        graphs.append(graph)
        return graph

    inputs = [x[:, :count].clone(memory_format=torch.contiguous_format) for count in (45, 30, 7)]
    expected = [attention(each) for each in inputs]
    attention.compile(dynamic=True, fullgraph=True, backend=backend)
    with torch.inference_mode():
        found = [attention(each) for each in inputs]
    assert all(torch.equal(one, other) for one, other in zip(found, expected))
    assert len(graphs) == 1
    products = [node for node in graphs[0].graph.nodes if "fp8_linear" in str(node.target)]
    assert len(products) == 1


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
