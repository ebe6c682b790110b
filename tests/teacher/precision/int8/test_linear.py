from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cosine_similarity, gelu, linear

from wordstill.teacher.precision.int8 import cpu_multiplies_int8, rounding
from wordstill.teacher.precision.int8.inputs import FixedCode, RowCode, decoded
from wordstill.teacher.precision.int8.linear import Int8Linear
from wordstill.teacher.precision.int8.rounding import round_weights


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def int8():
    if not cpu_multiplies_int8():
        pytest.skip("this processor has no working instructions for 8-bit products")


def normalised(rows=400, width=48):
    """Rows of one size, with a few channels that are always large."""
    return torch.randn(rows, width) * torch.ones(width).index_fill(0, torch.tensor([3, 7]), 3.0) + 0.5


def activated(rows=400, width=48):
    """Rows of very different sizes, mostly above zero, with one channel that is sometimes huge."""
    sample = gelu(torch.randn(rows, width) * torch.rand(rows, 1) * 4)
    sample[::50, 5] = 60.0
    return sample


@pytest.mark.parametrize(("make", "bound"), [(normalised, 0.1), (lambda: torch.randn(50, 6), 0.02)])
def test_fixed_codes_are_as_near_as_their_steps(make, bound):
    sample = make()
    code = FixedCode(sample, torch.randn(9, sample.shape[1]))
    difference = (decoded(code, sample) - sample).abs()
    assert bool((difference <= code.factors * code.scale * 1.01).all())
    assert float(difference.max()) <= bound


@pytest.mark.parametrize("make", [activated, normalised, lambda: torch.rand(40, 5) + 1])
def test_codes_by_row_are_as_near_as_their_steps(make):
    sample = make()
    code = RowCode(sample)
    steps = code(sample)[1]
    assert bool(((decoded(code, sample) - sample).abs() <= steps * 1.01).all())
    reach = sample.abs().amax(1, keepdim=True)
    assert bool((steps <= torch.maximum(reach / 127, torch.tensor(code._least_step)) * 1.01).all())


@pytest.mark.parametrize("make", [FixedCode, lambda sample, weight: RowCode(sample)], ids=["fixed", "row"])
def test_numbers_beyond_the_sample_are_cut_off(make):
    sample = torch.randn(200, 8)
    code = make(sample, torch.randn(4, 8))
    far = torch.tensor([[1e9] * 8, [-1e9] * 8, [0.0] * 8])
    assert float(decoded(code, far).abs().max()) < 10


def test_rounded_weights_err_less_over_the_inputs_than_the_nearest_ones():
    inputs = torch.randn(500, 4) @ torch.randn(4, 32) + 0.1 * torch.randn(500, 32)
    weight = torch.randn(20, 32)
    rounded, steps = round_weights(weight, inputs)
    nearest = (weight / steps[:, None]).round() * steps[:, None]
    ours = rounded.float() * steps[:, None]
    assert int(rounded.abs().max()) <= 127
    assert float((inputs @ (ours - weight).T).norm()) < 0.5 * float((inputs @ (nearest - weight).T).norm())
    assert float((ours - weight).abs().max() / steps.max()) < 4


def test_the_factor_of_the_inverse(monkeypatch):
    monkeypatch.setattr(rounding, "MOST_INPUTS", 200)
    inputs = torch.randn(399, 8) @ torch.randn(8, 8)
    factor = rounding._inverse_factor(inputs)
    seen = inputs[::2].double()
    moment = seen.T @ seen / len(seen)
    moment += rounding.DAMPING * moment.diagonal().mean() * torch.eye(8)
    assert torch.equal(factor, factor.triu())
    torch.testing.assert_close((factor.T @ factor).double(), torch.linalg.inv(moment), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("make", [normalised, activated, lambda: torch.randn(300, 48)])
@pytest.mark.parametrize("activation", ["none", "gelu", "gelu_tanh"])
def test_a_layer_stays_close(int8, make, activation):
    sample, weight, bias = make(), torch.randn(24, 48), torch.randn(24)
    layer = Int8Linear(weight, bias, sample, activation)
    expected = linear(sample, weight, bias)
    if activation != "none":
        expected = gelu(expected, approximate="tanh" if activation == "gelu_tanh" else "none")
    got = layer(sample.view(-1, 10, 48)).view(-1, 24)
    assert float((got - expected).norm() / expected.norm()) < 0.03
    assert float(cosine_similarity(got, expected).mean()) > 0.998


def test_which_code_is_taken(int8):
    weight = torch.randn(24, 48)
    fixed, by_row = (Int8Linear(weight, None, make()) for make in (normalised, activated))
    assert (type(fixed.code), len(fixed._far_out)) == (FixedCode, 0)
    assert (type(by_row.code), by_row._far_out.tolist()) == (RowCode, [5])


@pytest.mark.parametrize("make", [normalised, activated])
def test_a_row_does_not_depend_on_the_others(int8, make):
    sample = make()
    layer = Int8Linear(torch.randn(24, 48), None, sample)
    together = layer(sample)
    for rows in (slice(0, 1), slice(7, 40), slice(0, None, 3)):
        torch.testing.assert_close(layer(sample[rows]), together[rows], rtol=1e-5, atol=1e-4)


def test_the_mean_is_set_right(int8):
    sample, weight = activated(), torch.randn(24, 48)
    layer = Int8Linear(weight, None, sample)
    shifted = sample + 0.1
    layer.set_mean_right(shifted)
    torch.testing.assert_close(layer(shifted).mean(0), (sample @ weight.T).mean(0), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("make", [normalised, activated])
def test_sums_are_exact(int8, make):
    """What is given back is the product of the decoded numbers; nothing but the codes is rounded."""
    sample, weight, bias = make(), torch.randn(24, 48), torch.randn(24)
    layer = Int8Linear(weight, bias, sample)
    near, near_weight = (each.index_fill(1, layer._far_out, 0) for each in (sample, weight))
    inputs = decoded(layer.code, sample).index_fill(1, layer._far_out, 0)
    seen = decoded(layer.code, near) - layer.code.centre
    rounded, steps = round_weights(near_weight * layer.code.factors, seen / layer.code.factors)
    used = rounded.float() * steps[:, None] / layer.code.factors
    expected = linear(inputs, used, bias) + linear(sample - near, weight)
    torch.testing.assert_close(layer(sample), expected, rtol=1e-3, atol=2e-3)
