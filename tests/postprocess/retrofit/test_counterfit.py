from __future__ import annotations

import math

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.postprocess.retrofit import CounterFit, CounterFitConfig, Lexicon
from wordstill.vectors import WordVectors

DIM = 8


@pytest.fixture
def table():
    """``hot`` and ``cold`` near each other, ``warm`` near hot, ``chilly`` near cold, and others."""
    generator = np.random.default_rng(0)
    heat = generator.standard_normal(DIM)
    near = [heat + scale * generator.standard_normal(DIM) for scale in (0.2, 0.25, 0.05, 0.3)]
    near[2] = near[0] + 0.2 * generator.standard_normal(DIM)
    near[3] = near[1] + 0.2 * generator.standard_normal(DIM)
    others = [generator.standard_normal(DIM) for _ in range(5)]
    words = ["hot", "cold", "warm", "chilly", *"abcde"]
    return WordVectors(words, np.array(near + others, np.float32), provenance={"seed": 0})


ANTONYMS = Lexicon.from_links([("hot", "cold", 1.0)], {"file": "antonyms.csv"})
SYNONYMS = Lexicon.from_links([("hot", "warm", 1.0), ("cold", "chilly", 1.0), ("a", "b", 1.0)])


def fitted(table, **settings):
    step = CounterFit(CounterFitConfig(antonyms=ANTONYMS, **settings))
    return step, step.fit_transform(table)


def slow_pass(vectors, bounds, moving, step):
    """One pass over unit vectors by name; bounds are (word, word, sign, cosine, weight)."""
    pulls = {word: (np.zeros(DIM), 0.0) for word in vectors}
    for one, other, sign, bound, weight in bounds:
        cosine = vectors[one] @ vectors[other]
        if sign * (bound - cosine) > 1e-5:
            for word, partner in ((one, other), (other, one)):
                gradient = vectors[partner] - cosine * vectors[word]
                total, strength = pulls[word]
                pulls[word] = total + sign * weight * gradient, strength + weight
    moved = dict(vectors)
    for word in moving:
        total, strength = pulls[word]
        new = vectors[word] + (step * total / strength if strength else 0)
        moved[word] = new / np.linalg.norm(new)
    return moved


def test_as_the_slow_loop(table):
    step, moved = fitted(table, synonyms=SYNONYMS, passes=3, margin=0.9, attract=0.3, radius=0.4)
    unit = {word: table.unit[row].astype(float) for row, word in enumerate(table)}
    moving = ["hot", "cold", "warm", "chilly", "a", "b"]
    bounds = [("hot", "cold", -1, 0.1, 0.1)]
    bounds += [(one, other, 1, 1.0, 0.3) for one, other, _ in SYNONYMS.links()]
    words = list(table)
    for place, one in enumerate(words):
        for other in words[place + 1 :]:
            cosine = unit[one] @ unit[other]
            antonyms = {one, other} == {"hot", "cold"}
            if cosine >= 0.6 and (one in moving or other in moving) and not antonyms:
                bounds.append((one, other, 1, cosine, 0.1))
    assert len(bounds) > 6
    for _ in range(3):
        unit = slow_pass(unit, bounds, moving, 0.1)
    np.testing.assert_allclose(moved.matrix, np.stack(list(unit.values())), atol=1e-4)
    assert step.moved_words == 6


def test_opposites_go_apart_as_far_as_the_margin_and_others_stay(table):
    assert table.similarity("hot", "cold") > 0.8
    step, moved = fitted(table, radius=0.0, passes=100, margin=1.0)
    assert moved.similarity("hot", "cold") < 0.1
    assert step.objective[-1] < 0.1 * step.objective[0]
    np.testing.assert_allclose(moved.unit[2:], table.unit[2:], atol=1e-6)
    _, half = fitted(table, radius=0.0, passes=100, margin=0.5)
    assert half.similarity("hot", "cold") == pytest.approx(0.5, abs=0.08)


def test_what_was_near_holds_back(table):
    _, free = fitted(table, radius=0.0)
    _, held = fitted(table, radius=0.3, keep=1.0)
    assert held.similarity("hot", "warm") > free.similarity("hot", "warm")


def test_synonyms_come_together(table):
    _, moved = fitted(table, synonyms=SYNONYMS)
    assert moved.similarity("a", "b") > table.similarity("a", "b") + 0.2


def test_record(table):
    _, moved = fitted(table)
    (entry,) = moved.provenance["transforms"]
    assert (entry["name"], entry["antonyms"], entry["synonyms"]) == ("counterfit.v1", {"file": "antonyms.csv"}, "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": 0}, "margin must be above 0"),
        ({"margin": 2.5}, "margin must be above 0 and at most 2"),
        ({"radius": -0.1}, "radius must be 0 or more"),
        ({"radius": 1.0}, "radius must be 0 or more and below 1; got 1.0"),
        ({"nearness": math.nan}, "nearness must be 0 or more"),
        ({"step": math.inf}, "step must be above 0 and at most 3e[+]38"),
        ({"passes": -1}, "passes must be 0 or more"),
        ({"case": "upper"}, "Unknown value of case 'upper'"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(UsageError, match=message):
        CounterFitConfig(antonyms=ANTONYMS, **settings)


def test_antonyms_must_be_named(table):
    with pytest.raises(UsageError, match="counterfit:antonyms must name a lexicon"):
        CounterFit().fit(table)
