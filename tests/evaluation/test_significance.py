"""Permutations of groups, and p-values for several tests, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill.evaluation.significance import all_are_made, false_discovery_rates, holm, p_values, splits


def test_splits_are_each_way_once_or_random_ones_of_the_right_size():
    random = np.random.default_rng(0)
    ways = np.concatenate(list(splits(7, 3, 35, random)))
    assert len(np.unique(ways, axis=0)) == 35
    drawn = np.concatenate(list(splits(20, 6, 5000, random)))
    assert drawn.shape == (5000, 20)
    assert set(drawn.sum(axis=1)) == {6}
    assert drawn.mean(axis=0) == pytest.approx(np.full(20, 0.3), abs=0.03)
    assert all_are_made(7, 3, 35)
    assert not all_are_made(7, 3, 34)


def test_the_given_split_counts_once():
    assert p_values([1, 5], 10, exact=True) == pytest.approx([0.1, 0.5])
    assert p_values([0, 4], 9, exact=False) == pytest.approx([0.1, 0.5])


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], []), ([0.02], [0.02]), ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.5, 0.9, 0.4], [1.0, 1.0, 1.0])],
)
def test_holm(given, expected):
    assert holm(given) == pytest.approx(expected)


def test_false_discovery_rates():
    assert false_discovery_rates([0.04, 0.01, 0.5, 0.02]) == pytest.approx([0.04 * 4 / 3, 0.04, 0.5, 0.04])
    assert false_discovery_rates([]) == []
