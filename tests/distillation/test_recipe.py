from __future__ import annotations

import hashlib
import json
from types import SimpleNamespace

import pytest
import torch

import wordstill
from wordstill.corpus import VocabularyConfig
from wordstill.distillation import recipe as module
from wordstill.distillation.recipe import Recipe
from wordstill.methods import METHODS, read_specs
from wordstill.teacher import BatchConfig


class Words(SimpleNamespace):
    def __len__(self) -> int:
        return 12


def resolve(*methods: str, words: tuple[str, ...] = (), **teacher: object) -> Recipe:
    facts = {
        "config": SimpleNamespace(name="tiny"), "fingerprint": "f00", "depth": 3, "width": 8,
        "parameters": 99, "limit": 64, "precision": "bfloat16", "device": torch.device("cpu"),
    }  # fmt: skip
    corpus = SimpleNamespace(hash="abc", n_words=500, meta={"settings": {"filter": "none", "language": None}})
    vocabulary = Words(config=VocabularyConfig(min_count=2, words=words))
    specs = read_specs(methods or ["still"], METHODS, 3)
    return Recipe.resolve(corpus, SimpleNamespace(**facts | teacher), vocabulary, specs, BatchConfig(100, 64), 5)


def test_everything_that_determines_a_result_is_in_it():
    facts = json.loads(resolve("ase:layer=0,2", "still:dim=4").to_json())
    assert facts["corpus"] == {"hash": "abc", "words": 500, "settings": {"filter": "none", "language": None}}
    assert facts["teacher"] == {
        "name": "tiny", "fingerprint": "f00", "layers": 3, "width": 8, "parameters": 99, "max_length": 64,
        "dtype": "bfloat16", "device": "cpu",
    }  # fmt: skip
    assert facts["vocabulary"]["size"] == 12 and facts["vocabulary"]["min_count"] == 2
    assert facts["methods"]["ase-layer-2"] == {"name": "ase.v1", "layer": 2, "subword": "mean", "context": "mean"}
    assert facts["methods"]["still-dim-4"]["dim"] == 4 and facts["methods"]["still-dim-4"]["layer"] == 3
    assert facts["batches"] == {"budget": 100, "limit": 64, "unit": "paragraph", "packed": False}
    assert facts["seed"] == 5 and facts["epochs"] == 1


def test_a_table_carries_its_own_method_only():
    facts = resolve("ase", "still").provenance("ase")
    assert facts["method"]["name"] == "ase.v1"
    assert "methods" not in facts
    assert facts["corpus"]["hash"] == "abc"


def test_the_same_settings_give_the_same_text():
    assert resolve("ase", "still").to_json() == resolve("ase", "still").to_json()
    assert resolve("ase").to_json() != resolve("ase", fingerprint="f01").to_json()
    assert resolve("ase").to_json() != resolve("ase:subword=max").to_json()


def test_wanted_words_are_known_by_their_hash():
    none = resolve().vocabulary
    assert (none["wanted_words"], none["wanted_words_sha256"]) == (0, None)
    some = resolve(words=("new york", "Straße")).vocabulary
    assert some["wanted_words"] == 2
    assert some["wanted_words_sha256"] == hashlib.sha256("new york\nStraße".encode()).hexdigest()
    assert resolve(words=("Straße", "new york")).vocabulary != some


def test_versions(monkeypatch: pytest.MonkeyPatch):
    versions = resolve().versions
    assert versions["wordstill"] == wordstill.__version__
    assert versions["torch"] == torch.__version__
    monkeypatch.setattr(module, "PACKAGES", ("surely-not-installed",))
    assert resolve().versions["surely-not-installed"] == "not installed"
