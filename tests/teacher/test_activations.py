"""The activation that is kept out of what is compiled."""

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from wordstill.teacher.forward import PlainGelu, use_plain_gelu


@pytest.mark.parametrize("activation", [nn.GELU(), ACT2FN["gelu"]], ids=["torch", "transformers"])
def test_an_exact_gelu_is_replaced_wherever_it_is_and_gives_the_same(activation):
    model = nn.Sequential(nn.Linear(4, 8), nn.Sequential(activation, nn.Linear(8, 2)))
    values = torch.randn(5, 4)
    before = model(values)
    use_plain_gelu(model)
    assert isinstance(model[1][0], PlainGelu)
    assert torch.equal(model(values), before)


@pytest.mark.parametrize("activation", [nn.GELU(approximate="tanh"), nn.ReLU(), ACT2FN["gelu_new"]])
def test_others_stay(activation):
    model = nn.Sequential(nn.Linear(4, 8), activation)
    use_plain_gelu(model)
    assert model[1] is activation
