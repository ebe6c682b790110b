from __future__ import annotations

import numpy as np
import pytest

from wordstill.evaluate import solver
from wordstill.evaluate.solver import solve


def made_up(candidates: int = 300, words: int = 25, questions: int = 400, seed: int = 0):
    random = np.random.default_rng(seed)
    table = random.normal(size=(candidates, 12)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    asked = random.choice(candidates, size=words, replace=False)
    banned = [
        (int(row), *random.choice(candidates, size=word % 3).tolist()) for word, row in enumerate(asked)
    ]
    return table, table[asked], random.integers(0, words, size=(questions, 3)), banned


def slow(table, words, questions, banned, kind):
    """Question by question, in double precision."""
    found = []
    for a, b, c in questions.tolist():
        first, second, third = (table.astype(np.float64) @ words[number] for number in (a, b, c))
        if kind == "3cosadd":
            scores = second - first + third
        else:
            scores = (1 + second) / 2 * (1 + third) / 2 / ((1 + first) / 2 + 1e-6)
        scores[[*banned[a], *banned[b], *banned[c]]] = -np.inf
        found.append(int(scores.argmax()))
    return found


@pytest.mark.parametrize("kind", ["3cosadd", "3cosmul"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("blocks", ["one", "many"])
def test_the_same_as_question_by_question(monkeypatch, kind, seed, blocks):
    if blocks == "many":
        monkeypatch.setattr(solver, "SMALLEST_BLOCK", 7)
        monkeypatch.setattr(solver, "BLOCK_BYTES", 0)
        monkeypatch.setattr(solver, "GROUP_BYTES", 60)
    case = made_up(seed=seed)
    assert solve(*case, kind).tolist() == slow(*case, kind)


def test_of_equal_candidates_the_first_is_taken(monkeypatch):
    monkeypatch.setattr(solver, "SMALLEST_BLOCK", 2)
    monkeypatch.setattr(solver, "BLOCK_BYTES", 0)
    table = np.tile(np.array([[1, 0]], dtype=np.float32), (6, 1))
    assert solve(table, table[:3], np.array([[0, 1, 2]]), [(0,), (1,), (2,)]).tolist() == [3]
