from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from wordstill.errors import DataError
from wordstill.evaluation.score import ItemScores, compare
from wordstill.evaluation.statistics import pearson, resampled_means


def rows(seed: int, size: int = 200):
    random = np.random.default_rng(seed)
    gold = random.normal(size=size)
    return gold, gold + random.normal(size=size), gold + 3 * random.normal(size=size)


def test_pearson_against_scipy():
    gold, near, _ = rows(0)
    assert pearson(gold, near) == pytest.approx(pearsonr(gold, near).statistic, abs=1e-12)
    assert np.isnan(pearson(gold, np.ones_like(gold)))


@pytest.mark.parametrize("statistic", ["spearman", "pearson"])
def test_the_interval_of_a_correlation_is_about_that_of_fisher(statistic):
    gold, near, _ = rows(1, 400)
    items = ItemScores(statistic, near, gold)
    low, high = items.interval(seed=0)
    centre, half = np.arctanh(items.value()), 1.96 / np.sqrt(397)
    assert (low, high) == pytest.approx((np.tanh(centre - half), np.tanh(centre + half)), abs=0.03)


def test_the_interval_of_a_share_is_that_of_the_binomial():
    right = np.zeros(500)
    right[:150] = 1
    low, high = ItemScores("mean", right).interval(seed=0)
    assert (low, high) == pytest.approx((0.26, 0.34), abs=0.008)


def test_resampled_means_are_those_of_drawn_items():
    values = np.random.default_rng(0).normal(size=(2, 50))
    drawn = resampled_means(values, seed=1, resamples=20_000)
    assert drawn.mean(axis=0) == pytest.approx(values.mean(axis=1), abs=0.01)
    assert drawn.std(axis=0) == pytest.approx(values.std(axis=1) / np.sqrt(50), rel=0.03)
    correlation = np.corrcoef(values)[0, 1]
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(correlation, abs=0.03)


def test_groups_are_scores_of_their_own():
    gold, near, far = rows(2)
    groups = np.arange(200) % 3
    items = ItemScores("pearson", np.where(groups == 2, far, near), gold, groups)
    scores = [pearsonr(items.predicted[groups == g], gold[groups == g]).statistic for g in range(3)]
    assert items.value() == pytest.approx(np.mean(scores))
    uneven = ItemScores("pearson", items.predicted, gold, np.minimum(groups, 1), weighted=True)
    low, high = uneven.interval(seed=0)
    assert low < uneven.value() < high


def test_items_that_are_left_out_do_not_count():
    gold, near, _ = rows(3)
    gaps = near.copy()
    gaps[::4] = np.nan
    kept = ~np.isnan(gaps)
    assert ItemScores("pearson", gaps, gold).value() == pytest.approx(pearsonr(near[kept], gold[kept]).statistic)
    assert np.isnan(ItemScores("spearman", np.full(5, np.nan), np.arange(5.0)).value())
    assert ItemScores("pearson", near, gold).only(kept).value() == ItemScores("pearson", gaps, gold).value()


def test_compare_sees_a_clear_difference():
    gold, near, far = rows(4)
    test = compare(ItemScores("spearman", near, gold), ItemScores("spearman", far, gold), seed=5)
    assert test.p_value < 0.05 and test.interval.low > 0


def test_compare_uses_the_items_of_both():
    gold, near, far = rows(5)
    gaps = near.copy()
    gaps[:50] = np.nan
    test = compare(ItemScores("spearman", gaps, gold), ItemScores("spearman", far, gold), seed=0)
    kept = (ItemScores("spearman", one[50:], gold[50:]) for one in (near, far))
    assert test == compare(*kept, seed=0)


def test_equal_tables_do_not_differ():
    right = np.array([1.0, 0, 1, 1, 0, 1] * 10)
    test = compare(ItemScores("mean", right), ItemScores("mean", right), seed=0)
    assert (test.difference, test.p_value) == (0, 1)


def test_a_share_that_differs():
    random = np.random.default_rng(0)
    better, worse = ((random.random(2000) < share).astype(float) for share in (0.6, 0.5))
    test = compare(ItemScores("mean", better), ItemScores("mean", worse), seed=0)
    assert test.difference == pytest.approx(better.mean() - worse.mean())
    assert test.interval.low < test.difference < test.interval.high
    assert test.p_value < 0.01


def test_what_cannot_be_compared():
    gold, near, _ = rows(6)
    with pytest.raises(DataError, match="same items"):
        compare(ItemScores("spearman", near, gold), ItemScores("spearman", near[:9], gold[:9]), seed=0)
    nothing = ItemScores("spearman", np.full(200, np.nan), gold)
    assert compare(ItemScores("spearman", near, gold), nothing, seed=0) is None


def test_a_handful_of_items_tells_no_tables_apart():
    first, second = np.ones(5), np.zeros(5)
    assert compare(ItemScores("mean", first), ItemScores("mean", second), seed=0) is None
    assert compare(ItemScores("mean", np.ones(6)), ItemScores("mean", np.zeros(6)), seed=0).p_value < 0.05
