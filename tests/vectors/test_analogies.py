from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors

from wordstill.errors import UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.analogies import RULES, analogies, solve

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
    np.testing.assert_allclose([score for _, score in got], [score for _, score in expected], rtol=2e-5, atol=2e-6)


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
def test_many_questions_are_answered_like_each(vectors, rule):
    answers = analogies(vectors, QUESTIONS, 5, rule, score_bytes=700)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        assert_same_answer(answer, vectors.analogy(*question, 5, rule))
    for answer, whole in zip(answers, vectors.analogy_batch(QUESTIONS, 5, rule), strict=True):
        assert_same_answer(answer, whole)
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
        ((["word1", "word2"], "word2", "word3"), "3cosadd", r"one word, one and one; question 0 has \[2, 1, 1\]"),
        (("word1", [], "word3"), "3cosavg", r"question 0 has \[1, 0, 1\]"),
        (("word1", "word2", ["word3", "word4"]), "3cosavg", r"question 0 has \[1, 1, 2\]"),
        (("word1", "word2", "wird3"), "3cosmul", "'wird3' is not among the 300 words"),
    ],
)
def test_questions_that_cannot_be_answered(vectors, question, rule, message):
    with pytest.raises(UsageError, match=message):
        vectors.analogy(*question, rule=rule)


def made_up(candidates: int = 300, words: int = 25, questions: int = 400, seed: int = 0):
    random = np.random.default_rng(seed)
    table = random.normal(size=(candidates, 12)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    asked = random.choice(candidates, size=words, replace=False)
    banned = [(int(row), *random.choice(candidates, size=word % 3).tolist()) for word, row in enumerate(asked)]
    return table, table[asked], random.integers(0, words, size=(questions, 3)), banned


def slow(table, words, questions, banned, rule):
    """Question by question, in double precision."""
    found = []
    for a, b, c in questions.tolist():
        first, second, third = (table.astype(np.float64) @ words[number] for number in (a, b, c))
        if rule != "3cosmul":
            scores = second - first + third
        else:
            scores = (1 + second) / 2 * (1 + third) / 2 / ((1 + first) / 2 + 1e-6)
        scores[[*banned[a], *banned[b], *banned[c]]] = -np.inf
        found.append(int(scores.argmax()))
    return found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [{}, {"block": 7, "group_bytes": 60}])
def test_the_same_as_question_by_question(rule, seed, sizes):
    case = made_up(seed=seed)
    assert solve(*case, rule, **sizes).tolist() == slow(*case, rule)


@pytest.mark.parametrize("rule", ["3cosadd", "3cosmul"])
def test_the_fast_path_finds_the_best_answers(vectors, rule):
    numbers = np.random.default_rng(1).integers(0, 300, size=(100, 3))
    questions = [tuple(WORDS[number] for number in question) for question in numbers]
    best = [found[0][0] for found in vectors.analogy_batch(questions, 1, rule)]
    rows = solve(vectors.unit, vectors.unit, numbers, [(row,) for row in range(300)], rule)
    assert [WORDS[row] for row in rows] == best


def test_the_fast_path_takes_means_for_3cosavg(vectors):
    unit = vectors.unit
    words = np.stack([unit[[1, 3]].mean(axis=0), unit[[2, 4]].mean(axis=0), unit[7]])
    [row] = solve(unit, words, np.array([[0, 1, 2]]), [(1, 3), (2, 4), (7,)], "3cosavg")
    [(best, _)] = vectors.analogy(["word1", "word3"], ["word2", "word4"], "word7", 1, rule="3cosavg")
    assert WORDS[row] == best


def test_of_equal_candidates_the_first_is_taken():
    table = np.tile(np.array([[1, 0]], dtype=np.float32), (6, 1))
    assert solve(table, table[:3], np.array([[0, 1, 2]]), [(0,), (1,), (2,)], block=2).tolist() == [3]
