"""Choosing among representations on development data: balanced gains win, and pairs are read in sentences."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments.meaning import development
from wordstill.evaluation.data.context_sets import ContextPair, ContextParts, WordInContext
from wordstill.evaluation.data.similarity_sets import WordPairs
from wordstill.meaning.distiller import layer_mean
from wordstill.teacher.spans import StateReader

SENTENCES = [
    "The river turned grey.",
    "A river, the old River",
    "nobody knows the house",
    "The small house by the river",
]


def judged(noise, seed):
    """A set on which each representation is the truth with so much noise."""
    generator = np.random.default_rng(seed)
    gold = generator.normal(size=400)
    shared = generator.normal(size=400)
    cosines = {name: gold + size * (shared + 0.3 * generator.normal(size=400)) for name, size in noise.items()}
    return development.Judged(gold, cosines)


def test_what_is_above_the_raw_mean_everywhere_wins():
    sets = {
        "senses": judged({"raw": 1.0, "balanced": 0.8, "one-sided": 0.4, "same": 1.0}, 0),
        "words": judged({"raw": 1.0, "balanced": 0.8, "one-sided": 1.2, "same": 1.0}, 1),
    }
    choice = development.choose(sets, ["one-sided", "balanced", "same"])
    assert choice.chosen == "balanced"
    assert choice.gains["one-sided"]["senses"] > choice.gains["balanced"]["senses"] > 2
    assert choice.gains["one-sided"]["words"] < -2
    assert abs(choice.gains["same"]["words"]) < 2
    assert choice.correlations["senses"]["raw"] < choice.correlations["senses"]["balanced"]
    assert choice.shares["balanced"] > 0.9
    assert sum(choice.shares.values()) == pytest.approx(1.0, abs=0.01)


def test_the_same_seed_gives_the_same_choice():
    sets = {"senses": judged({"raw": 1.0, "a": 0.99, "b": 0.98}, 0)}
    first, second = (development.choose(sets, ["a", "b"]) for _ in range(2))
    assert first == second
    assert 0 < first.shares["a"] < 1


def test_uses_of_words_are_taken_from_sentences():
    found = development.occurrences_of({"river", "house", "absent"}, SENTENCES, count=2)
    assert {
        word: [(occurrence.text, occurrence.word) for occurrence in occurrences] for word, occurrences in found.items()
    } == {
        "river": [(SENTENCES[0], "river"), (SENTENCES[1], "River")],
        "house": [(SENTENCES[2], "house"), (SENTENCES[3], "house")],
    }
    assert development.occurrences_of({"river"}, SENTENCES, count=4) == {}


def test_sets_of_senses_and_of_words(tiny_teacher, monkeypatch):
    first, second = WordInContext(SENTENCES[0], 4, 9), WordInContext(SENTENCES[3], 23, 28)
    pairs = [ContextPair(first, second, 1.0, "river"), ContextPair(first, first, 0.0, "river")]
    data = {
        "wic": ContextParts({"train": pairs, "dev": pairs[:1], "test": pairs * 5}),
        "men-dev": WordPairs(("river", "river"), ("house", "absent"), np.array([3.0, 4.0])),
        "simverb3500-dev": WordPairs(("house",), ("river",), np.array([2.0])),
    }
    monkeypatch.setattr(development, "locate", lambda name: SimpleNamespace(reader=data.get, path=name))
    monkeypatch.setattr(development, "CONTEXTS", 2)
    reader = StateReader(tiny_teacher("bert-uncased"))
    found = development.development(reader, {"raw": layer_mean}, SENTENCES)
    assert list(found) == ["wic", "men-dev", "simverb3500-dev"]
    assert found["wic"].gold.tolist() == [1.0, 0.0, 1.0]
    assert found["wic"].cosines["raw"][1] == pytest.approx(1.0)
    assert found["men-dev"].gold.tolist() == [3.0]
    occurrences = development.occurrences_of({"river", "house"}, SENTENCES, 2)
    states = layer_mean(reader.states([*occurrences["river"], *occurrences["house"]])[0]).numpy()
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    expected = ((unit[0] @ unit[2]) + (unit[1] @ unit[3])) / 2
    assert found["men-dev"].cosines["raw"] == pytest.approx([expected], abs=1e-5)
    assert found["simverb3500-dev"].cosines["raw"] == pytest.approx([expected], abs=1e-5)
