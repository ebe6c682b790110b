"""Semantic change between groups of a text: how far words moved, with intervals and p-values, and where to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.group_distance import NULL_DRAWS, GroupDistances
from wordstill.analysis.resampling import Array, Estimate, interval, refuse_untracked
from wordstill.errors import UsageError
from wordstill.evaluation.statistics import all_are_made, false_discovery_rates, splits
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import Folds, with_folds
from wordstill.vectors.queries import Scored
from wordstill.vectors.search import unit

PERMUTATIONS = 9_999
LEAST_COUNT = 10
"""Minimum occurrences of a word in each group."""
LEAST_FOLDS = 4
"""Minimum folds of each group in which it occurs."""
GROUP_FOLDS = 5
"""Minimum folds of a group for p-values."""
WORDS_AT_ONCE = 64
UNEQUAL = 1.5
"""Maximum ratio between the mean fold sizes of the groups for p-values."""
NEIGHBORS = 100
"""Nearest words in either group to compare."""
NO_DIRECTION = "no stable direction in one of the groups: its uses have too little in common."


Measure = Literal["distance", "pairwise"]


@dataclass(frozen=True)
class Moved:
    """How far a word moved from one group to another."""

    word: str
    counts: tuple[int, int]
    distance: Estimate
    """One minus the cosine of its rows in both groups, corrected for sampling noise; 0 is no change."""
    pairwise: Estimate
    """How much farther apart two of its uses are, on average, if they are in different groups; 0 is no change."""
    p: float | None
    """P-value of the hypothesis that documents are exchangeable between the groups; None with too few folds."""
    q: float | None
    """False discovery rate among words with at most this p."""

    def by(self, measure: Measure) -> Estimate:
        """One of the two measures."""
        return self.distance if measure == "distance" else self.pairwise


@dataclass(frozen=True)
class Change:
    """Words ranked by how far they moved."""

    groups: tuple[str, str]
    words: list[Moved]
    too_rare: int
    """Words with rows by fold that are too rare in either group."""
    unstable: int
    """Words without a stable direction in one of the groups."""
    permutations: int
    """Number of permutations of folds; 0 if there is no test."""
    exact: bool
    """Whether these are all permutations."""
    folds: tuple[int, int]
    reason: str | None = None
    """Why there are no p-values."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Requested words that are not compared, with the reason."""


@dataclass(frozen=True)
class TimePoint:
    """A word in one group of a timeline."""

    group: str
    count: int
    distance: Estimate | None
    """Distance from the first group; None if the word is too rare."""


def change(
    vectors: WordVectors,
    before: str,
    after: str,
    words: Sequence[str] | None = None,
    *,
    least: int = LEAST_COUNT,
    by: Measure = "pairwise",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Change:
    r"""How far words moved between two groups of a text.

    With :math:`a` and :math:`b` a word's rows in the groups, each the mean over its occurrences there:

    .. math:: d = 1 - \frac{a \cdot b}{\sqrt{|a|^2_\ast\, |b|^2_\ast}}

    where :math:`|a|^2_\ast` is the mean dot product of rows of two *different* folds. This removes the sampling noise
    that makes rows of rare words longer and plain distances larger: d is around 0 for a word that did not change,
    however rare. The second measure is how much farther apart two uses x, y of the word are on average if they are in
    different groups (average pairwise distance minus that within the groups):

    .. math:: \frac{|a|^2_\ast + |b|^2_\ast - 2\, a \cdot b}{E|x|^2 + E|y|^2}

    It scales a move by how much the word's uses vary anyway. Intervals are by jackknife over the folds.

    The p-value is from permutations of folds of documents between the groups; the statistic is the sum of squares
    between the groups, :math:`\frac{n_a n_b}{n_a + n_b} |a - b|^2` (Anderson 2001). It is exact if documents are
    exchangeable between the groups and folds have the same size. q is by Benjamini and Hochberg (1995) over all words
    compared.

    Args:
        vectors: A table with folds in both groups.
        before: Name of the first group.
        after: Name of the second group.
        words: Only these; None takes all that occur often enough. Words that cannot be compared are skipped; it is an
            error only if none can be.
        least: Minimum occurrences of a word in each group.
        by: The measure to rank words by.
        permutations: Maximum number; if there are no more, each is made once.
        seed: Seed of the permutations.
    """
    if words is not None and not words:
        raise UsageError(
            "The list of words is empty. Name words separated by commas, or a file with one word per line."
        )
    folds = with_folds(vectors)
    pair = folds.group(before), folds.group(after)
    if pair[0] == pair[1]:
        raise UsageError(f"Change is between two groups; got {before!r} twice.")
    rows, too_rare, left_out = _compared(vectors, folds, pair, words, least)
    chosen = np.flatnonzero(np.isin(folds.group_of_fold, pair))
    first = folds.group_of_fold[chosen] == pair[0]
    sizes = int(first.sum()), int((~first).sum())
    reason = _why_no_test(folds, chosen, first, (before, after))
    labels, exact = np.empty((0, len(first)), dtype=np.bool_), False
    if reason is None:
        random = np.random.default_rng(seed)
        labels = np.concatenate([*splits(len(first), sizes[0], permutations, random)])
        exact = all_are_made(len(first), sizes[0], permutations)
    measured = [each for part in _parts(rows) for each in _compare(vectors, folds, part, chosen, first, labels, exact)]
    moved = [each for each in measured if math.isfinite(each.distance.value + each.distance.error)]
    if words is not None and not moved:
        raise UsageError(f"{measured[0].word!r} has {NO_DIRECTION}")
    if reason is None:
        rates = false_discovery_rates([each.p or 0.0 for each in moved])
        moved = [replace(each, q=rate) for each, rate in zip(moved, rates)]
    ranked = sorted(moved, key=lambda each: -each.by(by).value)
    unstable = len(measured) - len(moved)
    if words is not None:
        lost = {each.word for each in measured} - {each.word for each in moved}
        left_out |= {word: f"{word!r} has {NO_DIRECTION}" for word in sorted(lost)}
    return Change((before, after), ranked, too_rare, unstable, len(labels), exact, sizes, reason, left_out)


def timeline(vectors: WordVectors, word: str, *, seed: int = 0) -> list[TimePoint]:
    """A word's distance from the first group in each later group."""
    folds = with_folds(vectors)
    row = vectors.index(word)
    counts, _ = folds.of_word(row)
    first, *later = range(len(folds.groups))
    line = []
    for number in later:
        count = int(counts[folds.group_of_fold == number].sum())
        distance = None
        if all(_often(counts[folds.group_of_fold == each], LEAST_COUNT) for each in (first, number)):
            chosen = np.flatnonzero(np.isin(folds.group_of_fold, (first, number)))
            inside = folds.group_of_fold[chosen] == first
            labels = np.concatenate([*splits(len(inside), int(inside.sum()), NULL_DRAWS, np.random.default_rng(seed))])
            (moved,) = _compare(vectors, folds, [row], chosen, inside, labels)
            distance = moved.distance if math.isfinite(moved.distance.error) else None
        line.append(TimePoint(folds.groups[number], count, distance))
    return line


def neighbors_in(vectors: WordVectors, word: str, group: str, topn: int = 10) -> Scored:
    """The words of the table that are nearest to a word's row in a group."""
    query = group_row(vectors, word, group)
    own = vectors.index(word)
    found = vectors.neighbors(query[None].astype(np.float32), topn + 1)[0]
    return [(other, cosine) for other, cosine in found if vectors.index(other) != own][:topn]


def nearer_in(vectors: WordVectors, word: str, before: str, after: str, topn: int = 10) -> tuple[Scored, Scored]:
    """Neighbors of a word in either group that are nearer to it there than in the other, largest difference first."""
    own = vectors.index(word)
    units = unit(np.stack([group_row(vectors, word, group) for group in (before, after)]))
    found = vectors.neighbors(units.astype(np.float32), NEIGHBORS)
    near = sorted({vectors.index(other) for some in found for other, _ in some} - {own})
    cosines = vectors.unit[near].astype(np.float64) @ units.T
    gains = cosines @ np.array([[1.0, -1.0], [-1.0, 1.0]])
    lists = []
    for side in range(2):
        order = np.argsort(-gains[:, side], kind="stable")[:topn]
        lists.append([(vectors.words[near[at]], float(cosines[at, side])) for at in order if gains[at, side] > 0])
    return lists[0], lists[1]


def group_row(vectors: WordVectors, word: str, group: str) -> Array:
    """A word's row in a group (dim)."""
    folds = with_folds(vectors)
    counts, sums = folds.of_word(vectors.index(word))
    own = folds.group_of_fold == folds.group(group)
    if not counts[own].sum():
        raise UsageError(f"{word!r} has no rows in the group {group!r}: it does not occur there, or is too rare.")
    row: Array = sums[own].sum(axis=0) / counts[own].sum()
    return row


def _often(counts: NDArray[np.int64], least: int) -> bool:
    return bool(counts.sum() >= least and (counts > 0).sum() >= LEAST_FOLDS)


def _compared(
    vectors: WordVectors, folds: Folds, pair: tuple[int, int], words: Sequence[str] | None, least: int
) -> tuple[list[int], int, dict[str, str]]:
    """Table rows to compare, the number of words that are too rare, and why requested words are left out."""
    tracked, counts = folds.counts_by_group()
    occupied = np.zeros_like(counts)
    np.add.at(occupied, (np.searchsorted(tracked, folds.words), folds.group_of_fold[folds.folds]), 1)
    both = list(pair)
    often: NDArray[np.bool_] = (counts[:, both] >= least) & (occupied[:, both] >= LEAST_FOLDS)
    enough: NDArray[np.bool_] = np.logical_and.reduce(often, axis=1)
    if words is None:
        return tracked[enough].tolist(), int((~enough).sum()), {}

    def row_of(word: str) -> int:
        refuse_untracked(vectors, [word])
        place = np.searchsorted(tracked, vectors.index(word))
        if not enough[place]:
            here = ", ".join(f"{counts[place, number]:,} in {folds.groups[number]}" for number in both)
            raise UsageError(
                f"{word!r} occurs too rarely for a comparison: {here}. At least {least} occurrences in {LEAST_FOLDS} "
                "folds of each group are needed."
            )
        return vectors.index(word)

    kept, refused = [], {}
    for word in dict.fromkeys(words):
        try:
            kept.append(row_of(word))
        except UsageError as error:
            refused[word] = error
    if not kept:
        raise next(iter(refused.values()))
    return kept, 0, {word: str(error) for word, error in refused.items()}


def _why_no_test(
    folds: Folds, chosen: NDArray[np.int64], first: NDArray[np.bool_], names: tuple[str, str]
) -> str | None:
    """Why folds cannot be exchanged between the groups; None if they can."""
    for name, own in zip(names, (first, ~first)):
        if own.sum() < GROUP_FOLDS:
            words = int(folds.sizes[chosen[own]].sum())
            text = f"{words:,} words fill {int(own.sum())} of at least {GROUP_FOLDS} folds"
            return f"the group {name!r} is too small for a p-value: {text}"
    means = [float(folds.sizes[chosen[own]].mean()) for own in (first, ~first)]
    if max(means) > UNEQUAL * min(means):
        return (
            f"folds of {means[0]:,.0f} and {means[1]:,.0f} words cannot be exchanged, so there is no p-value; "
            "join small groups, or use more folds"
        )
    return None


def _parts(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    return (rows[start : start + WORDS_AT_ONCE] for start in range(0, len(rows), WORDS_AT_ONCE))


def _compare(
    vectors: WordVectors,
    folds: Folds,
    rows: Sequence[int],
    chosen: NDArray[np.int64],
    first: NDArray[np.bool_],
    labels: NDArray[np.bool_],
    exact: bool = False,
) -> list[Moved]:
    """Distances, intervals and p-values of words."""
    groups = GroupDistances.of(folds, rows, chosen, first)
    values, errors = groups.estimates(labels)
    p = groups.p_values(labels, exact=exact).tolist() if len(labels) else [None] * len(rows)
    moved = []
    for number, row in enumerate(rows):
        of_each = [groups.counts[number, own] for own in (first, ~first)]
        freedom = min(int((counts > 0).sum()) for counts in of_each) - 1
        distance, pairwise = (
            interval(float(value), float(error), freedom) for value, error in zip(values[:, number], errors[:, number])
        )
        counts = int(of_each[0].sum()), int(of_each[1].sum())
        moved.append(Moved(vectors.words[row], counts, distance, pairwise, p[number], None))
    return moved
