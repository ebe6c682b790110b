from __future__ import annotations

import sys

import numpy as np
import pytest

from wordstill.errors import MissingExtra, UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.ann import ApproximateNeighbors


@pytest.fixture(scope="module")
def table():
    matrix = np.random.default_rng(0).standard_normal((2000, 20)).astype(np.float32)
    return WordVectors([f"w{number}" for number in range(2000)], matrix)


@pytest.fixture(params=["basic", "usearch"])
def index(table, request):
    pytest.importorskip("vicinity", reason="the extra ann is not installed")
    if request.param != "basic":
        pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    return ApproximateNeighbors(table, request.param)


def test_most_answers_are_the_exact_ones(table, index):
    words = list(table.words[:100])
    exact, found = table.neighbors(words, 10), index.neighbors(words, 10)
    same = [len(dict(a).keys() & dict(b).keys()) for a, b in zip(exact, found, strict=True)]
    assert np.mean(same) > 9
    assert all(len(answer) == 10 for answer in found)
    assert all(word not in dict(answer) for word, answer in zip(words, found, strict=True))
    scores = dict(exact[0])
    for word, score in found[0]:
        if word in scores:
            assert score == pytest.approx(scores[word], abs=2e-3)


def test_rows_of_a_matrix(table, index):
    (answer,) = index.neighbors(table.matrix[7:8] * 3, 1)
    assert answer[0][0] == "w7"


def test_edges(table, index):
    assert index.neighbors([]) == []
    assert index.neighbors(["w1"], 0) == [[]]
    with pytest.raises(UsageError, match="needs a list of words"):
        index.neighbors("w1")
    with pytest.raises(UsageError, match="'nothing' is not among"):
        index.neighbors(["nothing"])


def test_unknown_backends(table):
    pytest.importorskip("vicinity", reason="the extra ann is not installed")
    with pytest.raises(UsageError, match=r"Unknown backend of vicinity 'usarch'\. Did you mean 'usearch'"):
        ApproximateNeighbors(table, "usarch")


def test_without_the_package_the_extra_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "vicinity", None)
    with pytest.raises(MissingExtra, match=r"pip install 'wordstill\[ann\]'"):
        ApproximateNeighbors(table)
