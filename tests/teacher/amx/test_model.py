"""Models run by tiles where all fits; the others run as they did."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, WordListBatches, precision
from wordstill.teacher.amx import AmxLinear, AmxUnavailable, amx_library, with_amx
from wordstill.teacher.amx.amx_library import CannotCompile, Kernel
from wordstill.teacher.device import choose_precision
from wordstill.teacher.precision import SortedLinear, in_precision

DEPTH, SUBWORDS = 3, torch.tensor([2, 7, 9, 5, 8, 3])
SIZES = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": DEPTH, "num_attention_heads": 2,
    "max_position_embeddings": 128,
}  # fmt: skip
WORDS = ["still", "river", "the old house by the river", "1923", "newspapers wrote about it for weeks"]


def make_model(kind="Bert", size=500, **settings):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(vocab_size=size, **SIZES | settings)
    return getattr(transformers, f"{kind}Model")(config).eval()


@pytest.fixture
def make_teacher(tiny_tokenizer):
    def make(dtype="auto", kind="bert-uncased", **settings):
        tokenizer = tiny_tokenizer(kind)
        made = make_model({"bert-uncased": "Bert", "llama3": "Llama"}[kind], len(tokenizer))
        return Teacher(made, tokenizer, TeacherConfig("tiny", "cpu", dtype, **settings))

    return make


def batch_of(teacher, words):
    batches = WordListBatches(words, np.arange(len(words)), teacher.tokenizer, BatchConfig(4096, teacher.limit))
    [(_, batch)] = batches.since((0, 0))
    return batch


def count(changed, kind):
    return sum(isinstance(module, kind) for module in changed.modules())


def test_every_linear_layer_and_gelu_of_the_blocks(tiles):
    exact = make_model()
    before = copy.deepcopy(exact.state_dict())
    changed = with_amx(exact, SUBWORDS, DEPTH)
    assert count(changed, AmxLinear) == 6 * DEPTH
    assert count(changed, nn.Identity) == sum(layer.intermediate.dense.gelu for layer in changed.encoder.layer)
    assert all(type(layer.intermediate.intermediate_act_fn) is nn.Identity for layer in changed.encoder.layer)
    assert not any(layer.output.dense.gelu for layer in changed.encoder.layer)
    assert (type(changed.pooler.dense), changed.dtype) == (nn.Linear, torch.bfloat16)
    after = changed.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name].bfloat16(), after[name]) for name in before)
    assert all(torch.equal(before[name], weight) for name, weight in exact.state_dict().items())


def test_transposed_layers(tiles):
    exact = make_model("GPT2", n_inner=128)
    changed = with_amx(exact, SUBWORDS, DEPTH)
    assert count(changed, AmxLinear) == 4 * DEPTH
    before, after = exact.state_dict(), changed.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name].bfloat16(), after[name]) for name in before)


@pytest.mark.parametrize("activation", ["gelu_new", "relu", "silu"])
def test_other_activations_stay(activation, tiles):
    changed = with_amx(make_model(hidden_act=activation), SUBWORDS, DEPTH)
    assert (count(changed, AmxLinear), count(changed, nn.Identity)) == (6 * DEPTH, 0)


def test_a_gelu_that_is_given_something_else_stays(tiles):
    exact = make_model()
    for layer in exact.encoder.layer:
        layer.intermediate.dense = nn.Sequential(layer.intermediate.dense, nn.Dropout(0.1).train(False))
        layer.intermediate.dense.append(nn.LayerNorm(128))
    changed = with_amx(exact, SUBWORDS, DEPTH)
    assert (count(changed, AmxLinear), count(changed, nn.Identity)) == (6 * DEPTH, 0)


def looks_at_weights():
    found = make_model()
    found.encoder.layer[0].register_forward_pre_hook(lambda block, _: block.output.dense.weight.sum() and None)
    return found


def far_from_float32():
    found = make_model()
    # Half of it is rounded away in bfloat16.
    for layer in found.encoder.layer:
        layer.output.LayerNorm.bias.data = 3e4 + torch.linspace(-50, 50, 64)
        layer.output.LayerNorm.register_forward_hook(lambda _, __, result: result - 3e4)
    return found


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: make_model(intermediate_size=48), "not multiples of 32"),
        (lambda: make_model(num_hidden_layers=2), "most of it is not in the linear layers"),
        (looks_at_weights, "AttributeError: 'AmxLinear' object has no attribute 'weight'"),
        (far_from_float32, r"a mean cosine of only 0\.\d{3} with those in float32"),
    ],
    ids=["sizes", "no blocks", "looks at weights", "far from float32"],
)
def test_models_that_cannot_bear_it(make, reason, tiles):
    with pytest.raises(AmxUnavailable, match=reason):
        with_amx(make(), SUBWORDS, DEPTH)


def test_a_layer_that_gives_something_else_is_noticed(tiles, monkeypatch):
    monkeypatch.setattr(Kernel, "linear", lambda self, x, weight, bias, y, *, gelu: y.normal_())
    with pytest.raises(AmxUnavailable, match="a mean cosine of only"):
        with_amx(make_model(), SUBWORDS, DEPTH)


@pytest.mark.parametrize("dtype", ["auto", "bfloat16"])
@pytest.mark.parametrize("attention", ["packed", "padded"])
@pytest.mark.parametrize("kind", ["bert-uncased", "llama3"])
def test_a_teacher_by_tiles_is_close_to_one_in_float32(kind, attention, dtype, tiles, make_teacher):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = make_teacher(dtype, kind, attention=attention)
    exact = make_teacher("float32", kind)
    assert (quick.precision, quick.dtype, quick.packs) == ("bfloat16", torch.bfloat16, attention == "packed")
    assert count(quick.model, AmxLinear) == (6 if kind == "bert-uncased" else 7) * DEPTH
    assert quick.fingerprint == exact.fingerprint
    batch = batch_of(quick, WORDS)
    for layers in ((DEPTH,), (0, 1, DEPTH)):
        one, other = (teacher.encode(batch, layers) for teacher in (exact, quick))
        for layer in layers:
            cosines = nn.functional.cosine_similarity(one.words(layer), other.words(layer))
            assert cosines.min() > 0.999


def test_texts_give_the_same_alone_as_together(tiles, make_teacher):
    teacher = make_teacher()
    batch = batch_of(teacher, WORDS)
    together = teacher.encode(batch, (DEPTH,)).words(DEPTH)
    alone = [teacher.encode(batch_of(teacher, [WORDS[word]]), (DEPTH,)).words(DEPTH) for word in batch.word_ids]
    assert torch.equal(torch.cat(alone), together)


def test_other_precisions_do_not_ask_for_tiles(monkeypatch):
    monkeypatch.setattr(precision, "with_amx", lambda *_: pytest.fail("nobody wants tiles"))
    for wanted in ("float32", "float16"):
        found = in_precision(make_model(), wanted, torch.device("cpu"), SUBWORDS, DEPTH, "tiny")
        assert found.dtype is getattr(torch, wanted)


@pytest.mark.parametrize("wanted", ["auto", "bfloat16"])
def test_without_tiles_all_is_as_torch_has_it(wanted, make_teacher, monkeypatch):
    def none():
        raise CannotCompile("no C compiler was found")

    monkeypatch.setattr(amx_library, "load_library", none)
    amx_library.find_kernel.cache_clear()
    try:
        expected = choose_precision(wanted, torch.device("cpu"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = make_teacher(wanted)
        found.encode(batch_of(found, WORDS), (DEPTH,))
    finally:
        amx_library.find_kernel.cache_clear()
    assert found.dtype is expected
    assert count(found.model, AmxLinear) == 0
    assert count(found.model, SortedLinear) == 6 * DEPTH
