"""Settings of retrofitting are chosen on the development half, and on nothing else."""

import numpy as np
import pytest

from experiments.quality import retrofit
from wordstill.evaluation.data.similarity_sets import WordPairs
from wordstill.postprocess.retrofit import Lexicon
from wordstill.vectors import WordVectors

WORDS = [f"w{number}" for number in range(12)]


@pytest.fixture
def table():
    return WordVectors(WORDS, np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32))


def test_the_step_with_the_best_development_half_is_taken(table, monkeypatch):
    steps = retrofit.settings(Lexicon.from_links([("w0", "w1", 1.0)]))
    assert all(step.config.alpha + step.config.beta == pytest.approx(1) for step in steps)
    monkeypatch.setattr(retrofit, "development", lambda vectors: -abs(vectors.similarity("w0", "w1") - 0.5))
    made = retrofit.chosen("x", table, steps)
    values = [each["development"] for each in made.tried]
    assert len(values) == len(steps)
    assert retrofit.development(made.vectors) == pytest.approx(max(values), abs=1e-3)
    assert made.tried[0]["settings"]["alpha"] == retrofit.HOLDS[0]


def test_halves_are_every_second_pair(table, monkeypatch):
    gold = np.array([5.0, 0.0, 4.0, 1.0, 3.0, 2.0])
    pairs = WordPairs(tuple(WORDS[:6]), tuple(WORDS[6:]), gold)

    class Task:
        def __init__(self, name):
            self.dataset = type("Set", (), {"content": pairs})

        def similarities(self, vectors):
            return np.array([0.9, 0.1, 0.8, 0.9, 0.7, 0.5])

    monkeypatch.setattr(retrofit, "SimilarityTask", Task)
    assert retrofit.development(table) == pytest.approx(100)
    assert retrofit.halves(table, lambda numbers: numbers % 2 == 1) == pytest.approx(50)
