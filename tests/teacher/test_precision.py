"""A model in its precision: sorted weights give what it gave before, and models that cannot bear them keep theirs."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from wordstill.errors import UsageError
from wordstill.teacher.layers import blocks_of
from wordstill.teacher.precision import SortedLinear, in_precision, with_sorted_weights

CPU, DEPTH = torch.device("cpu"), 3
SUBWORDS = torch.tensor([2, 7, 9, 5, 8, 3])


@pytest.fixture(params=["bert-uncased", "roberta", "gpt2", "llama3", "modernbert", "t5", "albert"])
def model(request, tiny_model):
    return tiny_model(request.param)


def layers_of(model):
    return [m for block in blocks_of(model, DEPTH) or [] for m in block.modules() if type(m) is nn.Linear]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 5, 17), (4, 17), (2, 3, 17)])
def test_a_layer(shape, bias):
    torch.manual_seed(0)
    linear = nn.Linear(17, 33, bias=bias)
    given = torch.randn(shape)
    torch.testing.assert_close(SortedLinear(linear)(given), linear(given))


def test_every_model_gives_the_same_states_and_has_the_same_weights(model):
    before = copy.deepcopy(model.state_dict())
    changed = with_sorted_weights(model, SUBWORDS, DEPTH)
    with torch.inference_mode():
        one, other = (each(input_ids=SUBWORDS[None]).last_hidden_state for each in (model, changed))
    torch.testing.assert_close(other, one)
    for after in (model.state_dict(), changed.state_dict()):
        assert before.keys() == after.keys()
        assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_layers_of_blocks_are_replaced(tiny_model):
    model = tiny_model("bert-uncased")
    changed = with_sorted_weights(model, SUBWORDS, DEPTH)
    assert not layers_of(changed)
    count = sum(isinstance(module, SortedLinear) for module in changed.modules())
    assert count == len(layers_of(model)) == 6 * DEPTH
    assert type(changed.pooler.dense) is nn.Linear
    assert changed.get_input_embeddings().weight is model.get_input_embeddings().weight


def without_operators(monkeypatch):
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace())


def with_other_results(monkeypatch):
    monkeypatch.setattr(SortedLinear, "forward", lambda self, x: torch.ones(*x.shape[:-1], self.out_features))


def with_errors(monkeypatch):
    monkeypatch.setattr(SortedLinear, "forward", lambda self, x: self.weight @ x)


@pytest.mark.parametrize("trouble", [without_operators, with_other_results, with_errors])
def test_a_model_stays_as_it_is(trouble, tiny_model, monkeypatch):
    trouble(monkeypatch)
    model = tiny_model("bert-uncased")
    assert with_sorted_weights(model, SUBWORDS, DEPTH) is model
    assert len(layers_of(model)) == 6 * DEPTH


def test_float32_on_a_cpu_has_sorted_weights(tiny_model):
    found = in_precision(tiny_model("bert-uncased"), "float32", CPU, SUBWORDS, DEPTH, "tiny")
    assert found.dtype is torch.float32
    assert any(isinstance(module, SortedLinear) for module in found.modules())


@pytest.mark.parametrize("name", ["int8", "fp8"])
def test_an_unknown_precision(tiny_model, name):
    with pytest.raises(UsageError, match=f"Unknown dtype '{name}'.* auto, bfloat16, float16, float32\\."):
        in_precision(tiny_model("bert-uncased"), name, CPU, SUBWORDS, DEPTH, "tiny")
