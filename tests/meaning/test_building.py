from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.meaning import triple_builder
from wordstill.meaning.masked import Candidate
from wordstill.meaning.occurrence import Occurrence
from wordstill.meaning.triple_builder import BuildConfig, TripleBuilder, WordCosines, in_the_case_of, is_name
from wordstill.meaning.triples import Triple
from wordstill.vectors import WordVectors

WORDS = {"promised": 0.0, "assured": 0.5, "left": 1.5, "gave": 1.4, "promises": 0.1, "paris": 3.0, "london": 3.1}
"""Angles in the plane."""


@pytest.fixture(scope="module")
def builder():
    angles = np.array(list(WORDS.values()))
    matrix = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return TripleBuilder(WordCosines(WordVectors(list(WORDS), matrix)))


OCCURRENCE = Occurrence("They promised him coins.", 5, 13)
PREDICTED = [
    Candidate("promised", 0.4),
    Candidate("promises", 0.35),
    Candidate("unknown", 0.3),
    Candidate("left", 0.2),
    Candidate("assured", 0.1),
    Candidate("gave", 0.001),
]


def test_round_trip(builder):
    triple = builder.build(OCCURRENCE, PREDICTED, "They assured him money.", source="round-trip")
    assert triple == Triple(
        OCCURRENCE, Occurrence("They assured him money.", 5, 12), Occurrence("They left him coins.", 5, 9), "round-trip"
    )


@pytest.mark.parametrize("word", ["promised", "promises"])
def test_a_positive_that_is_nearly_the_same_word_is_replaced(builder, word):
    triple = builder.build(OCCURRENCE, PREDICTED, f"Him they {word} money.", source="given")
    assert triple.positive.marked == "Him they [assured] money."
    assert triple.how == "replaced"


@pytest.mark.parametrize("word", ["promised", "Promised"])
def test_as_printed_even_a_name_is_replaced_by_nearly_the_same_word(builder, word):
    given = OCCURRENCE if word == "promised" else Occurrence("They Promised him coins.", 5, 13)
    printed = TripleBuilder(builder.cosines, replace(builder.config, guarded=False))
    triple = printed.build(given, PREDICTED, f"Him they {word} money.", source="given")
    assert triple.positive.word.lower() == "promises" and triple.how == "replaced"
    kept = builder.build(given, PREDICTED, f"Him they {word} money.", source="given")
    assert kept.positive.word == ("assured" if word == "promised" else "Promised")


def test_it_stays_where_nothing_can_replace_it(builder):
    triple = builder.build(OCCURRENCE, [Candidate("left", 0.5)], "Him they promised money.", source="given")
    assert triple.positive.marked == "Him they [promised] money."
    assert triple.how == "given"


def test_substitution(builder):
    triple = builder.build(OCCURRENCE, PREDICTED, None, source="substituted")
    assert triple.positive.text == "They assured him coins."
    assert triple.negative.text == "They left him coins."
    assert "original  They [promised] him coins." in triple.shown()


@pytest.mark.parametrize(
    ("occurrence", "predicted", "paraphrase", "source", "reason"),
    [
        (Occurrence("A zorb.", 2, 6), PREDICTED, None, "substituted", triple_builder.TARGET_UNKNOWN),
        (OCCURRENCE, None, None, "substituted", triple_builder.NOT_PREDICTED),
        (OCCURRENCE, PREDICTED[:3] + PREDICTED[4:], None, "substituted", triple_builder.NO_NEGATIVE),
        (OCCURRENCE, PREDICTED[:4], None, "substituted", triple_builder.NO_SUBSTITUTE),
        (OCCURRENCE, [], "x", "given", triple_builder.NO_NEGATIVE),
        (OCCURRENCE, PREDICTED, "  ", "round-trip", triple_builder.NO_PARAPHRASE),
        (OCCURRENCE, PREDICTED, "Nothing like it.", "round-trip", triple_builder.NOT_ALIGNED),
        (
            Occurrence("We saw Paris.", 7, 12), [Candidate("london", 0.4), Candidate("left", 0.4)],
            None, "substituted", triple_builder.NAME,
        ),
    ],
)  # fmt: skip
def test_reasons(builder, occurrence, predicted, paraphrase, source, reason):
    assert builder.build(occurrence, predicted, paraphrase, source=source) == reason


def test_names_are_kept(builder):
    occurrence = Occurrence("We saw Paris.", 7, 12)
    predicted = [Candidate("london", 0.4), Candidate("left", 0.4)]
    triple = builder.build(occurrence, predicted, "Paris we saw.", source="round-trip")
    assert triple.positive.marked == "[Paris] we saw."
    assert triple.negative.text == "We saw Left."


@pytest.mark.parametrize(
    ("text", "start", "name"),
    [("We saw Paris", 7, True), ("Paris we saw", 0, False), ("So. Paris", 4, False), ("a word", 2, False)],
)
def test_what_a_name_is(text, start, name):
    assert is_name(Occurrence(text, start, start + 4)) is name


@pytest.mark.parametrize(("given", "expected"), [("Bank", "River"), ("BANK", "RIVER"), ("bank", "river")])
def test_case(given, expected):
    assert in_the_case_of(Occurrence(given, 0, 4), "river") == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"similarity": 1.5}, "similarity must be above 0 and below 1; got 1.5"),
        ({"probability": -0.1}, "probability must be 0 or more and below 1; got -0.1"),
        ({"candidates": 0}, "candidates must be 1 or more; got 0"),
    ],
)
def test_impossible_thresholds(settings, message):
    with pytest.raises(UsageError, match=message):
        BuildConfig(**settings)
