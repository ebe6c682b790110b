from __future__ import annotations

import pytest
import torch

from wordstill.errors import TeacherError, UsageError
from wordstill.meaning.translation import RoundTrip, Translator

SENTENCES = ["the old still", "", "nobody knows the river by the house", "still", "the river " * 60]


@pytest.fixture(scope="module")
def make(tiny_models, tiny_tokenizer):
    def translator(seed, languages=None):
        tokenizer = tiny_tokenizer("bert-uncased")
        model = tiny_models.translator(tokenizer, seed)
        if languages:
            model.config.languages = languages
        return Translator(model, tokenizer, f"tiny-{seed}", device="cpu", dtype="float32")

    return translator


def test_a_batch_is_each_sentence_alone(make):
    translator = make(0)
    together = translator.translate(SENTENCES)
    assert together[1] == together[4] == ""
    assert together[0] and together[2]
    assert together == [translator.translate([sentence])[0] for sentence in SENTENCES]


def test_a_batch_that_does_not_fit_the_memory_is_halved(make, monkeypatch):
    translator = make(0)
    sentences = [SENTENCES[0], SENTENCES[2], SENTENCES[3]] * 3
    expected, generate, sizes = translator.translate(sentences), translator.model.generate, []

    def small(input_ids, **settings):
        sizes.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError
        return generate(input_ids=input_ids, **settings)

    monkeypatch.setattr(translator.model, "generate", small)
    assert translator.translate(sentences) == expected
    assert sizes[:2] == [9, 4]


class Fixed:
    """A translator that knows its answers."""

    def __init__(self, name, answers, languages=None):
        self.name, self.answers, self.languages = name, answers, languages

    def translate(self, sentences):
        return [self.answers.get(sentence, "") for sentence in sentences]


def test_there_and_back():
    there = Fixed("en-de", {"the old river": "der alte Fluss"})
    back = Fixed("de-en", {"der alte Fluss": "the ancient river"})
    trip = RoundTrip(there, back)
    assert trip.paraphrase(["the old river", "too long"]) == ["the ancient river", ""]
    assert trip.name == "en-de and de-en"


def test_the_wrong_language_is_noticed_by_what_comes_back(make):
    with pytest.raises(UsageError, match=r"only 0% come back from en-de and fr-it.*'the old river' came 'il fiume'"):
        there = Fixed("en-de", {"the old river": "der alte Fluss"})
        RoundTrip(there, Fixed("fr-it", {"der alte Fluss": "il fiume"})).paraphrase(["the old river"])
    with pytest.raises(UsageError, match="come back from tiny-0 and tiny-1"):
        RoundTrip(make(0), make(1)).paraphrase(["Zwölf Boxkämpfer jagen Viktor"])


def test_the_wrong_language_is_noticed_by_what_the_models_say(make):
    RoundTrip(make(0, ["en", "de"]), make(1, ["de", "en"]))
    with pytest.raises(UsageError, match="tiny-0 is from en into de, tiny-1 from en into fr"):
        RoundTrip(make(0, ["en", "de"]), make(1, ["en", "fr"]))


def test_loading(make, tmp_path):
    first = make(0, ["en", "de"])
    first.model.save_pretrained(tmp_path)
    first.tokenizer.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path, device="cpu", dtype="float32")
    assert again.languages == ("en", "de")
    assert again.translate(SENTENCES[:1]) == first.translate(SENTENCES[:1])
    with pytest.raises(TeacherError, match="Cannot load the translator"):
        Translator.from_pretrained(tmp_path / "nowhere")
