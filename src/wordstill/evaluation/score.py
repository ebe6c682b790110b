"""One score with everything that is needed to judge it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.statistics import (
    RESAMPLES,
    Correlation,
    Floats,
    Interval,
    PairedTest,
    paired_test,
    pearson,
    percentiles,
    ratios,
    resampled_correlations,
    resampled_means,
    resampled_ratios,
    spearman,
)


class Coverage(NamedTuple):
    """How many items of a set the table has every word of."""

    used: int
    total: int


class Part(NamedTuple):
    """A score beside the main one: of a section, a sub-corpus, a subset, another measure or one seed."""

    name: str
    metric: str
    value: float | None
    """In points; None where there is no score."""
    n: int
    """Items that the score is over."""


@dataclass(frozen=True)
class Score:
    """The result of one task on one data set.

    Either ``value`` and ``interval`` are given, or both are None and ``problem`` says why there is no score.
    A table that has none of the words gets no score, rather than 0.
    """

    task: str
    dataset: str
    metric: str
    value: float | None
    """In points: a correlation of 0.5 is 50."""
    interval: Interval | None
    """95 %, in points."""
    coverage: Coverage
    n: int
    """Items that the score is over; more than are covered where the protocol fills in absent words."""
    protocol: Protocol
    source: str
    """Which file was used."""
    sha256: str
    problem: str | None = None
    parts: tuple[Part, ...] = ()
    deviation: float | None = None
    """Of a task that trains: the standard deviation over seeds, in points; ``value`` is their mean."""
    items: ItemScores | None = field(default=None, compare=False, repr=False)
    """What the score was worked out from, for tests between tables; it is not written to files."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "items"}
        plain["coverage"] = self.coverage._asdict()
        plain["interval"] = None if self.interval is None else self.interval._asdict()
        plain["protocol"] = self.protocol.name
        plain["parts"] = [part._asdict() for part in self.parts]
        return plain


Statistic = Literal["spearman", "pearson", "mean", "ratio"]
FEWEST_ITEMS = 3
FEWEST_COMPARED = 6
"""Even if all agree, fewer items cannot tell two tables apart at 5 % (2 / 2^6 is 3 %)."""


@dataclass(frozen=True, eq=False)
class ItemScores:
    """What was predicted for every item of a set."""

    statistic: Statistic
    predicted: Floats
    """A similarity, or for a mean or ratio how much of the item is right; NaN for one that is left out."""
    gold: Floats | None = None
    """What people said, for a correlation."""
    groups: NDArray[np.int64] | None = None
    """Which sub-corpus each item belongs to; the score is then the mean of the sub-corpora's scores."""
    weighted: bool = False
    """Whether a sub-corpus counts as often as it has items, instead of once."""
    keys: tuple[str, ...] | None = None
    """What each item is, for those that may stand in several sets: its words, in any case and order."""
    counts: Floats | None = None
    """For a ratio: what each item adds to the sum above and to the one below, (trainings, items, 2)."""

    @classmethod
    def of_ratio(cls, counts: Floats) -> ItemScores:
        """Items whose score is one sum over another, such as the F1 of spans."""
        return cls("ratio", ratios(counts).mean(axis=0), counts=counts)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which items the score is over, shape (items,)."""
        return ~np.isnan(self.predicted)

    def value(self) -> float:
        """The score, as a fraction of one; NaN where there is none."""
        return _mean([_value(part) for part in self._parts()], self._weights())

    def interval(self, seed: int, resamples: int = RESAMPLES) -> Interval:
        """The bootstrap interval of the score over its items."""
        return percentiles(resampled_scores([self], seed, resamples)[:, 0])

    def only(self, chosen: NDArray[np.bool_]) -> ItemScores:
        """The same with every other item left out."""
        return replace(self, predicted=np.where(chosen, self.predicted, np.nan))

    def _parts(self) -> list[ItemScores]:
        """The scored items of each sub-corpus that has enough of them."""
        scored = self.scored
        masks = [scored] if self.groups is None else [scored & (self.groups == group) for group in self._names()]
        fewest = 1 if self.gold is None else FEWEST_ITEMS
        return [self._taken(mask) for mask in masks if mask.sum() >= fewest]

    def _names(self) -> list[int]:
        assert self.groups is not None
        return [int(group) for group in np.unique(self.groups)]

    def _weights(self) -> list[float]:
        return [float(len(part.predicted)) if self.weighted else 1.0 for part in self._parts()]

    def _taken(self, mask: NDArray[np.bool_]) -> ItemScores:
        gold = None if self.gold is None else self.gold[mask]
        counts = None if self.counts is None else self.counts[:, mask]
        return ItemScores(self.statistic, self.predicted[mask], gold, counts=counts)


def compare(first: ItemScores, second: ItemScores, seed: int, resamples: int = RESAMPLES) -> PairedTest | None:
    """Test whether two tables differ on the items that both have a score for; None if there are too few."""
    if first.predicted.shape != second.predicted.shape or first.statistic != second.statistic:
        raise DataError("Two tables can be compared only on the same items of the same set.")
    both = first.scored & second.scored
    first, second = first.only(both), second.only(both)
    difference = first.value() - second.value()
    if np.isnan(difference) or both.sum() < FEWEST_COMPARED:
        return None
    return paired_test(difference, resampled_scores([first, second], seed, resamples))


def _value(part: ItemScores) -> float:
    if part.counts is not None:
        return float(ratios(part.counts.sum(axis=1)).mean())
    if part.gold is None:
        return float(part.predicted.mean())
    measure = spearman if part.statistic == "spearman" else pearson
    return measure(part.gold, part.predicted)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return float(np.average(values, weights=weights)) if values else float("nan")


def resampled_scores(models: Sequence[ItemScores], seed: int, resamples: int) -> Floats:
    """Scores of models over the same items in every resample, shape (resamples, models).

    Each sub-corpus is drawn from on its own.
    """
    drawn = [
        _resampled_part(parts, seed + number, resamples)
        for number, parts in enumerate(zip(*(model._parts() for model in models)))
    ]
    if not drawn:
        return np.full((resamples, len(models)), np.nan)
    averaged: Floats = np.average(np.stack(drawn), axis=0, weights=models[0]._weights())
    return averaged


def _resampled_part(parts: Sequence[ItemScores], seed: int, resamples: int) -> Floats:
    if counts := [part.counts for part in parts if part.counts is not None]:
        return resampled_ratios(counts, seed, resamples)
    predicted = np.stack([part.predicted for part in parts])
    gold = parts[0].gold
    if gold is None:
        return resampled_means(predicted, seed, resamples)
    kind: Correlation = "spearman" if parts[0].statistic == "spearman" else "pearson"
    return resampled_correlations(gold, predicted, seed, resamples, kind)


POINTS = 100


class Source(NamedTuple):
    """Where a score comes from."""

    task: str
    dataset: str
    metric: str
    protocol: Protocol
    source: str
    sha256: str


def make_score(
    source: Source, items: ItemScores, coverage: Coverage, problem: str | None, seed: int, parts: tuple[Part, ...] = ()
) -> Score:
    """The score of some items with its interval, or the reason why there is none."""
    value, interval = None, None
    if problem is None:
        low, high = items.interval(seed)
        value, interval = POINTS * items.value(), Interval(POINTS * low, POINTS * high)
    return Score(
        **source._asdict(),
        value=value,
        interval=interval,
        coverage=coverage,
        n=int(items.scored.sum()),
        problem=problem,
        parts=parts if problem is None else (),
        items=items,
    )


def with_backoffs(coverage: Coverage, scored: NDArray[np.bool_], protocol: Protocol) -> Coverage:
    """The coverage that decides whether there is a score: items filled in by a back-off count, by a constant do not."""
    return coverage._replace(used=int(scored.sum())) if protocol.oov == "backoff" else coverage


def correlation_problem(coverage: Coverage, items: ItemScores, protocol: Protocol) -> str | None:
    """Why the correlation of some pairs has no value, or None if it has one."""
    used, total = with_backoffs(coverage, items.scored, protocol)
    assert items.gold is not None
    gold, cosines = items.gold[items.scored], items.predicted[items.scored]
    if used == 0:
        return f"none of the {total} pairs is covered"
    if used < FEWEST_COMPARED:
        return f"only {used} of the {total} pairs covered; a score needs at least {FEWEST_COMPARED}"
    if np.ptp(gold) == 0:
        return "the human scores of the covered pairs are all the same"
    if np.ptp(cosines) == 0:
        return "the cosines of the covered pairs are all the same"
    return None


def points(value: float) -> float | None:
    """A fraction of one in points; None where it is not defined."""
    return None if value != value else POINTS * value
