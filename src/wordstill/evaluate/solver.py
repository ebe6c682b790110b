"""Answering very many analogy questions at once.

The score of a candidate w for the question a : b :: c is a sum of cosines, cos(w, b) - cos(w, a) + cos(w, c).
So one product gives the cosines of all candidates with each different word of the questions, which are few,
and a question costs an addition and a search for the largest number instead of a product with the whole
table. Candidates are taken in blocks, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluate.protocol import Solver

Single = NDArray[np.float32]
Rows = NDArray[np.int64]

BLOCK_BYTES = 48 << 20
GROUP_BYTES = 1 << 20
SMALLEST_BLOCK = 1024
EPSILON = np.float32(1e-6)
NEVER = np.float32(-np.inf)


def solve(
    candidates: Single,
    words: Single,
    questions: Rows,
    banned: Sequence[Sequence[int]],
    solver: Solver = "3cosadd",
) -> Rows:
    """The best candidate for each question.

    Args:
        candidates: Unit rows to choose from, (candidates, dim).
        words: Unit vectors of the different words of the questions, (words, dim).
        questions: Numbers of the words a, b and c of each question, (questions, 3).
        banned: For each word, the candidates that a question with it must not be answered by.
        solver: 3CosAdd, or 3CosMul with cosines moved to [0, 1].

    Returns:
        Row numbers of candidates, (questions,); of equal scores the first.
    """
    best = np.full(len(questions), NEVER)
    rows = np.zeros(len(questions), dtype=np.int64)
    groups = _groups(questions)
    width = max(SMALLEST_BLOCK, BLOCK_BYTES // (4 * max(1, len(words))))
    for start in range(0, len(candidates), width):
        block = candidates[start : start + width]
        scores = words @ block.T  # (words, candidates of the block)
        if solver == "3cosmul":
            scores = (scores + 1) / 2
        inside = _inside(banned, start, start + len(block))
        for numbers, found, score in _answers(scores, questions, groups, inside, solver):
            better = score > best[numbers]
            best[numbers[better]] = score[better]
            rows[numbers[better]] = found[better] + start
    return rows


def _groups(questions: Rows) -> list[Rows]:
    """Numbers of questions with the same first two words, together."""
    order = np.lexsort((questions[:, 1], questions[:, 0]))
    keys = questions[order, :2].tolist()
    return [
        np.array([order[place] for place in places], dtype=np.int64)
        for _, places in groupby(range(len(order)), key=lambda place: keys[place])
    ]


def _inside(banned: Sequence[Sequence[int]], start: int, end: int) -> dict[int, list[int]]:
    """The banned candidates of each word that lie in a block, counted from its start."""
    found = {}
    for word, rows in enumerate(banned):
        here = [row - start for row in rows if start <= row < end]
        if here:
            found[word] = here
    return found


def _answers(
    scores: Single, questions: Rows, groups: list[Rows], inside: dict[int, list[int]], solver: Solver
) -> Iterator[tuple[Rows, Rows, Single]]:
    """Questions with their best candidates of a block and its score."""
    size = max(1, GROUP_BYTES // (4 * scores.shape[1]))
    for group in groups:
        first, second = questions[group[0], :2].tolist()
        if solver == "3cosadd":
            shared = scores[second] - scores[first]
        else:
            shared = scores[second] / (scores[first] + EPSILON)
        shared[[*inside.get(first, ()), *inside.get(second, ())]] = NEVER
        for start in range(0, len(group), size):
            numbers = group[start : start + size]
            thirds = questions[numbers, 2]
            table = scores[thirds]
            table = (
                np.add(table, shared, out=table)
                if solver == "3cosadd"
                else np.multiply(table, shared, out=table)
            )
            for place, third in enumerate(thirds.tolist()):
                if third in inside:
                    table[place, inside[third]] = NEVER
            found = table.argmax(axis=1)
            yield numbers, found, table[np.arange(len(found)), found]
