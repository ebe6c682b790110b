from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import transformers

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.errors import TeacherError, UsageError
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, TextBatches, WordListBatches, subword_source

KINDS = [
    "bert-uncased", "bert-cased", "roberta", "gpt2", "modernbert", "llama3", "llama2", "xlmr", "t5", "albert",
    "xlnet", "longformer", "elmo",
]  # fmt: skip
PARAGRAPHS = (
    "The old still stands in the small house. Nobody has moved it since 1923!",
    "It drips.",
    "Nobody knows why the well-known river turned grey; the newspapers wrote about it for weeks...",
    "河水流过老房子 👍🏽 déjà vu",
    "Write to someone@example.org",
)


@pytest.fixture(scope="module")
def corpus(write_store):
    return write_store(*PARAGRAPHS)


@pytest.fixture(scope="module")
def vocabulary(corpus):
    return Vocabulary.build(corpus, VocabularyConfig(min_count=1))


source_of = cache(subword_source)


def read(teacher, corpus, vocabulary, budget=100_000):
    source = source_of(corpus, teacher.tokenizer)
    config = BatchConfig(budget, teacher.limit)
    reading = TextBatches(corpus, vocabulary, source, teacher.tokenizer, config)
    return [batch for _, batch in reading.since((0, 0))]


def words_alone(teacher, words):
    config = BatchConfig(100_000, teacher.limit)
    [(_, batch)] = WordListBatches(words, np.arange(len(words)), teacher.tokenizer, config).since((0, 0))
    return batch


@pytest.mark.parametrize("kind", KINDS)
def test_a_padded_batch_gives_what_each_text_gives_alone(
    kind, corpus, vocabulary, tiny_teacher, tiny_model, tiny_tokenizer
):
    teacher, model, tokenizer = tiny_teacher(kind), tiny_model(kind), tiny_tokenizer(kind)
    [batch] = read(teacher, corpus, vocabulary)
    assert len(set(batch.lengths.tolist())) > 1
    layers = tuple(range(teacher.depth + 1))
    states = teacher.encode(batch, layers)
    last = teacher.encode(batch, (teacher.depth,))
    for number, place in enumerate(batch.source_ids.tolist()):
        part = slice(batch.text_offsets[number], batch.text_offsets[number + 1])
        inputs = tokenizer(PARAGRAPHS[place], return_tensors="pt", return_token_type_ids=False)
        with torch.no_grad():
            alone = model(**inputs, output_hidden_states=True)
        assert inputs["input_ids"][0].tolist() == batch.subwords[part].tolist()
        for layer in layers:
            expected = alone.hidden_states[layer][0]
            torch.testing.assert_close(states.hidden[layer][part], expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(last.hidden[teacher.depth][part], alone.last_hidden_state[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert-uncased", "llama3", "t5", "modernbert"])
def test_batches_of_any_size_give_the_same(kind, corpus, vocabulary, tiny_teacher):
    teacher = tiny_teacher(kind)
    by_place = {}
    for budget in (1, 100_000):
        for batch in read(teacher, corpus, vocabulary, budget):
            hidden = teacher.encode(batch, (2,)).hidden[2]
            for number, place in enumerate(batch.source_ids.tolist()):
                by_place.setdefault(place, []).append(
                    hidden[batch.text_offsets[number] : batch.text_offsets[number + 1]]
                )
    assert len(by_place) == len(PARAGRAPHS)
    for one, other in by_place.values():
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_teacher_says_of_itself(kind, tiny_teacher, tiny_model):
    teacher = tiny_teacher(kind)
    assert (teacher.depth, teacher.width, teacher.dtype) == (3, 32, torch.float32)
    assert teacher.limit == {"t5": 512, "xlnet": 512, "elmo": 2048}.get(kind, 128)
    assert teacher.parameters == sum(weight.numel() for weight in tiny_model(kind).parameters())
    assert teacher.device == torch.device("cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_states_between_blocks_are_taken_by_hooks_where_those_see_the_same(kind, tiny_teacher):
    """ALBERT has one block for all layers."""
    assert (tiny_teacher(kind).forward.hooks is None) == (kind in ("albert", "xlnet", "longformer"))


def test_a_decoder_keeps_no_keys_and_values(tiny_model, tiny_tokenizer, monkeypatch):
    model = tiny_model("llama3")
    teacher = Teacher(model, tiny_tokenizer("llama3"), TeacherConfig("x", "cpu", "float32"))
    outputs = []
    teacher.model.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    teacher.encode(words_alone(teacher, ["still", "river"]), (3,))
    assert outputs[0].past_key_values is None


class TestFingerprint:
    @staticmethod
    def make(model, tokenizer, **settings):
        return Teacher(model, tokenizer, TeacherConfig("x", "cpu", **{"dtype": "float32"} | settings)).fingerprint

    def test_it_depends_on_weights_and_tokenizer_only(self, tiny_model, tiny_tokenizer):
        model, tokenizer = tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased")
        mine = self.make(model, tokenizer)
        assert self.make(tiny_model("bert-uncased"), tokenizer, max_length=20) == mine
        assert self.make(tiny_model("bert-uncased"), tokenizer, dtype="float16") == mine
        assert self.make(tiny_model("bert-uncased"), tiny_tokenizer("bert-cased")) != mine
        changed = tiny_model("bert-uncased")
        changed.encoder.layer[1].output.dense.bias.data[3] += 1e-6
        assert self.make(changed, tokenizer) != mine

    def test_weights_without_dimensions(self, tiny_model, tiny_tokenizer):
        model = tiny_model("bert-uncased")
        model.register_buffer("scale", torch.tensor(1.5))
        one = self.make(model, tiny_tokenizer("bert-uncased"))
        model.scale += 1
        assert self.make(model, tiny_tokenizer("bert-uncased")) != one


class TestErrors:
    def test_states_that_are_not_finite(self, corpus, vocabulary, tiny_model, tiny_tokenizer):
        """One subword of the third paragraph has a broken embedding."""
        tokenizer, model = tiny_tokenizer("bert-uncased"), tiny_model("bert-uncased")
        [subword] = tokenizer.convert_tokens_to_ids(["wrote"])
        assert subword != tokenizer.unk_token_id
        model.embeddings.word_embeddings.weight.data[subword, 5] = torch.nan
        teacher = Teacher(model, tokenizer, TeacherConfig("broken-bert", "cpu", "float32"))
        [batch] = read(teacher, corpus, vocabulary)
        with pytest.raises(TeacherError) as caught:
            teacher.encode(batch, (1, 2))
        message = str(caught.value)
        for part in ("broken-bert", "layer 1", "float32", "text number 2,", "begins: 'nobody knows why", "weights"):
            assert part in message
        clean = words_alone(teacher, ["river", "still"])
        assert torch.isfinite(teacher.encode(clean, (1,)).hidden[1]).all()

    def test_large_states_are_finite(self, tiny_model, tiny_tokenizer):
        """The sum of all states overflows, but none of them is infinite."""
        model = tiny_model("bert-uncased")
        norm = model.encoder.layer[-1].output.LayerNorm
        norm.weight.data.zero_()
        norm.bias.data.fill_(3e38)
        teacher = Teacher(model, tiny_tokenizer("bert-uncased"), TeacherConfig("x", "cpu", "float32"))
        assert teacher.encode(words_alone(teacher, ["river"]), (3,)).hidden[3].eq(3e38).all()

    @pytest.mark.parametrize("layers", [(3,), (0, 2)])
    def test_a_model_without_hidden_states(self, layers, tiny_tokenizer):
        tokenizer = tiny_tokenizer("bert-uncased")

        class Mute(transformers.PreTrainedModel):
            config_class = transformers.BertConfig
            all_tied_weights_keys = {}  # noqa: RUF012

            def __init__(self, config):
                super().__init__(config)
                self.table = torch.nn.Embedding(config.vocab_size, config.hidden_size)

            def get_input_embeddings(self):
                return self.table

            def forward(self, input_ids, **ignored):
                return transformers.modeling_outputs.SequenceClassifierOutput(logits=self.table(input_ids))

        config = transformers.BertConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=3)
        settings = TeacherConfig("mute", "cpu", "float32", attention="padded")
        teacher = Teacher(Mute(config), tokenizer, settings)
        message = r"mute returns no hidden states .*expected 4 layers, got none in its SequenceClassifierOutput"
        with pytest.raises(TeacherError, match=message):
            teacher.encode(words_alone(teacher, ["river"]), layers)
        with pytest.raises(TeacherError, match=message):
            Teacher(Mute(config), tokenizer, replace(settings, attention="auto"))

    def test_a_model_with_another_number_of_layers(self, tiny_model, tiny_tokenizer):
        model = tiny_model("bert-uncased")
        model.encoder.layer = model.encoder.layer[:2]
        teacher = Teacher(model, tiny_tokenizer("bert-uncased"), TeacherConfig("short", "cpu", "float32"))
        with pytest.raises(TeacherError, match=r"expected 4 layers, got 3 layers of them"):
            teacher.encode(words_alone(teacher, ["river"]), (1,))

    def test_a_tokenizer_of_another_model(self, tiny_model, tiny_tokenizer):
        teacher = Teacher(tiny_model("albert"), tiny_tokenizer("gpt2"), TeacherConfig("mixed", "cpu", "float32"))
        with pytest.raises(TeacherError, match=r"produced the subword \d+, but the model knows only \d+"):
            teacher.encode(words_alone(teacher, ["newspapers", "river", "😀", "since"]), (1,))

    def test_a_padding_token_that_the_model_lacks(self, tiny_model, tiny_tokenizer):
        tokenizer = tiny_tokenizer("gpt2")
        teacher = Teacher(tiny_model("gpt2"), tokenizer, TeacherConfig("x", "cpu", "float32"))
        batch = words_alone(teacher, ["newspapers", "x"])
        expected = teacher.encode(batch, (2,)).hidden[2]
        padded = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, pad_token="[PAD]")
        assert padded.pad_token_id >= len(tokenizer)
        other = Teacher(tiny_model("gpt2"), padded, TeacherConfig("x", "cpu", "float32"))
        torch.testing.assert_close(other.encode(batch, (2,)).hidden[2], expected)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"device": "banana"}, r"The device 'banana' cannot be used here"),
            ({"device": "cuda:99"}, r"The device 'cuda:99' cannot be used here"),
            ({"device": "meta"}, r"The device 'meta' cannot be used here"),
            ({"dtype": "float64"}, r"Unknown dtype 'float64'.*bfloat16, float16, float32\."),
            ({"dtype": "floaat32"}, r"Did you mean 'float32'"),
            ({"max_length": 2}, r"limit of 2 subwords leaves no room for text next to the 2 special tokens"),
            ({"max_length": 0}, r"limit of 0 subwords leaves no room"),
            ({"max_length": -5}, r"limit of -5 subwords leaves no room"),
            ({"max_length": 129}, r"max_length 129 is more than the 128 positions of x"),
        ],
    )
    def test_settings(self, settings, message, tiny_model, tiny_tokenizer):
        config = TeacherConfig(**{"name": "x", "device": "cpu", "dtype": "float32"} | settings)
        with pytest.raises(UsageError, match=message):
            Teacher(tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased"), config)


class TestLimits:
    @pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "gpt2", "xlmr", "albert", "modernbert", "llama3"])
    def test_the_longest_text_can_be_read(self, kind, tiny_model, tiny_tokenizer):
        """All positions are used, and one more is refused rather than left to crash."""
        model, tokenizer = tiny_model(kind), tiny_tokenizer(kind)
        teacher = Teacher(model, tokenizer, TeacherConfig(kind, "cpu", "float32", max_length=128))
        batch = words_alone(teacher, ["river " * 400])
        assert batch.lengths.tolist() == [128]
        assert torch.isfinite(teacher.encode(batch, (1,)).hidden[1]).all()
        with pytest.raises(UsageError, match=r"more than the 128 positions"):
            Teacher(model, tokenizer, TeacherConfig(kind, "cpu", "float32", max_length=129))

    def test_relative_positions_have_no_upper_limit(self, tiny_teacher):
        teacher = tiny_teacher("t5", max_length=1000)
        batch = words_alone(teacher, ["river " * 1000])
        assert batch.lengths.tolist() == [1000]
        assert torch.isfinite(teacher.encode(batch, (1,)).hidden[1]).all()

    def test_the_tokenizer_may_ask_for_less(self, tiny_model, tiny_tokenizer):
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tiny_tokenizer("bert-uncased").backend_tokenizer, model_max_length=100
        )
        model = tiny_model("bert-uncased")
        assert Teacher(model, tokenizer, TeacherConfig("x", "cpu", "float32")).limit == 100
        assert Teacher(model, tokenizer, TeacherConfig("x", "cpu", "float32", max_length=120)).limit == 120

    def test_a_model_for_a_task_has_the_positions_of_its_base(self, tiny_model, tiny_tokenizer):
        model = transformers.RobertaForMaskedLM(tiny_model("roberta").config)
        config = TeacherConfig("x", "cpu", "float32", attention="padded")
        assert Teacher(model, tiny_tokenizer("roberta"), config).limit == 128
