from __future__ import annotations

import sys
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from wordstill.errors import DataError, MissingExtra
from wordstill.evaluation import statistics
from wordstill.evaluation.score import ItemScores, compare
from wordstill.evaluation.statistics import all_are_made, false_discovery_rates, holm, p_values, spearman, splits

TIED = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=30)


def correlated(pairs: int, correlation: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    gold, noise = random.normal(size=(2, pairs))
    return gold, correlation * gold + np.sqrt(1 - correlation**2) * noise


def interval(gold: np.ndarray, predicted: np.ndarray, seed: int) -> statistics.Interval:
    return ItemScores("spearman", predicted, gold).interval(seed)


def paired(gold, first, second, seed: int, resamples: int = 1000) -> statistics.PairedTest:
    return compare(*(ItemScores("spearman", one, gold) for one in (first, second)), seed, resamples)


def reference_resamples(gold: np.ndarray, predicted: np.ndarray, seed: int, resamples: int) -> np.ndarray:
    """Every resample drawn, written out and ranked by scipy."""
    drawn = np.random.default_rng(seed).integers(0, len(gold), size=(resamples, len(gold)))
    with np.errstate(all="ignore"):
        return np.array([spearmanr(gold[row], predicted[row]).statistic for row in drawn])


@settings(deadline=None)
@given(rows=TIED)
def test_spearman_with_ties_is_scipys(rows):
    gold, predicted = np.array(rows, dtype=np.float64).T
    assume(np.ptp(gold) > 0 and np.ptp(predicted) > 0)
    assert spearman(gold, predicted) == pytest.approx(spearmanr(gold, predicted).statistic, abs=1e-12)


def test_spearman_is_of_ranks_only():
    gold = np.array([1.0, 2.0, 3.0, 4.0])
    assert spearman(gold, np.exp(gold)) == pytest.approx(1.0)
    assert spearman(gold, -(gold**3)) == pytest.approx(-1.0)


def test_spearman_of_a_constant_is_undefined():
    assert np.isnan(spearman(np.arange(4.0), np.ones(4)))


@pytest.mark.filterwarnings("ignore:An input array is constant")
@settings(deadline=None, max_examples=25)
@given(rows=TIED, seed=st.integers(0, 5))
def test_resamples_are_those_of_the_slow_way(rows, seed):
    gold, predicted = np.array(rows, dtype=np.float64).T
    fast = statistics.resampled_correlations(gold, predicted[None, :], seed, 12)[:, 0]
    np.testing.assert_allclose(fast, reference_resamples(gold, predicted, seed, 12), atol=1e-12)


def test_blocks_of_resamples_do_not_show():
    gold, predicted = correlated(50, 0.4, 0)
    whole, blocks = (
        statistics.resampled_correlations(gold, predicted[None, :], 3, 100, cells=cells)
        for cells in (statistics.BLOCK_CELLS, 70)
    )
    np.testing.assert_allclose(blocks, whole, atol=1e-12)


def test_interval_is_the_percentiles_of_the_slow_way():
    gold, predicted = correlated(40, 0.6, 1)
    expected = np.percentile(reference_resamples(gold, predicted, 0, 1000), [2.5, 97.5])
    assert interval(gold, predicted, seed=0) == pytest.approx(expected, abs=1e-12)


def test_interval_is_determined_by_the_seed():
    gold, predicted = correlated(60, 0.5, 2)
    assert interval(gold, predicted, seed=1) == interval(gold, predicted, seed=1)
    assert interval(gold, predicted, seed=1) != interval(gold, predicted, seed=2)


def test_interval_covers_the_truth_about_95_times_in_100():
    correlation, trials = 0.6, 200
    truth = 6 / np.pi * np.arcsin(correlation / 2)
    hits, widths = 0, []
    for seed in range(trials):
        low, high = interval(*correlated(100, correlation, seed), seed=seed)
        hits += low <= truth <= high
        widths.append(high - low)
    # Four standard errors of a share of 0.95 in 200 trials are 0.06.
    assert 0.89 <= hits / trials <= 1.0
    assert 0.2 < np.mean(widths) < 0.35


def test_interval_of_three_pairs_is_finite():
    low, high = interval(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2]), seed=0)
    assert -1 <= low <= high <= 1


def test_three_thousand_pairs_take_well_under_a_second():
    gold, predicted = correlated(3000, 0.5, 0)
    gold = np.round(gold * 10)
    start = time.process_time()
    interval(gold, predicted, seed=0)
    assert time.process_time() - start < 1.0


def test_paired_test_sees_a_clear_difference():
    gold, better = correlated(300, 0.8, 0)
    worse = correlated(300, 0.3, 0)[1] + np.random.default_rng(9).normal(size=300)
    result = paired(gold, better, worse, seed=0)
    assert result.difference == pytest.approx(spearman(gold, better) - spearman(gold, worse))
    assert 0 < result.interval.low < result.difference < result.interval.high
    assert result.p_value < 0.01
    mirrored = paired(gold, worse, better, seed=0)
    assert mirrored.difference == pytest.approx(-result.difference)
    assert mirrored.p_value == result.p_value


def test_paired_test_is_that_of_the_slow_way():
    gold, first = correlated(40, 0.5, 3)
    second = first + np.random.default_rng(4).normal(size=40)
    result = paired(gold, first, second, seed=5, resamples=300)
    slow = reference_resamples(gold, first, 5, 300) - reference_resamples(gold, second, 5, 300)
    assert result.interval == pytest.approx(np.percentile(slow, [2.5, 97.5]), abs=1e-12)
    assert 0 < (slow <= 0).sum() < 150
    assert result.p_value == pytest.approx(2 * ((slow <= 0).sum() + 1) / 301)


def test_paired_test_of_a_model_with_itself_finds_nothing():
    gold, model = correlated(50, 0.5, 0)
    result = paired(gold, model, model, seed=0)
    assert (result.difference, result.interval, result.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_paired_test_uses_that_the_pairs_are_the_same():
    gold, model = correlated(200, 0.5, 0)
    twin = model + 0.01 * np.random.default_rng(1).normal(size=200)
    both = paired(gold, model, twin, seed=0).interval
    single = interval(gold, model, seed=0)
    assert both.high - both.low < (single.high - single.low) / 10


def test_paired_test_is_seldom_wrong_where_there_is_no_difference():
    trials, alarms = 150, 0
    for seed in range(trials):
        random = np.random.default_rng(seed)
        gold = random.normal(size=80)
        first, second = gold + random.normal(size=(2, 80))
        alarms += paired(gold, first, second, seed=seed, resamples=400).p_value < 0.05
    assert 0 < alarms / trials < 0.13


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        (np.arange(3.0), np.arange(4.0)),
        (np.ones(1), np.ones(1)),
        (np.ones((2, 2)), np.ones((2, 2))),
        (np.arange(3.0), np.array([1.0, np.nan, 2.0])),
        (np.array([1.0, np.inf, 2.0]), np.arange(3.0)),
    ],
)
def test_wrong_input(gold, predicted):
    with pytest.raises(DataError, match="correlation needs"):
        spearman(gold, predicted)


def test_without_scipy_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingExtra, match="scipy"):
        spearman(np.arange(3.0), np.arange(3.0))


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
