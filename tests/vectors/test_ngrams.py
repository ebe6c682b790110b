from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordstill.vectors.oov import NgramIndex


def groups(word: str, sizes: tuple[int, ...]) -> set[str]:
    marked = f"\x02{word.casefold()}\x03"
    return {marked[i : i + size] for size in sizes for i in range(len(marked) - size + 1)}


def slow_sharing(words: list[str], word: str, sizes: tuple[int, ...]) -> dict[int, float]:
    having: dict[str, int] = {}
    for other in words:
        for group in groups(other, sizes):
            having[group] = having.get(group, 0) + 1
    shares = {}
    for row, other in enumerate(words):
        own = groups(other, sizes)
        total = sum(math.log((1 + len(words)) / having[group]) for group in own & groups(word, sizes))
        if total:
            shares[row] = total / math.sqrt(len(own))
    return shares


@given(st.lists(st.text("abAβ🙂\u0301", max_size=6), max_size=8), st.text("abβ🙂", max_size=6))
@settings(max_examples=80, deadline=None)
def test_sharing_is_the_slow_one(words, word):
    for sizes in ((3, 4, 5, 6), (2, 3)):
        rows, shares = NgramIndex(words, sizes).sharing(word)
        expected = slow_sharing(words, word, sizes)
        assert dict(zip(rows.tolist(), shares.tolist())) == pytest.approx(expected)


def test_blocks_of_words_make_no_difference():
    words = ["river", "rivers", "arrive", "queen", "", "a", "queens"]
    whole = NgramIndex(words)
    parts = NgramIndex(words, block_words=2)
    np.testing.assert_array_equal(whole.groups, parts.groups)
    np.testing.assert_array_equal(whole.rows, parts.rows)


def test_alike_gives_the_largest_common_part_first():
    words = ["king", "queens", "quiet", "queen", "kingdom"]
    assert [words[row] for row in NgramIndex(words, (2, 3)).alike("Queem")][:2] == ["queen", "queens"]
    assert len(NgramIndex(words, (2, 3)).alike("queem", count=1)) == 1


def test_an_empty_list_and_a_word_that_shares_nothing():
    assert len(NgramIndex([]).sharing("queen")[0]) == 0
    assert len(NgramIndex(["king"]).sharing("xyzzy")[0]) == 0
    assert len(NgramIndex(["king"]).alike("")) == 0
