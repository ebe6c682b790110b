"""Lengths that weigh words in sentences outlast every transform that is about directions."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill.postprocess import TRANSFORMS, Pipeline
from wordstill.postprocess.retrofit import Lexicon
from wordstill.vectors import WordVectors
from wordstill.vectors.sentences import LENGTHS, SENTENCE_LENGTHS, has_sentence_lengths

ROWS, DIM = 60, 6
WORDS = [f"w{row}" for row in range(ROWS)]
LEXICON = Lexicon.from_links((f"w{row}", f"w{row + 1}", 1.0) for row in range(0, 40, 3))


def make_table(*, weighed: bool) -> WordVectors:
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((ROWS, DIM)) + 0.5
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    if weighed:
        matrix *= generator.uniform(0.05, 1, (ROWS, 1))
    provenance = {LENGTHS: SENTENCE_LENGTHS} if weighed else {}
    return WordVectors(WORDS, matrix.astype(np.float32), counts=np.arange(ROWS, 0, -1), provenance=provenance)


def make(name):
    kind = TRANSFORMS[name]
    other = WordVectors(WORDS[::-1], np.random.default_rng(1).standard_normal((ROWS, DIM)).astype(np.float32))
    given = {
        "concatenate": {"table": other},
        "average": {"table": other},
        "faruqui": {"lexicon": LEXICON},
        "context-graph": {"lexicon": LEXICON},
        "counterfit": {"antonyms": LEXICON},
    }
    return kind(kind.config_type(**given.get(name, {})))


@pytest.mark.parametrize("name", [name for name, kind in TRANSFORMS.items() if kind.of_directions])
def test_directions_change_and_lengths_do_not(name):
    table, unit = make_table(weighed=True), make_table(weighed=False)
    after, expected = make(name).fit_transform(table), make(name).fit_transform(unit)
    assert after.words == expected.words == table.words
    lengths = [np.linalg.norm(vectors.matrix, axis=1) for vectors in (table, after)]
    np.testing.assert_allclose(lengths[1], lengths[0], rtol=1e-5)
    np.testing.assert_allclose(after.unit, expected.unit, atol=1e-4)
    assert has_sentence_lengths(after)


@pytest.mark.parametrize(("spec", "error"), [("quantise", 1e-2), ("pq", 1e-3), ("trim", 0), ("subwords", 0)])
def test_other_steps_keep_rows_as_they_are(spec, error):
    table = make_table(weighed=True)
    after = Pipeline.from_spec(spec).fit_transform(table)
    lengths = [np.linalg.norm(vectors.matrix, axis=1) for vectors in (table, after)]
    np.testing.assert_allclose(lengths[1], lengths[0], rtol=max(error, 1e-6))
    assert has_sentence_lengths(after)


def test_unit_says_that_they_are_lost():
    after = Pipeline.from_spec("unit").fit_transform(make_table(weighed=True))
    assert not has_sentence_lengths(after)
    assert after.provenance[LENGTHS] == "unit"
    assert LENGTHS not in Pipeline.from_spec("unit").fit_transform(make_table(weighed=False)).provenance


def test_a_word_of_the_second_table_gets_the_median_length():
    table = make_table(weighed=True)
    kind = TRANSFORMS["concatenate"]
    other = WordVectors(["new"], np.ones((1, 2), np.float32))
    after = kind(kind.config_type(table=other, words="all")).fit_transform(table)
    median = np.median(np.linalg.norm(table.matrix, axis=1))
    assert np.linalg.norm(after["new"]) == pytest.approx(median, rel=1e-5)
