from __future__ import annotations

from tokenizers import AddedToken, Tokenizer
from transformers import PreTrainedTokenizerFast

from wordstill.teacher.tokenizer import HIDDEN, SubwordTokenizer


def test_hiding_a_special_token_moves_no_other_id(tiny_tokenizer):
    backend = Tokenizer.from_str(tiny_tokenizer("t5").backend_tokenizer.to_str())
    backend.add_tokens([AddedToken("<extra_id_0>", special=True), AddedToken("widget", normalized=False)])
    tokenizer = SubwordTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>"), "t5")
    assert tokenizer.backend.token_to_id("</s>") is None
    assert tokenizer.backend.token_to_id(f"{HIDDEN}</s>") == backend.token_to_id("</s>")
    assert tokenizer.suffix == (backend.token_to_id("</s>"),)
    for text in ("a widget stands", "The river", "☃"):
        assert tokenizer.encode([text]).ids.tolist() == backend.encode(text, add_special_tokens=False).ids
    extra, unknown = backend.token_to_id("<extra_id_0>"), backend.token_to_id("<unk>")
    assert extra not in tokenizer.encode(["x <extra_id_0> y"]).ids
    assert unknown in tokenizer.encode(["☃"]).ids


def test_a_tokenizer_that_reads_them_as_text_anyway_is_not_changed(tiny_tokenizer):
    original = tiny_tokenizer("bert-uncased")
    tokenizer = SubwordTokenizer(original, "bert")
    assert tokenizer.backend.to_str() == tokenizer.definition == original.backend_tokenizer.to_str()


def test_the_definition_is_the_tokenizer_as_it_came(tiny_tokenizer):
    tokenizer = tiny_tokenizer("xlmr")
    assert SubwordTokenizer(tokenizer, "xlmr").definition == tokenizer.backend_tokenizer.to_str()
