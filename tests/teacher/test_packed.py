"""Packed reading gives what padded reading gives, for every kind of model, and says so where it cannot."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel

from wordstill.core.threads import OrderedPool
from wordstill.errors import TeacherError, UsageError
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, WordListBatches
from wordstill.teacher.attention import CannotPack
from wordstill.teacher.batch import within_sum
from wordstill.teacher.layers import LayerHooks, blocks_of, relative_difference

PHRASES = ["the river", "river", "a still house by the river", "stands", "the old still stands by the river"]
SMALL = {
    "hidden_size": 32, "dim": 32, "n_embd": 32, "num_hidden_layers": 3, "n_layers": 3, "n_layer": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "n_heads": 4, "n_head": 4, "intermediate_size": 64,
    "hidden_dim": 64, "vocab_size": 200, "embedding_size": 32, "head_dim": 8, "pad_token_id": 1,
    "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3, "initializer_range": 0.5,
    "d_kv": 8, "d_ff": 64, "local_attention": 8,
}  # fmt: skip
PACKS = (
    "bert", "roberta", "xlm-roberta", "gpt2", "electra", "llama", "qwen2", "mistral",
    "mpnet", "t5", "umt5", "modernbert",
)  # fmt: skip
CANNOT = ("deberta-v2",)


def teacher_of(kind: str, tiny_tokenizer, attention: str) -> Teacher:
    config = AutoConfig.for_model(kind)
    for name, value in SMALL.items():
        if hasattr(config, name):
            setattr(config, name, value)
    torch.manual_seed(0)
    model = AutoModel.from_config(config)
    tokenizer = tiny_tokenizer("bert-uncased")
    model.resize_token_embeddings(max(200, len(tokenizer)), mean_resizing=False)
    model = model.get_encoder() if config.is_encoder_decoder else model
    return Teacher(model, tokenizer, TeacherConfig(kind, "cpu", "float32", 64, attention))


def batch_of(teacher: Teacher, *, packed: bool):
    config = BatchConfig(4096, teacher.limit, packed=packed)
    source = WordListBatches(PHRASES, np.arange(len(PHRASES)), teacher.tokenizer, config)
    ((_, batch),) = source.since((0, 0))
    return batch


@pytest.mark.parametrize("kind", PACKS)
def test_packed_states_are_those_of_padded_texts(kind, tiny_tokenizer):
    layers = (0, 1, 3)
    states = {}
    for attention in ("packed", "padded"):
        teacher = teacher_of(kind, tiny_tokenizer, attention)
        assert teacher.packs is (attention == "packed")
        seen = teacher.encode(batch_of(teacher, packed=False), layers)
        states[attention] = {layer: seen.hidden[layer] for layer in layers}
    # Tiny tokenizers are trained anew in each process, and some of their ids round more in single numbers,
    # so all numbers together have to be closer than each of them.
    for layer in layers:
        packed, padded = states["packed"][layer], states["padded"][layer]
        assert torch.allclose(packed, padded, atol=1e-4)
        assert relative_difference(packed, padded) < 1e-5


@pytest.mark.parametrize("kind", CANNOT)
def test_a_model_that_cannot_pack(kind, tiny_tokenizer):
    with pytest.raises(TeacherError, match=rf"{kind} cannot read packed texts: .* Use attention=padded"):
        teacher_of(kind, tiny_tokenizer, "packed")


@pytest.mark.parametrize("kind", ["xlnet", "longformer"])
def test_a_model_that_takes_the_kernel_and_never_calls_it(kind, tiny_teacher):
    with pytest.raises(TeacherError, match=r"cannot read packed texts: .*does not let its attention be replaced"):
        tiny_teacher(kind, attention="packed")


def test_models_pack_by_themselves_where_they_can(tiny_tokenizer):
    assert teacher_of("bert", tiny_tokenizer, "auto").packs
    with pytest.warns(UserWarning, match="deberta-v2 reads padded texts, which is slower: it cannot read"):
        assert not teacher_of("deberta-v2", tiny_tokenizer, "auto").packs


def test_a_packed_model_that_is_run_by_hand(tiny_tokenizer):
    packed, padded = (teacher_of("bert", tiny_tokenizer, attention) for attention in ("packed", "padded"))
    ids = torch.tensor([[4, 5, 6, 7]])
    with torch.inference_mode():
        one, other = (each.model(input_ids=ids).last_hidden_state for each in (packed, padded))
        with pytest.raises(CannotPack, match="run by hand over several texts"):
            packed.model(input_ids=ids.repeat(2, 1))
    torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)


def test_a_model_can_serve_two_teachers(tiny_model, tiny_tokenizer):
    model, tokenizer = tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased")
    one, other = (Teacher(model, tokenizer, TeacherConfig("x", "cpu", "float32")) for _ in range(2))
    assert one.packs and other.packs
    batch = batch_of(one, packed=True)
    assert torch.equal(one.encode(batch, (3,)).hidden[3], other.encode(batch, (3,)).hidden[3])


def test_a_model_that_was_looked_into_can_be_copied_and_let_go(tiny_model, tiny_tokenizer):
    model, tokenizer = tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased")
    with LayerHooks(blocks_of(model, 3)).before((0,), stop=True) as seen:
        model(input_ids=torch.tensor([[4, 5, 6]]))
    assert set(seen) == {0}
    teacher, other = (
        Teacher(each, tokenizer, TeacherConfig("x", "cpu", "float32")) for each in (copy.deepcopy(model), model)
    )
    batch = batch_of(teacher, packed=True)
    before = teacher.encode(batch, (1, 3)).hidden
    torch.testing.assert_close(other.encode(batch, (1, 3)).hidden, before)
    teacher.forward.hooks.remove()
    assert all(len(block._forward_pre_hooks) == 1 for block in teacher.forward.blocks)
    torch.testing.assert_close(teacher.encode(batch, (1, 3)).hidden, before)


@pytest.mark.parametrize("layers", [(1, 3), (0, 1)], ids=str)
@pytest.mark.parametrize("kind", [*PACKS, "deberta-v2"])
@pytest.mark.filterwarnings("ignore:.*reads padded texts:UserWarning")
def test_several_threads_may_read_at_the_same_time(kind, layers, tiny_tokenizer):
    teacher = teacher_of(kind, tiny_tokenizer, "auto")
    config = BatchConfig(12, teacher.limit, packed=teacher.packs)
    source = WordListBatches(PHRASES * 8, np.arange(8 * len(PHRASES)), teacher.tokenizer, config)
    batches = [batch for _, batch in source.since((0, 0))]
    assert len(batches) > 8

    def read(batch):
        return teacher.encode(batch, layers).hidden

    together = list(OrderedPool(read, 3).map(batches))
    for one, other in zip(map(read, batches), together, strict=True):
        assert set(one) == set(layers)
        torch.testing.assert_close(one, other)


def test_who_may_read_at_the_same_time(tiny_tokenizer, monkeypatch):
    teacher = teacher_of("bert", tiny_tokenizer, "auto")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 100)
    assert teacher.readers() == 8
    teacher.device = torch.device("cuda")
    assert teacher.readers() == 1


def test_an_unknown_kind_of_attention(tiny_tokenizer):
    with pytest.raises(UsageError, match="attention"):
        teacher_of("bert", tiny_tokenizer, "packd")


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_layers_by_the_way_are_those_that_the_model_reports(kind, tiny_tokenizer):
    teacher = teacher_of(kind, tiny_tokenizer, "padded")
    ids = torch.tensor([[4, 5, 6, 7]])
    with torch.inference_mode():
        reported = teacher.model(input_ids=ids, output_hidden_states=True).hidden_states
        between = LayerHooks(blocks_of(teacher.model, 3))
        with between.before((0, 1, 2), stop=False) as seen:
            teacher.model(input_ids=ids)
        between.remove()
        teacher.model(input_ids=ids[:, :2])
    for layer in range(3):
        assert torch.equal(seen[layer], reported[layer])


def test_blocks_above_the_wanted_layers_do_not_run(tiny_tokenizer):
    teacher = teacher_of("bert", tiny_tokenizer, "padded")
    ran = []
    for number, block in enumerate(blocks_of(teacher.model, 3)):
        block.register_forward_hook(lambda *_, number=number: ran.append(number))
    teacher.encode(batch_of(teacher, packed=False), (0, 1))
    assert ran == [0]


def test_packed_batches_fill_the_budget_in_reading_order():
    lengths = np.array([5, 3, 9, 1, 1, 20, 2])
    slices = [lengths[part].tolist() for part in within_sum(lengths, 10)]
    assert slices == [[5, 3], [9, 1], [1], [20], [2]]
