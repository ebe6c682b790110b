from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.vectors.oov import likeness, near_in_spelling


@pytest.mark.parametrize(
    ("word", "expected"),
    [("queem", "queen"), ("QUEEN", "queen"), ("berlin", "Berlin"), ("xueen", "queen"), ("zzzzzzzz", None)],
)
def test_near_in_spelling(word, expected):
    near = near_in_spelling(word, ["king", "queen", "Berlin", "quiet", ""])
    assert (near[0] if near else None) == expected


def slow_steps(a: str, b: str) -> int:
    """Fewest letters put in, taken out, exchanged or swapped with a neighbour, by trying everything."""

    @functools.cache
    def steps(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        ways = [steps(i - 1, j) + 1, steps(i, j - 1) + 1, steps(i - 1, j - 1) + (a[i - 1] != b[j - 1])]
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            ways.append(steps(i - 2, j - 2) + 1)
        return min(ways)

    return steps(len(a), len(b))


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_likeness_is_the_slow_edit_distance(a, b):
    assert likeness(a, b) == pytest.approx(1 - slow_steps(a, b) / max(len(a), len(b), 1))
    assert likeness(a, b) == likeness(b, a) == likeness(a.upper(), b)


@pytest.mark.parametrize(
    ("a", "b", "expected"), [("queen", "queen", 1), ("qeuen", "queen", 0.8), ("", "", 1), ("ab", "cd", 0)]
)
def test_likeness(a, b, expected):
    assert likeness(a, b) == pytest.approx(expected)
