from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.teacher.tokenizer import align


def overlapping(spans, word):
    """The obvious way: numbers of all subwords that share a character with the word."""
    start, end = word
    return [number for number, (low, high) in enumerate(spans) if low < high and low < end and high > start]


@st.composite
def spans_and_words(draw):
    """Subwords as tokenizers give them: gaps, several for one character, over several words, without any."""
    spans, start, end = [], 0, 0
    kinds = ["next", "gap", "empty", "zero", "again", "overlap"]
    for _ in range(draw(st.integers(0, 15))):
        kind = draw(st.sampled_from(kinds))
        if kind in ("next", "gap"):
            start = end + (draw(st.integers(1, 3)) if kind == "gap" else 0)
            end = start + draw(st.integers(1, 4))
        elif kind == "overlap":
            start, end = draw(st.integers(start, end)), end + draw(st.integers(1, 2))
        if kind == "zero":
            spans.append((0, 0))
        elif kind == "empty":
            spans.append((end, end))
        elif end > start:
            spans.append((start, end))
    words, here = [], 0
    while here < end + 3:
        here += draw(st.integers(0, 2))
        words.append((here, here + draw(st.integers(1, 4))))
        here = words[-1][1]
    return spans, words


@given(spans_and_words())
def test_against_the_obvious_way(case):
    spans, words = case
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    first, last = align(table[:, 0], table[:, 1], *np.array(words).T)
    for word, low, high in zip(words, first.tolist(), last.tolist()):
        expected = overlapping(spans, word)
        if expected:
            assert (low, high) == (expected[0], expected[-1] + 1)
        else:
            assert low == high


@pytest.mark.parametrize(
    ("spans", "words", "expected"),
    [
        ([(0, 3), (3, 6)], [(0, 6)], [(0, 2)]),
        ([(0, 1), (0, 1), (0, 1), (1, 4)], [(0, 1), (1, 4)], [(0, 3), (3, 4)]),
        ([(0, 3), (3, 5)], [(0, 3), (3, 4), (4, 5)], [(0, 1), (1, 2), (1, 2)]),
        ([(0, 3), (4, 4), (4, 8)], [(0, 3), (4, 8)], [(0, 1), (2, 3)]),
        ([(0, 3), (0, 0), (4, 8)], [(0, 3), (4, 8)], [(0, 1), (2, 3)]),
        ([(0, 2), (2, 2), (2, 4)], [(0, 4)], [(0, 3)]),
        ([(0, 3), (8, 9)], [(0, 3), (4, 7), (8, 9)], [(0, 1), (1, 1), (1, 2)]),
        ([], [(0, 3)], [(0, 0)]),
        ([(0, 3)], [], []),
    ],
    ids=[
        "two subwords", "bytes of one emoji", "a subword over two words", "a lone space mark",
        "a space mark at (0, 0)", "an empty subword inside a word", "a dropped word", "no subwords",
        "no words",
    ],
)  # fmt: skip
def test_known_cases(spans, words, expected):
    subwords, targets = (np.array(rows, dtype=np.int64).reshape(-1, 2) for rows in (spans, words))
    first, last = align(subwords[:, 0], subwords[:, 1], targets[:, 0], targets[:, 1])
    assert list(zip(first.tolist(), last.tolist())) == expected
