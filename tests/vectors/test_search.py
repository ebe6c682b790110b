from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordstill.vectors.search import CACHED_ROWS, CROWD, BestRows, nearest, unit_rows


def slow_nearest(unit, query, topn, banned=()):
    scores = [(-float(row @ query), number) for number, row in enumerate(unit) if number not in banned]
    return [number for _, number in sorted(scores)[:topn]]


def whole_numbers(rows, dim, seed=0):
    """Small whole numbers: their products are exact, so that ties are real ties."""
    return np.random.default_rng(seed).integers(-2, 3, (rows, dim)).astype(np.float32)


def test_unit_rows_have_length_one_and_zeros_stay():
    matrix = np.array([[3, 4], [0, 0], [-1e-30, 0], [3e38, 3e38], [1e-45, 0]], dtype=np.float32)
    unit = unit_rows(matrix)
    assert unit.dtype == np.float32
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0], [-1, 0], [0.5**0.5] * 2, [1, 0]], rtol=1e-6)


def test_unit_rows_over_several_blocks():
    matrix = np.random.default_rng(0).standard_normal((2 * CACHED_ROWS + 3, 5)).astype(np.float16)
    one_by_one = np.concatenate([unit_rows(row) for row in matrix[:, None]])
    np.testing.assert_array_equal(unit_rows(matrix), one_by_one)


@pytest.mark.parametrize("topn", [1, 3, 40, 100])
@pytest.mark.parametrize("score_bytes", [1, 500, 1 << 20])
def test_nearest_is_the_slow_search_with_ties_in_row_order(topn, score_bytes):
    unit, queries = whole_numbers(40, 3), whole_numbers(7, 3, seed=1)
    exclude = [[], [0], [1, 2], [39], [], [5, 6, 7], []]
    found = list(nearest(unit, queries, topn, exclude, score_bytes=score_bytes))
    assert len(found) == len(queries)
    for query, banned, (rows, scores) in zip(queries, exclude, found):
        assert rows.tolist() == slow_nearest(unit, query, topn, banned)
        np.testing.assert_array_equal(scores, unit[rows] @ query)


@pytest.mark.parametrize("topn", [0, -1])
def test_nearest_of_none(topn):
    (rows, scores), *_ = nearest(whole_numbers(4, 2), whole_numbers(1, 2), topn, [[1]])
    assert len(rows) == len(scores) == 0


def test_nearest_in_an_empty_table():
    (rows, _), *_ = nearest(np.empty((0, 2), np.float32), whole_numbers(1, 2), 3)
    assert len(rows) == 0


@pytest.mark.parametrize("direction", [1, -1])
def test_rows_in_order_of_their_scores_do_not_pile_up(direction):
    most = 0

    class Counting(BestRows):
        def merge(self, owners, rows, scores):
            nonlocal most
            most = max(most, len(owners))
            super().merge(owners, rows, scores)

    best = Counting(3, 2, [()] * 3)
    scores = np.tile(np.arange(1000, dtype=np.float32)[::direction], (3, 1))
    for start in range(0, 1000, 64):
        best.offer(scores[:, start : start + 64].copy(), start)
    for rows, _ in best.each():
        assert rows.tolist() == ([999, 998] if direction == 1 else [0, 1])
    assert most <= 3 * 2 * CROWD


def test_more_queries_than_a_block():
    unit, queries = whole_numbers(30, 4), whole_numbers(8, 4, seed=1)
    exclude = [[number] for number in range(8)]
    found = nearest(unit, queries, 5, exclude, query_block=3)
    for query, banned, (rows, _) in zip(queries, exclude, found, strict=True):
        assert rows.tolist() == slow_nearest(unit, query, 5, banned)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 6), st.integers(1, 70), st.integers(1, 999))
@settings(max_examples=60, deadline=None)
def test_any_blocks_give_the_slow_search(seed, size, queries, topn, score_bytes):
    generator = np.random.default_rng(seed)
    unit, asked = whole_numbers(size, 2, seed), whole_numbers(queries, 2, seed + 1)
    exclude = [generator.integers(0, size, generator.integers(0, 4)).tolist() for _ in range(queries)]
    found = nearest(unit, asked, topn, exclude, score_bytes=score_bytes)
    for query, banned, (rows, _) in zip(asked, exclude, found, strict=True):
        assert rows.tolist() == slow_nearest(unit, query, topn, banned)
