from __future__ import annotations

import pytest
import torch

from wordstill.errors import TeacherError
from wordstill.meaning.masked import MaskedModel, whole_words
from wordstill.meaning.occurrence import Occurrence

OCCURRENCES = [
    Occurrence("The old still stands in the small house.", 8, 13),
    Occurrence("The old still stands in the small house.", 34, 39),
    Occurrence("Nobody knows the well-known river.", 17, 27),
    Occurrence("river", 0, 5),
    Occurrence("a \u200b b", 2, 3),
    Occurrence("the river " * 60, 4, 9),
]


def test_predictions_are_those_of_the_model_with_a_mask(masked):
    found = masked.predict(OCCURRENCES, top=5)
    assert found[4] is None
    assert found[5] is None
    tokenizer = masked.tokenizer.backend
    for occurrence, candidates in zip(OCCURRENCES[:4], found):
        before = tokenizer.encode(occurrence.text[: occurrence.start], add_special_tokens=False).ids
        after = tokenizer.encode(occurrence.text[occurrence.end :], add_special_tokens=False).ids
        ids = [*masked.tokenizer.prefix, *before, masked.mask_id, *after, *masked.tokenizer.suffix]
        with torch.inference_mode():
            logits = masked.model(input_ids=torch.tensor([ids])).logits[0, 1 + len(before)]
        probabilities = torch.softmax(logits, dim=-1)
        words = whole_words(masked.tokenizer)
        expected = sorted(
            ((float(probabilities[number]), word) for number, word in enumerate(words) if word), reverse=True
        )
        assert [candidate.word for candidate in candidates] == [word for _, word in expected[:5]]
        for candidate, (probability, _) in zip(candidates, expected):
            assert candidate.probability == pytest.approx(probability, rel=1e-3)


def test_only_probable_words(masked):
    every = masked.predict(OCCURRENCES[:2], top=50)
    least = every[0][10].probability
    found = masked.predict(OCCURRENCES[:2], top=50, least=least)
    assert found == [[word for word in words if word.probability > least] for words in every]
    assert 0 < len(found[0]) < 50


@pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "xlmr"])
def test_whole_words(tiny_teacher, kind):
    tokenizer = tiny_teacher(kind).tokenizer
    words = [word for word in whole_words(tokenizer) if word]
    assert "the" in words
    assert all(word.isalpha() for word in words)
    assert all(len(tokenizer.backend.encode(f" {word}", add_special_tokens=False)) == 1 for word in words)


def test_a_model_without_a_mask(tiny_tokenizer, tiny_models):
    tokenizer = tiny_tokenizer("bert-uncased")
    with pytest.raises(TeacherError, match="no mask token"):
        MaskedModel(tiny_models.masked_bert(tokenizer), tokenizer, "tiny")


def test_loading(tmp_path, masked, tiny_models, tiny_tokenizer, tiny_model):
    tokenizer = tiny_models.with_mask(tiny_tokenizer("bert-uncased"))
    tiny_models.masked_bert(tokenizer).save_pretrained(tmp_path / "masked")
    tokenizer.save_pretrained(tmp_path / "masked")
    again = MaskedModel.from_pretrained(tmp_path / "masked", device="cpu", dtype="float32")
    assert again.fingerprint == masked.fingerprint
    assert again.predict(OCCURRENCES[:1], 3) == masked.predict(OCCURRENCES[:1], 3)
    tiny_model("bert-uncased").save_pretrained(tmp_path / "bare")
    tokenizer.save_pretrained(tmp_path / "bare")
    with pytest.raises(TeacherError, match="trained for something else"):
        MaskedModel.from_pretrained(tmp_path / "bare")
    with pytest.raises(TeacherError, match="Cannot load the masked language model"):
        MaskedModel.from_pretrained(tmp_path / "nowhere")
