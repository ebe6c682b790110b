r"""Resampling over folds of documents: intervals for statistics of word vectors, without the teacher.

A word's row over any choice of folds is the weighted mean of its rows in these folds. The map from the teacher's states
to rows is not refitted.

Intervals are 95 % prediction intervals for the value in another text of the same size and kind. They are wider than
confidence intervals by :math:`\sqrt 2`, because the other text varies too. The standard error is reported as well, for
any other interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import Folds, with_folds
from wordstill.vectors.search import unit

Array: TypeAlias = NDArray[np.float64]
Statistic = Callable[[Array], Array]
"""From rows of words (resamples, words, dim) to values (resamples, ...)."""
LEVEL = 0.95
DRAWS = 200
LEAST_FOLDS = 4
"""Folds in which a word must occur for an interval."""
CANDIDATES = 20
"""Candidates for a list of neighbors, as a multiple of its length."""


@dataclass(frozen=True)
class Estimate:
    """A value with its prediction interval for another text of the same size and kind."""

    value: float
    error: float
    """Standard error."""
    low: float
    high: float


class Resampler:
    """Rows of some words over resamples of the folds of a table.

    Args:
        vectors: A table with folds.
        words: Words of the table. Words without rows by fold have the same row in every resample.
        groups: Only folds of these groups; None takes all.
    """

    def __init__(self, vectors: WordVectors, words: Sequence[str], groups: Sequence[str] | None = None) -> None:
        self.folds = with_folds(vectors)
        names = self.folds.groups if groups is None else groups
        wanted = [self.folds.group(name) for name in names]
        self.chosen = np.flatnonzero(np.isin(self.folds.group_of_fold, wanted))
        self.group_of_fold = strata(self.folds.group_of_fold[self.chosen])
        self._rows = [vectors.index(word) for word in words]
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self.chosen)

    def occupied(self) -> NDArray[np.int64]:
        """Folds in which each word occurs (words); 0 for those without rows by fold."""
        return np.array([int((self.folds.of_word(row)[0][self.chosen] > 0).sum()) for row in self._rows])

    def rows(self, weights: Array) -> Array:
        """(resamples, words, dim) for weights of the folds (resamples, folds); NaN where a word does not occur."""
        rows = np.empty((len(weights), len(self._rows), self._vectors.dim))
        for number, row in enumerate(self._rows):
            if row not in self.folds:
                rows[:, number] = self._vectors.take([row])[0]
                continue
            counts, sums = self.folds.of_word(row)
            seen = weights @ counts[self.chosen]
            with np.errstate(invalid="ignore", divide="ignore"):
                rows[:, number] = (weights @ sums[self.chosen]) / np.where(seen > 0, seen, np.nan)[:, None]
        return rows

    def jackknife(self, statistic: Statistic) -> tuple[Array, Array]:
        """A statistic over all folds, and its jackknife standard error."""
        value = statistic(self.rows(np.ones((1, len(self)))))[0]
        return value, jackknife_error(statistic(self.rows(leave_one_out(len(self)))), self.group_of_fold)

    def bootstrap(self, statistic: Statistic, draws: int = DRAWS, seed: int = 0) -> Array:
        """(draws, ...) a statistic over folds drawn with replacement within each group."""
        return statistic(self.rows(bootstrap_weights(self.group_of_fold, draws, seed)))


def strata(group_of_fold: NDArray[np.integer]) -> NDArray[np.integer]:
    """Strata for resampling: groups with a single fold, whose variance is unknown, join the largest group."""
    sizes = np.bincount(group_of_fold)
    return np.where(sizes[group_of_fold] > 1, group_of_fold, sizes.argmax())


def leave_one_out(folds: int) -> Array:
    """Weights (folds, folds) that leave out one fold in each row."""
    return np.ones((folds, folds)) - np.eye(folds)


def bootstrap_weights(group_of_fold: NDArray[np.integer], draws: int, seed: int = 0) -> Array:
    """Weights (draws, folds): how often each fold is drawn, with replacement within its group."""
    generator = np.random.default_rng(seed)
    weights = np.empty((draws, len(group_of_fold)))
    for group in np.unique(group_of_fold):
        own = group_of_fold == group
        weights[:, own] = generator.multinomial(own.sum(), np.full(own.sum(), 1 / own.sum()), size=draws)
    return weights


def jackknife_error(values: Array, group_of_fold: NDArray[np.integer]) -> Array:
    r"""Standard errors from leave-one-out values (folds, ...).

    .. math:: \sum_g \frac{F_g - 1}{F_g} \sum_{f \in g} (\theta_{-f} - \bar\theta_g)^2
    """
    variance: Array = np.zeros(values.shape[1:])
    for group in np.unique(group_of_fold):
        own = values[group_of_fold == group]
        if len(own) > 1:
            variance = variance + (len(own) - 1) / len(own) * ((own - own.mean(axis=0)) ** 2).sum(axis=0)
        else:
            variance = np.full(values.shape[1:], np.nan)
    return np.sqrt(variance)


def interval(value: float, error: float, freedom: int) -> Estimate:
    """The prediction interval of a value for another text of the same size."""
    reach = t_quantile((1 + LEVEL) / 2, freedom) * math.sqrt(2) * error
    return Estimate(value, error, value - reach, value + reach)


def cosine_interval(cosine: float, error: float, freedom: int) -> Estimate:
    """The interval of a cosine from the error of its inverse hyperbolic tangent, so that it stays below 1."""
    there = interval(math.atanh(max(-0.999999, min(0.999999, cosine))), error, freedom)
    return Estimate(cosine, error * (1 - cosine**2), math.tanh(there.low), math.tanh(there.high))


def t_quantile(share: float, freedom: int) -> float:
    """Quantile of Student's t: exact for 1 or 2 degrees of freedom, else an expansion around the normal's.

    The error of the 97.5 % quantile is at most 0.004.
    """
    if freedom <= 1:
        return math.tan(math.pi * (share - 0.5))
    if freedom == 2:
        return (2 * share - 1) / math.sqrt(2 * share * (1 - share))
    z, n = NormalDist().inv_cdf(share), freedom
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / n**power for power, term in enumerate(terms, 1))


@dataclass(frozen=True)
class SureNeighbor:
    """A neighbor with its uncertainty."""

    word: str
    cosine: float
    interval: Estimate | None
    """None if either word occurs in too few folds."""
    share: float
    """Share of resamples of the text in which it is among the nearest."""


def sure_neighbors(
    vectors: WordVectors,
    positive: Sequence[str],
    negative: Sequence[str] = (),
    topn: int = 10,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[SureNeighbor]:
    """Neighbors of a word, or of a sum as in an analogy, with intervals and the share of resamples that have each.

    Intervals are by jackknife, shares by bootstrap over folds; both resample the neighbors' rows too.

    Raises:
        UsageError: The table has no folds, or a word of the query has rows in too few of them.
    """
    folds = with_folds(vectors)
    asked = [*positive, *negative]
    refuse_untracked(vectors, asked)
    question = Resampler(vectors, asked)
    fewest = question.occupied().min()
    if fewest < LEAST_FOLDS:
        raise UsageError(
            f"{asked[int(question.occupied().argmin())]!r} occurs in {fewest} of {len(folds)} folds; at least "
            f"{LEAST_FOLDS} are needed to say how certain its neighbors are. Use more folds (--folds 20) or more text."
        )
    found = vectors.most_similar(list(positive), list(negative), topn=topn * CANDIDATES)
    candidates = [word for word, _ in found]
    signs = np.array([1.0] * len(positive) + [-1.0] * len(negative))

    def cosines(weights: Array) -> Array:
        query = np.einsum("bnd,n->bd", unit(question.rows(weights)), signs)
        query = unit(query)
        return np.stack([_dot(query, Resampler(vectors, [word]).rows(weights)[:, 0]) for word in candidates], axis=1)

    value = np.array([cosine for _, cosine in found])
    all_folds = question.group_of_fold
    without = np.arctanh(np.clip(cosines(leave_one_out(len(folds))), -0.999999, 0.999999))
    errors = jackknife_error(without, all_folds)
    drawn = cosines(bootstrap_weights(all_folds, draws, seed))
    # Resamples without the query words are dropped; a neighbor that is missing from one is not among the nearest there.
    drawn = drawn[~np.isnan(drawn).all(axis=1)]
    ranked = np.argsort(-np.nan_to_num(drawn, nan=-2.0), axis=1, kind="stable")[:, :topn]
    share = np.bincount(ranked.ravel(), minlength=len(candidates)) / len(drawn)
    occupied = Resampler(vectors, candidates[:topn]).occupied()
    neighbors = []
    for number, word in enumerate(candidates[:topn]):
        enough = min(fewest, occupied[number])
        known = enough >= LEAST_FOLDS and np.isfinite(errors[number])
        there = cosine_interval(value[number], float(errors[number]), int(enough) - 1) if known else None
        neighbors.append(SureNeighbor(word, float(value[number]), there, float(share[number])))
    return neighbors


def refuse_untracked(vectors: WordVectors, words: Sequence[str]) -> None:
    """Raise a `UsageError` if a word has no rows by fold."""
    folds = with_folds(vectors)
    for word in words:
        if vectors.index(word) not in folds:
            count = "" if vectors.counts is None else f" ({vectors.counts[vectors.index(word)]:,} occurrences)"
            raise UsageError(
                f"{word!r} has no rows by fold{count}: it is too rare, or was not tracked. Distill again with a lower "
                "--enough (enough=), or name it with --track."
            )


def _dot(query: Array, rows: Array) -> Array:
    """Cosines (resamples) of unit rows with rows."""
    found: Array = np.einsum("bd,bd->b", query, unit(rows))
    return found


def merged(folds: Folds, fold_of_fold: NDArray[np.integer], group_of_fold: NDArray[np.integer]) -> Folds:
    """The same text in fewer folds and other groups: ``fold_of_fold`` has the new fold of each, -1 to drop it."""
    there = fold_of_fold[folds.folds]
    kept = there >= 0
    n_folds = len(group_of_fold)
    key = folds.words[kept].astype(np.int64) * n_folds + there[kept]
    cells, place = np.unique(key, return_inverse=True)
    counts = np.bincount(place, folds.counts[kept]).astype(np.int64)
    sums = np.zeros((len(cells), folds.rows.shape[1]))
    np.add.at(sums, place, folds.counts[kept, None] * folds.rows[kept].astype(np.float64))
    inside = fold_of_fold >= 0
    names = tuple(map(str, range(int(group_of_fold.max()) + 1)))
    return Folds(
        (sums / counts[:, None]).astype(np.float32),
        (cells // n_folds).astype(np.int32),
        (cells % n_folds).astype(np.int32),
        counts,
        np.asarray(group_of_fold, dtype=np.int32),
        np.bincount(fold_of_fold[inside], folds.sizes[inside], minlength=n_folds).astype(np.int64),
        names,
        ("documents",) * len(names),
    )
