"""Statistics: correlations, means and ratios with bootstrap intervals, paired tests, permutations, multiple testing.

The bootstrap samples items with replacement and recomputes the statistic. A resample is represented by how often each
item was drawn, so its mid-ranks are cumulative sums over the items in sorted order: the result is exact, although no
resample is sorted. Intervals are over items, which are taken as independent; they say nothing about the spread over
training seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from numbers import Integral
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordstill.errors import DataError, MissingExtra, UsageError

Floats = NDArray[np.float64]
Correlation = Literal["spearman", "pearson"]

RESAMPLES = 1000
CONFIDENCE = 0.95
LARGEST_SEED = 2**32 - 1
# Cells of a block of resamples; keeps the working set inside a core's cache.
BLOCK_CELLS = 1 << 17
SPLITS_AT_ONCE = 4096


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True)
class PairedTest:
    """The difference between two models on the same pairs."""

    difference: float
    """Correlation of the first model less that of the second."""
    interval: Interval
    p_value: float
    """Two-sided, for the hypothesis that there is no difference."""


def checked_seed(seed: int) -> int:
    """The seed, if every random number generator accepts it."""
    if not isinstance(seed, Integral) or not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"seed must be a whole number from 0 to {LARGEST_SEED}, but is {seed!r}.")
    return int(seed)


def spearman(gold: Floats, predicted: Floats) -> float:
    """Spearman's rank correlation with mid-ranks for ties; NaN if one side is constant."""
    _check(gold, predicted)
    first, second = _centered_ranks(gold), _centered_ranks(predicted)
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0 else float("nan")


def pearson(gold: Floats, predicted: Floats) -> float:
    """Pearson's correlation; NaN if one side is constant."""
    _check(gold, predicted)
    first, second = gold - gold.mean(), predicted - predicted.mean()
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0 else float("nan")


def paired_test(difference: float, drawn: Floats) -> PairedTest:
    """The test for two models whose scores in every resample have shape (resamples, 2).

    The p-value is twice the smaller share of resamples on either side of zero, each count raised by one so
    that it is never exactly zero.
    """
    differences = drawn[:, 0] - drawn[:, 1]
    differences = differences[~np.isnan(differences)]
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    p_value = min(1.0, 2 * (min(below, above) + 1) / (len(differences) + 1))
    return PairedTest(difference, percentiles(differences), p_value)


def resampled_means(models: Floats, seed: int, resamples: int = RESAMPLES) -> Floats:
    """Means of models of shape (models, items) in every resample, shape (resamples, models).

    Items on which all models have the same values are drawn together, as one component of a multinomial.
    """
    values, counts = np.unique(models, axis=1, return_counts=True)
    items = models.shape[1]
    drawn = np.random.default_rng(seed).multinomial(items, counts / items, size=resamples)
    means: Floats = drawn @ values.T / items
    return means


def resampled_ratios(models: Sequence[Floats], seed: int, resamples: int = RESAMPLES) -> Floats:
    """Ratios of sums of models in every resample, shape (resamples, models).

    Args:
        models: Each of shape (trainings, items, 2): what an item adds to numerator and denominator. The score of a
            resample is the mean over trainings.
        seed: Of the resamples, which are the same for all models.
        resamples: Number of resamples.
    """
    blocks = [
        np.stack([ratios(np.einsum("ri,kic->rkc", counts, model)).mean(axis=1) for model in models], axis=1)
        for counts in _draws(models[0].shape[1], seed, resamples)
    ]
    return np.concatenate(blocks)


def ratios(sums: Floats) -> Floats:
    """First over second of the last axis; 0 if the second is 0."""
    above, below = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    ratio: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return ratio


def resampled_correlations(
    gold: Floats,
    models: Floats,
    seed: int,
    resamples: int = RESAMPLES,
    kind: Correlation = "spearman",
    cells: int = BLOCK_CELLS,
) -> Floats:
    """Correlations of models of shape (models, items) in every resample, shape (resamples, models).

    Resamples in which one side is constant, which only happens with a few items, are NaN.
    """
    make = _Ties.of if kind == "spearman" else _Plain
    gold_side, model_sides = make(gold), [make(model) for model in models]
    blocks: list[Floats] = []
    for counts in _draws(len(gold), seed, resamples, cells):
        gold_centered = gold_side.centered(counts)
        gold_weighted = counts * gold_centered
        gold_square = np.einsum("rp,rp->r", gold_weighted, gold_centered)
        columns = []
        for side in model_sides:
            centered = side.centered(counts)
            square = np.einsum("rp,rp,rp->r", counts, centered, centered)
            scale = np.sqrt(gold_square * square)
            product = np.einsum("rp,rp->r", gold_weighted, centered)
            columns.append(np.divide(product, scale, out=np.full_like(scale, np.nan), where=scale > 0))
        blocks.append(np.stack(columns, axis=1))
    return np.concatenate(blocks)


def percentiles(values: Floats) -> Interval:
    """The interval of the middle 95 % of the values that are not NaN."""
    tail = 100 * (1 - CONFIDENCE) / 2
    defined = values[~np.isnan(values)]
    if not len(defined):
        return Interval(float("nan"), float("nan"))
    low, high = np.percentile(defined, [tail, 100 - tail])
    return Interval(float(low), float(high))


def splits(items: int, first: int, most: int, random: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Splits of items into two groups, in blocks: each once if there are at most ``most``, else so many random ones.

    Yields:
        Whether each item is in the first group (splits of the block, items).
    """
    if all_are_made(items, first, most):
        ways = combinations(range(items), first)
        while block := list(islice(ways, SPLITS_AT_ONCE)):
            yield _marked(np.array(block, dtype=np.int64).reshape(len(block), first), items)
        return
    for start in range(0, most, SPLITS_AT_ONCE):
        keys = random.random((min(SPLITS_AT_ONCE, most - start), items))
        yield _marked(np.argpartition(keys, first - 1, axis=1)[:, :first], items)


def all_are_made(items: int, first: int, most: int) -> bool:
    """Whether `splits` gives every split once, including the observed one, so that a p-value is exact."""
    return math.comb(items, first) <= most


def p_values(reached: ArrayLike, made: int, *, exact: bool) -> NDArray[np.float64]:
    """Permutation p-values, from how many of the splits made have a value at least as extreme.

    The observed split counts as one of them; with ``exact`` it is already among them.
    """
    observed = 0 if exact else 1
    found: NDArray[np.float64] = (np.asarray(reached) + observed) / (made + observed)
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for multiple tests (Holm 1979), in the same order."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def false_discovery_rates(p_values: Sequence[float]) -> list[float]:
    """False discovery rates, or q-values (Benjamini and Hochberg 1995), in the same order."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    rates, smallest = [1.0] * len(p_values), 1.0
    for rank, place in reversed(list(enumerate(order, 1))):
        smallest = min(smallest, p_values[place] * len(p_values) / rank)
        rates[place] = smallest
    return rates


def _check(gold: Floats, predicted: Floats) -> None:
    if gold.ndim != 1 or gold.shape != predicted.shape or len(gold) < 2:
        raise DataError(
            "A correlation needs two equally long rows of at least 2 numbers, "
            f"but got the shapes {gold.shape} and {predicted.shape}."
        )
    if not (np.isfinite(gold).all() and np.isfinite(predicted).all()):
        raise DataError("A correlation needs finite numbers, but some are NaN or infinite.")


def _centered_ranks(values: Floats) -> Floats:
    return _rank(values, "average").astype(np.float64) - (len(values) + 1) / 2


def _rank(values: Floats, method: str) -> NDArray[np.generic]:
    try:
        from scipy.stats import rankdata
    except ImportError as error:
        raise MissingExtra("scipy", "eval", "Scoring vectors") from error
    ranks: NDArray[np.generic] = rankdata(values, method=method)
    return ranks


def _draws(pairs: int, seed: int, resamples: int, cells: int = BLOCK_CELLS) -> Iterator[Floats]:
    """How often each pair is drawn in each resample, in blocks of shape (resamples of the block, pairs)."""
    random = np.random.default_rng(seed)
    block = max(1, cells // pairs)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn = random.integers(0, pairs, size=(size, pairs))
        drawn += np.arange(size)[:, None] * pairs
        counts = np.bincount(drawn.ravel(), minlength=size * pairs)
        yield counts.reshape(size, pairs).astype(np.float64)


@dataclass(frozen=True)
class _Ties:
    """The sorted order of values, with their groups of ties."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    group: NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats) -> _Ties:
        group = _rank(values, "dense").astype(np.int64) - 1
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        return cls(order, starts, group)

    def centered(self, counts: Floats) -> Floats:
        """Mid-ranks of every pair minus their mean over the resample, shape (resamples, pairs)."""
        sizes = np.add.reduceat(counts[:, self.order], self.starts, axis=1)
        middles = np.cumsum(sizes, axis=1) - sizes / 2 - len(self.order) / 2
        return np.take(middles, self.group, axis=1)


@dataclass(frozen=True)
class _Plain:
    """Values that are not ranked."""

    values: Floats

    def centered(self, counts: Floats) -> Floats:
        """The values minus their mean over the resample, shape (resamples, pairs)."""
        centered: Floats = self.values - (counts @ self.values / len(self.values))[:, None]
        return centered


def _marked(chosen: NDArray[np.int64], items: int) -> NDArray[np.bool_]:
    marked = np.zeros((len(chosen), items), dtype=np.bool_)
    np.put_along_axis(marked, chosen, True, axis=1)
    return marked
