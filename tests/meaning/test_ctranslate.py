from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from wordstill.errors import TeacherError
from wordstill.meaning.translation import CompiledTranslator, load_translator


class Copying:
    """Says every sentence again, as CTranslate2 would."""

    def translate_batch(self, tokens, **settings):
        self.settings = settings
        return [SimpleNamespace(hypotheses=[row]) for row in tokens]


@pytest.fixture
def translator(tiny_tokenizer):
    return CompiledTranslator(Copying(), tiny_tokenizer("bert-uncased"), "copying")


def test_translations_come_in_the_order_of_the_sentences(translator):
    sentences = ["the river", "", "the old house stands", "  ", "the " * 600]
    assert translator.translate(sentences) == ["the river", "", "the old house stands", "", ""]
    assert translator.model.settings["batch_type"] == "tokens"
    assert translator.translate(["", " "]) == ["", ""]


def test_what_never_ends_is_cut_by_the_length_of_its_sentence(translator, monkeypatch):
    endless = SimpleNamespace(hypotheses=[["the"] * 500])
    monkeypatch.setattr(translator.model, "translate_batch", lambda tokens, **_: [endless] * len(tokens))
    short, long = translator.translate(["river", "the river " * 20])
    assert 10 <= len(short.split()) <= 16
    assert len(long.split()) > 60


def test_the_package_may_be_missing(tmp_path, monkeypatch):
    (tmp_path / "model.bin").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(TeacherError, match="pip install ctranslate2"):
        load_translator(tmp_path)


def test_a_broken_folder(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("Unsupported model binary version")

    (tmp_path / "model.bin").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "ctranslate2", SimpleNamespace(Translator=broken))
    with pytest.raises(TeacherError, match="Unsupported model binary version"):
        load_translator(tmp_path)


def test_other_folders_are_those_of_transformers(tmp_path):
    with pytest.raises(TeacherError, match="Cannot load the translator"):
        load_translator(tmp_path)
