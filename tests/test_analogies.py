from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors

from wordstill import neighbours
from wordstill.analogies import RULES
from wordstill.errors import UsageError
from wordstill.vectors import WordVectors

WORDS = [f"word{number}" for number in range(300)]
QUESTIONS = [("word1", "word2", "word3"), ("word9", "word9", "word4"), ("word299", "word0", "word5")]


@pytest.fixture(scope="module")
def matrix():
    return np.random.default_rng(3).standard_normal((300, 12)).astype(np.float32) + 0.2


@pytest.fixture(scope="module")
def vectors(matrix):
    return WordVectors(WORDS, matrix)


@pytest.fixture(scope="module")
def oracle(matrix):
    keyed = KeyedVectors(12)
    keyed.add_vectors(WORDS, matrix)
    return keyed


def assert_same_answer(got, expected):
    assert [word for word, _ in got] == [word for word, _ in expected]
    np.testing.assert_allclose(
        [score for _, score in got], [score for _, score in expected], rtol=2e-5, atol=2e-6
    )


@pytest.mark.parametrize(("a", "b", "c"), QUESTIONS)
@pytest.mark.parametrize("topn", [1, 10, 400])
@pytest.mark.filterwarnings("ignore:Call to deprecated")
def test_3cosadd_and_3cosmul_are_gensims(vectors, oracle, a, b, c, topn):
    assert_same_answer(vectors.analogy(a, b, c, topn), oracle.most_similar([b, c], [a], topn))
    got = vectors.analogy(a, b, c, topn, rule="3cosmul")
    assert_same_answer(got, oracle.most_similar_cosmul([b, c], [a], topn))


def test_3cosavg_is_the_mean_offset(vectors):
    unit = vectors.unit.astype(np.float64)
    target = unit[[2, 4]].mean(axis=0) - unit[[1, 3, 5]].mean(axis=0) + unit[7]
    cosines = unit @ target / np.linalg.norm(target)
    asked = {1, 2, 3, 4, 5, 7}
    expected = [number for number in np.argsort(-cosines) if number not in asked][:6]
    got = vectors.analogy(["word1", "word3", "word5"], ["word2", "word4"], "word7", 6, rule="3cosavg")
    assert [word for word, _ in got] == [WORDS[number] for number in expected]
    one_pair = vectors.analogy("word1", "word2", "word7", rule="3cosavg")
    assert_same_answer(one_pair, vectors.analogy("word1", "word2", "word7"))


@pytest.mark.parametrize("rule", RULES)
def test_many_questions_are_answered_like_each(vectors, monkeypatch, rule):
    monkeypatch.setattr(neighbours, "SCORE_BYTES", 700)
    monkeypatch.setattr(neighbours, "QUERY_BLOCK", 2)
    for question, answer in zip(QUESTIONS, vectors.analogy_batch(QUESTIONS, 5, rule), strict=True):
        assert_same_answer(answer, vectors.analogy(*question, 5, rule))
    assert vectors.analogy_batch([], 5, rule) == []


def test_a_vector_may_stand_for_a_word(vectors):
    got = vectors.analogy(vectors["word1"] * 3, "word2", "word3", rule="3cosmul", topn=300)
    with_word = vectors.analogy("word1", "word2", "word3", rule="3cosmul", topn=300)
    assert_same_answer([pair for pair in got if pair[0] != "word1"], with_word)
    assert len(got) == len(with_word) + 1


@pytest.mark.parametrize(
    ("question", "rule", "message"),
    [
        (("word1", "word2", "word3"), "3cos", "Unknown rule for analogies '3cos'. Did you mean"),
        (
            (["word1", "word2"], "word2", "word3"),
            "3cosadd",
            r"one word, one and one; question 0 has \[2, 1, 1\]",
        ),
        (("word1", [], "word3"), "3cosavg", r"question 0 has \[1, 0, 1\]"),
        (("word1", "word2", ["word3", "word4"]), "3cosavg", r"question 0 has \[1, 1, 2\]"),
        (("word1", "word2", "wird3"), "3cosmul", "'wird3' is not among the 300 words"),
    ],
)
def test_questions_that_cannot_be_answered(vectors, question, rule, message):
    with pytest.raises(UsageError, match=message):
        vectors.analogy(*question, rule=rule)
