from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from wordstill.errors import TeacherError, UsageError
from wordstill.teacher.blocks import blocks_of
from wordstill.teacher.precision.closeness import agreement
from wordstill.teacher.precision.fp8 import fp8_if_close, fp8_model, model, refuse_without_fp8
from wordstill.teacher.precision.fp8.linear import Fp8Linear, LinearPart
from wordstill.teacher.precision.linears import linear_weight

DEPTH, PIECES = 3, torch.arange(5, 35)
CUDA = torch.device("cuda")


@pytest.fixture
def make(tiny_model):
    def half(kind="bert-uncased"):
        # A new model's states hardly depend on what its blocks do.
        model = tiny_model(kind).to(torch.bfloat16)
        for module in model.modules():
            if linear_weight(module) is not None:
                module.weight.data *= 5
        return model

    return half


@pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "gpt2", "llama3", "modernbert"])
def test_every_linear_layer_of_the_blocks_is_replaced(make, kind):
    exact = make(kind)
    before = copy.deepcopy(exact.state_dict())
    changed = fp8_model(exact, PIECES, DEPTH, "tiny")
    inside = [module for block in blocks_of(changed, DEPTH) for module in block.modules()]
    assert not [module for module in inside if linear_weight(module) is not None]
    assert [module for module in inside if isinstance(module, Fp8Linear)]
    assert 0.99 < agreement(exact, changed, PIECES, DEPTH) < 0.99999
    assert all(torch.equal(before[name], weight) for name, weight in exact.state_dict().items())
    assert changed.dtype is torch.bfloat16
    assert changed.get_input_embeddings().weight is exact.get_input_embeddings().weight


def test_layers_with_one_input_are_one_product_and_activations_come_before_it(make):
    block = fp8_model(make(), PIECES, DEPTH, "tiny").encoder.layer[1]
    attention = block.attention.self
    parts = [attention.query, attention.key, attention.value]
    assert all(isinstance(part, LinearPart) for part in parts)
    assert len({id(part.shared) for part in parts}) == 1
    assert isinstance(block.intermediate.intermediate_act_fn, nn.Identity)
    kinds = [layer.activation for layer in (block.intermediate.dense, block.output.dense)]
    assert kinds == ["none", "gelu"]


def test_activations_of_gpt2(make):
    block = fp8_model(make("gpt2"), PIECES, DEPTH, "tiny").h[1]
    assert (block.mlp.c_fc.activation, block.mlp.c_proj.activation) == ("none", "gelu_tanh")


def test_layers_of_odd_sizes_stay(make):
    exact = make()
    for layer in exact.encoder.layer:
        layer.intermediate.dense = nn.Linear(32, 40, dtype=torch.bfloat16)
        layer.output.dense = nn.Linear(40, 32, dtype=torch.bfloat16)
    block = fp8_model(exact, PIECES, DEPTH, "tiny").encoder.layer[0]
    assert type(block.intermediate.dense) is type(block.output.dense) is nn.Linear
    assert not isinstance(block.intermediate.intermediate_act_fn, nn.Identity)
    assert isinstance(block.attention.output.dense, Fp8Linear)


def test_models_without_such_layers(make):
    with pytest.raises(TeacherError, match="tiny cannot run in fp8: its 5 layers are not a list"):
        fp8_model(make(), PIECES, 5, "tiny")
    with pytest.raises(TeacherError, match="tiny cannot run in fp8: no layer's sizes are multiples of 16"):
        fp8_model(make().float(), PIECES, DEPTH, "tiny")


def test_models_that_change_too_much_stay_in_bfloat16(make, monkeypatch):
    monkeypatch.setattr(model, "CLOSE_ENOUGH", 1.5)
    exact = make()
    with pytest.warns(UserWarning, match=r"tiny stays in bfloat16, .* a mean cosine of only \d\.\d{4} with"):
        assert fp8_if_close(exact, PIECES, DEPTH, "tiny") is exact


def test_models_that_look_at_their_weights_stay_in_bfloat16(make):
    exact = make("t5")
    with pytest.warns(UserWarning, match=r"tiny stays in bfloat16, which takes longer: \w+"):
        assert fp8_if_close(exact, PIECES, DEPTH, "tiny") is exact


@pytest.mark.parametrize(("capability", "works"), [((8, 0), False), ((8, 9), True), ((9, 0), True)])
def test_which_gpus_have_it(capability, works, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda place: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: "Some GPU")
    if works:
        refuse_without_fp8(CUDA, "tiny")
        return
    with pytest.raises(UsageError, match=r"Some GPU has compute capability 8\.0, and 8\.9 .* dtype auto"):
        refuse_without_fp8(CUDA, "tiny")


def test_a_cpu_has_it_not():
    with pytest.raises(UsageError, match=r"tiny cannot run in fp8 on cpu: .* dtype auto"):
        refuse_without_fp8(torch.device("cpu"), "tiny")
