from __future__ import annotations

import json

import pytest
import torch

from wordstill.errors import MissingExtra, TeacherError, UsageError
from wordstill.meaning import translation
from wordstill.meaning.translation import CompiledTranslator, RoundTrip, Translator, open_translator

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
    expected, search, sizes = translator.translate(sentences), translation.GreedySearch.search, []

    def small(self, ids, mask, most):
        sizes.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError
        return search(self, ids, mask, most)

    monkeypatch.setattr(translation.GreedySearch, "search", small)
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


@pytest.fixture
def marian(tiny_models, short_text, tmp_path):
    """The folder of a Marian of random weights, with subwords of sentencepiece as real ones have them."""
    spm = pytest.importorskip("sentencepiece")
    import transformers

    model, folder = tmp_path / "spm", tmp_path / "marian"
    spm.SentencePieceTrainer.train(
        input=str(short_text), model_prefix=str(model), vocab_size=40, minloglevel=2, character_coverage=1.0
    )
    pieces = spm.SentencePieceProcessor(model_file=f"{model}.model")
    names = ["</s>", "<unk>", *(pieces.id_to_piece(number) for number in range(3, len(pieces))), "<pad>"]
    (tmp_path / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    tokenizer = transformers.MarianTokenizer(
        f"{model}.model", f"{model}.model", str(tmp_path / "vocab.json"), source_lang="en", target_lang="fr"
    )
    made = tiny_models.translator(tokenizer)
    # As real ones have it: no padding inside a translation.
    made.generation_config.bad_words_ids = [[tokenizer.pad_token_id]]
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_ctranslate2_gives_what_transformers_gives(marian, short_text):
    pytest.importorskip("ctranslate2")
    sentences = [*short_text.read_text().splitlines()[:20], "", "the river " * 400]
    plain, compiled = Translator.from_pretrained(marian), open_translator(marian)
    assert isinstance(compiled, CompiledTranslator)
    assert compiled.languages == plain.languages == ("en", "fr")
    found = compiled.translate(sentences)
    assert found == plain.translate(sentences)
    assert found[-2:] == ["", ""] and len(set(found)) > 3
    assert compiled.translate([""]) == [""]


def test_a_marian_without_sentencepiece_names_the_extra(marian, monkeypatch):
    monkeypatch.setattr(translation, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"wordstill\[translate\]"):
        open_translator(marian)
