from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, processors
from transformers import PreTrainedTokenizerFast

from wordstill.errors import TeacherError
from wordstill.teacher.tokenizer import SubwordTokenizer

ALL_KINDS = [
    "bert-uncased", "bert-cased", "roberta", "roberta-prefix", "roberta-untrimmed", "gpt2", "modernbert",
    "llama3", "llama2", "swallowing", "xlmr", "t5", "albert",
]  # fmt: skip
TEXT = "The river isn't 3.5 degrees; “naïve” 河水 👍🏽 wrote about it..."


def tokenizer_of(backend, **specials):
    return SubwordTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, **specials), "a test")


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_subwords_and_specials_are_those_of_transformers(kind, tiny_tokenizer):
    original = tiny_tokenizer(kind)
    tokenizer = SubwordTokenizer(original, kind)
    subwords = tokenizer.encode([TEXT])
    expected = original(TEXT)["input_ids"]
    assert [*tokenizer.prefix, *subwords.ids.tolist(), *tokenizer.suffix] == expected


@pytest.mark.parametrize(
    ("kind", "prefix", "suffix"),
    [
        ("bert-uncased", ["[CLS]"], ["[SEP]"]),
        ("roberta", ["<s>"], ["</s>"]),
        ("gpt2", [], []),
        ("llama3", ["<|begin_of_text|>"], []),
        ("t5", [], ["</s>"]),
    ],
)
def test_specials_by_name(kind, prefix, suffix, tiny_tokenizer):
    original = tiny_tokenizer(kind)
    tokenizer = SubwordTokenizer(original, kind)
    assert original.convert_ids_to_tokens(list(tokenizer.prefix)) == prefix
    assert original.convert_ids_to_tokens(list(tokenizer.suffix)) == suffix


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_several_texts_are_laid_end_to_end(kind, tiny_tokenizer):
    tokenizer = SubwordTokenizer(tiny_tokenizer(kind), kind)
    texts = ["The river", "", " stands.", "\u0301", TEXT]
    together = tokenizer.encode(texts)
    for number, text in enumerate(texts):
        part = slice(together.offsets[number], together.offsets[number + 1])
        alone = tokenizer.encode([text])
        for field in ("ids", "starts", "ends"):
            assert np.array_equal(getattr(together, field)[part], getattr(alone, field))
    assert together.offsets[-1] == len(together.ids)


def test_no_texts(tiny_tokenizer):
    subwords = SubwordTokenizer(tiny_tokenizer("gpt2"), "gpt2").encode([])
    assert len(subwords.ids) == len(subwords.starts) == len(subwords.ends) == 0
    assert subwords.offsets.tolist() == [0]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_what_looks_like_a_special_token_is_text(kind, tiny_tokenizer):
    original = tiny_tokenizer(kind)
    tokenizer = SubwordTokenizer(original, kind)
    special = set(original.all_special_ids) - {original.unk_token_id}
    for token in original.all_special_tokens:
        subwords = tokenizer.encode([f"x {token} y{token}"])
        assert not special & set(subwords.ids.tolist())


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_truncation_and_padding_of_the_tokenizer_are_ignored(kind, tiny_tokenizer):
    tokenizer = tiny_tokenizer(kind)
    before = SubwordTokenizer(tokenizer, kind)
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.enable_truncation(4)
    backend.enable_padding(length=64)
    ids = {"pad_token_id": None, "unk_token_id": tokenizer.unk_token_id, "mask_token_id": tokenizer.mask_token_id}
    after = SubwordTokenizer(SimpleNamespace(is_fast=True, backend_tokenizer=backend, model_max_length=64, **ids), kind)
    assert after.definition == before.definition
    assert np.array_equal(after.encode([TEXT]).ids, before.encode([TEXT]).ids)
    assert (after.prefix, after.suffix) == (before.prefix, before.suffix)


@pytest.mark.parametrize("kind", ["roberta", "roberta-prefix", "roberta-untrimmed", "llama3", "xlmr", "t5"])
def test_a_lone_space_mark_has_no_characters(kind, tiny_tokenizer):
    tokenizer = SubwordTokenizer(tiny_tokenizer(kind), kind)
    marks = {tokenizer.backend.token_to_id("Ġ"), tokenizer.backend.token_to_id("▁")}
    texts = ["77 77", " ☃ ☃", "河水 河水"]
    for text in texts:
        subwords = tokenizer.encode([text])
        lone = np.isin(subwords.ids, [mark for mark in marks if mark is not None])
        assert np.array_equal(subwords.starts[lone], subwords.ends[lone])
        assert (subwords.starts[~lone] < subwords.ends[~lone]).all()
    assert lone.any() or kind == "roberta-untrimmed"


def test_a_space_mark_that_is_an_ordinary_character():
    vocabulary = {"[UNK]": 0, "a": 1, "▁": 2, "Ġ": 3}
    subwords = tokenizer_of(Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))).encode(["▁", "Ġ"])
    assert subwords.ids.tolist() == [2, 3]
    assert (subwords.ends - subwords.starts).tolist() == [1, 1]


def test_specials_beside_a_text_that_is_dropped():
    backend = Tokenizer(models.WordPiece({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "b": 3}, unk_token="[UNK]"))
    backend.normalizer = normalizers.Replace("a", "")
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer = tokenizer_of(backend, cls_token="[CLS]", sep_token="[SEP]")
    assert sorted(tokenizer.prefix + tokenizer.suffix) == [1, 2]


def test_slow_tokenizer():
    slow = type("BertJapaneseTokenizer", (), {"is_fast": False})()
    with pytest.raises(TeacherError, match=r"my-model has no character offsets .*BertJapaneseTokenizer"):
        SubwordTokenizer(slow, "my-model")


def test_special_tokens_inside_a_text():
    backend = Tokenizer(models.WordPiece({"[UNK]": 0, "[CLS]": 1, "a": 3}, unk_token="[UNK]"))
    backend.post_processor = processors.TemplateProcessing(single="$A [CLS] $A", special_tokens=[("[CLS]", 1)])
    with pytest.raises(TeacherError, match=r"changes a text when it adds special tokens .*\[3, 3\], with them"):
        tokenizer_of(backend, cls_token="[CLS]")
