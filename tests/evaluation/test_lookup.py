from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from wordstill.errors import DataError
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.similarity import SimilarityTask
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit


def looked_up(words, vectors, **rules) -> Lookup:
    return Lookup.of(words, vectors, Protocol("p", **rules))


def test_words_stand_once(random_vectors):
    vectors = random_vectors("abc")
    found = looked_up(["a", "b", "a", "x"], vectors)
    assert found.place == {"a": 0, "b": 1, "x": 2}
    assert found.numbers(["x", "a"]).tolist() == [2, 0]
    assert np.array_equal(found.matrix[:2], vectors.matrix[:2].astype(float))
    assert found.known.tolist() == found.usable.tolist() == [True, True, False]
    assert not found.matrix[2].any()


def test_the_mean_of_those_that_count(random_vectors):
    vectors = random_vectors("abcd")
    found = looked_up(["a", "x"], vectors, oov="mean", max_vocab=2)
    assert found.matrix[1] == pytest.approx(vectors.matrix[:2].mean(axis=0), abs=1e-6)
    assert (found.known.tolist(), found.usable.tolist()) == ([True, False], [True, True])


def test_back_off_to_words_with_like_letters(random_vectors):
    vectors = random_vectors(["walking", "walked", "banana"])
    found = looked_up(["walkings", "qqq"], vectors, oov="backoff")
    assert (found.known.tolist(), found.usable.tolist()) == ([False, False], [True, False])
    cosines = unit(found.matrix[:1]) @ vectors.unit.T
    assert cosines[0].argmax() == 0


def test_back_off_of_the_table(random_vectors):
    class Always:
        name = "always"

        def find(self, words):
            return [1 if word == "first" else np.ones(20, dtype=np.float32) for word in words]

    vectors = random_vectors("abc").with_backoff(Always())
    found = looked_up(["first", "second"], vectors, oov="backoff")
    assert found.matrix[0] == pytest.approx(vectors.matrix[1], abs=1e-6)
    assert found.matrix[1].tolist() == [1] * 20
    cut = looked_up(["first"], vectors, oov="backoff", max_vocab=1)
    assert not cut.usable.any()


def test_broken_vectors_are_named():
    matrix = np.ones((2, 3), dtype=np.float32)
    vectors = WordVectors(["a", "b"], matrix)
    matrix[1, 1] = np.nan
    with pytest.raises(DataError, match=r"'b' \(row 1\)"):
        looked_up(["b"], vectors)
    with pytest.raises(DataError, match="mean of all vectors"):
        looked_up(["x"], vectors, oov="mean")
    looked_up(["a"], vectors)


def test_rows_of_zeros_stay_zeros():
    assert unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_pairs_that_only_back_offs_cover_get_a_score(tmp_path):
    names = ["walked", "talked", "jumped", "painted", "cooked", "played", "worked", "looked"]
    vectors = WordVectors(names, np.random.default_rng(0).normal(size=(len(names), 5)).astype(np.float32))
    path = tmp_path / "pairs.txt"
    path.write_text("".join(f"{a}s {b}s {score}\n" for score, (a, b) in enumerate(pairwise(names))))
    task = SimilarityTask(path)
    assert task.run(vectors).value is None
    filled = task.run(vectors, Protocol("p", oov="backoff"))
    assert filled.value is not None
    assert (filled.n, filled.coverage.used) == (7, 0)
