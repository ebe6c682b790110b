from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from wordstill.errors import TeacherError
from wordstill.teacher.loading import load_model_and_tokenizer
from wordstill.teacher.precision.closeness import agreement
from wordstill.teacher.precision.int8 import cpu_multiplies_int8, int8_if_close, int8_model
from wordstill.teacher.precision.int8 import model as int8
from wordstill.teacher.precision.int8.linear import Int8Linear
from wordstill.teacher.precision.int8.sample import RangeSample
from wordstill.teacher.precision.linears import LinearPart
from wordstill.teacher.subwords.tokenisation import Subwords

DEPTH = 3
TEXT = (
    "The old still stands in the small house by the river. Nobody has moved it since 1923, when the last "
    "owner went to sea; his letters, forty of them, lie in a box under the stairs. "
)


@pytest.fixture
def works():
    if not cpu_multiplies_int8():
        pytest.skip("this processor has no working instructions for 8-bit products")


def random_texts(model, count=40):
    generator = torch.Generator().manual_seed(0)
    size = model.get_input_embeddings().num_embeddings
    return [torch.randint(5, size, (int(3 + n % 30),), generator=generator) for n in range(count)]


def sample_for(model):
    *learnt, judged = random_texts(model)
    return RangeSample(tuple(learnt), judged)


def distilbert():
    from transformers import DistilBertConfig, DistilBertModel

    torch.manual_seed(0)
    return DistilBertModel(
        DistilBertConfig(vocab_size=100, dim=32, n_heads=4, n_layers=DEPTH, hidden_dim=64, dropout=0)
    ).eval()


@pytest.fixture(params=["bert-uncased", "roberta", "gpt2", "llama3", "modernbert", "distilbert"])
def model(request, tiny_model):
    return distilbert() if request.param == "distilbert" else copy.deepcopy(tiny_model(request.param)).eval()


def test_every_linear_layer_of_the_blocks_is_replaced(works, model):
    texts = random_texts(model)
    changed = int8_model(model, texts, DEPTH, "tiny")
    blocks = int8.blocks_of(changed, DEPTH)
    assert not [m for block in blocks for m in block.modules() if type(m) is nn.Linear]
    assert [m for block in blocks for m in block.modules() if isinstance(m, Int8Linear)]
    assert agreement(model, changed, texts[29], DEPTH) > 0.999


def test_the_model_that_was_given_is_not_changed(works, model):
    before = copy.deepcopy(model.state_dict())
    int8_model(model, random_texts(model), DEPTH, "tiny")
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_it_is_the_same_each_time(works, model):
    texts = random_texts(model)
    one, other = (int8_model(model, texts, DEPTH, "tiny") for _ in range(2))
    with torch.inference_mode():
        states = [each(input_ids=texts[20][None]).last_hidden_state for each in (one, other)]
    assert torch.equal(*states)


def test_layers_with_one_input_are_one_product(works, tiny_model):
    changed = int8_model(tiny_model("bert-uncased"), random_texts(tiny_model("bert-uncased")), DEPTH, "tiny")
    attention = changed.encoder.layer[0].attention.self
    parts = [attention.query, attention.key, attention.value]
    assert all(isinstance(part, LinearPart) for part in parts)
    assert len({id(part.shared) for part in parts}) == 1
    assert parts[0].shared._last.result is None
    assert isinstance(changed.encoder.layer[0].intermediate.intermediate_act_fn, nn.Identity)
    assert changed.encoder.layer[0].intermediate.dense.activation == "gelu"


def test_the_embedded_teacher(works):
    model, tokenizer = load_model_and_tokenizer("all-MiniLM-L6-v2")
    model, subwords = model.float().eval(), Subwords(tokenizer, "MiniLM")
    words = TEXT.split()
    texts = [" ".join(words[start:] + words[:start]) for start in range(0, len(words), 2)] + words[:10]
    pieces = [
        torch.tensor([*subwords.prefix, *subwords.encode([text]).ids.tolist(), *subwords.suffix])
        for text in (*texts, TEXT)
    ]
    sample = RangeSample(tuple(pieces[:-1]), pieces[-1])
    changed = int8_if_close(model, sample, 6, "MiniLM")
    assert changed is not model
    assert agreement(model, changed, pieces[-1], 6) > 0.999


def test_models_that_change_too_much_stay_in_float32(works, tiny_model, monkeypatch):
    monkeypatch.setattr(int8, "CLOSE_ENOUGH", 1.5)
    model = tiny_model("bert-uncased")
    with pytest.warns(UserWarning, match=r"tiny stays in float32, .* mean cosine of only \d\.\d{4}"):
        assert int8_if_close(model, sample_for(model), DEPTH, "tiny") is model


def test_models_that_cannot_be_changed_stay_in_float32(works, tiny_model):
    model = tiny_model("bert-uncased")
    with pytest.warns(UserWarning, match="tiny stays in float32, .* 5 layers are not a list of equal blocks"):
        assert int8_if_close(model, sample_for(model), 5, "tiny") is model


def test_nothing_to_learn_from(works, tiny_model):
    model, nothing = tiny_model("bert-uncased"), torch.empty(0, dtype=torch.int64)
    with pytest.warns(UserWarning, match="tiny stays in float32"):
        assert int8_if_close(model, RangeSample((), nothing), DEPTH, "tiny") is model


def test_weights_that_stay_are_not_copied(works, tiny_model):
    model = tiny_model("bert-uncased")
    changed = int8_model(model, random_texts(model), DEPTH, "tiny")
    assert changed.get_input_embeddings().weight is model.get_input_embeddings().weight


@pytest.mark.parametrize("lacking", ["instructions", "operator", "life"])
def test_processors_without_it(lacking, tiny_model, monkeypatch):
    if lacking == "instructions":
        monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    elif lacking == "operator":
        monkeypatch.setattr(int8, "OPERATOR", "no_such_operator")
    else:
        monkeypatch.setattr(int8.device, "survives", lambda product: False)
    monkeypatch.setattr(int8.device, "tiles_announced", lambda: False)
    cpu_multiplies_int8.cache_clear()
    try:
        with pytest.raises(TeacherError, match="tiny cannot run in int8: this processor lacks"):
            int8_model(tiny_model("bert-uncased"), [], DEPTH, "tiny")
    finally:
        cpu_multiplies_int8.cache_clear()
