"""Change of meaning between groups of a text: how far words moved, how sure it is, and where to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.resampling import Array, Estimate, interval, jackknife_error, leave_one_out
from wordstill.errors import UsageError
from wordstill.evaluation.significance import all_are_made, false_discovery_rates, p_values, splits
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import Folds, with_folds
from wordstill.vectors.queries import Scored

PERMUTATIONS = 9_999
LEAST_COUNT = 10
"""Occurrences that a word needs in each group."""
LEAST_FOLDS = 4
"""Folds in which it must occur in each group."""
GROUP_FOLDS = 5
"""Folds that a group needs for a claim."""
WORDS_AT_ONCE = 64
UNEQUAL = 1.5
"""How many times as large the folds of one group may be, on average, as those of the other."""
TIE = 1e-9


@dataclass(frozen=True)
class Moved:
    """How far a word moved from one group to another."""

    word: str
    counts: tuple[int, int]
    distance: float
    """One minus the cosine of its rows in both groups, without what chance adds to it; 0 is no change."""
    interval: Estimate
    p: float | None
    """Of the hypothesis that its documents could be exchanged between the groups; None with too few folds."""
    q: float | None
    """False discovery rate: if all words with so small a p are called changed, this share of them is not."""


@dataclass(frozen=True)
class Change:
    """Words ranked by how far they moved."""

    groups: tuple[str, str]
    words: list[Moved]
    too_rare: int
    """Words with rows by fold that occur too seldom in either group."""
    unstable: int
    """Words whose uses have too little in common for a direction in either group."""
    permutations: int
    """Made of the folds; 0 if none could be."""
    exact: bool
    """Whether these are all there are."""
    folds: tuple[int, int]
    reason: str | None = None
    """Why there are no p-values."""


def change(
    vectors: WordVectors,
    before: str,
    after: str,
    words: Sequence[str] | None = None,
    *,
    least: int = LEAST_COUNT,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Change:
    r"""How far words moved between two groups of a text.

    With :math:`a` and :math:`b` a word's rows in the groups, each the mean over its occurrences there:

    .. math:: d = 1 - \frac{a \cdot b}{\sqrt{|a|^2_\ast\, |b|^2_\ast}}

    where :math:`|a|^2_\ast` is the mean product of rows of two *different* folds, so that the chance in a rare
    word's row, which makes it longer and every plain distance larger, cancels: d is around 0 for a word that did
    not change, however rare. Estimates are by jackknife over the folds of both groups.

    The p-value permutes folds of documents between the groups; the statistic is the sum of squares between the
    groups, :math:`\frac{n_a n_b}{n_a + n_b} |a - b|^2` (Anderson 2001). If documents are exchangeable between the
    groups, and folds equally large, it is exact. q is by Benjamini and Hochberg (1995) over all words compared.

    Args:
        vectors: A table with folds in both groups.
        before: Name of the first group.
        after: Name of the second one.
        words: Only these; None takes all that occur often enough.
        least: Occurrences that a word needs in each group.
        permutations: At most so many; if there are no more, each is made once.
        seed: Of the permutations.
    """
    folds = with_folds(vectors)
    pair = folds.group(before), folds.group(after)
    if pair[0] == pair[1]:
        raise UsageError(f"Change is between two groups; got {before!r} twice.")
    rows, too_rare = _compared(vectors, folds, pair, words, least)
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
    moved = [each for each in measured if math.isfinite(each.distance) and math.isfinite(each.interval.error)]
    if words is not None and len(moved) < len(measured):
        lost = next(each.word for each in measured if each not in moved)
        raise UsageError(f"{lost!r} has no stable direction in one of the groups: its uses have too little in common.")
    if reason is None:
        rates = false_discovery_rates([each.p or 0.0 for each in moved])
        moved = [replace(each, q=rate) for each, rate in zip(moved, rates)]
    ranked = sorted(moved, key=lambda each: -each.distance)
    unstable = len(measured) - len(moved)
    return Change((before, after), ranked, too_rare, unstable, len(labels), exact, sizes, reason)


def timeline(
    vectors: WordVectors, word: str, groups: Sequence[str] | None = None
) -> list[tuple[str, int, Estimate | None]]:
    """How far a word is from the first group in each later one: group, occurrences, distance with its interval.

    None where it occurs too seldom.
    """
    folds = with_folds(vectors)
    names = folds.groups if groups is None else tuple(groups)
    row = vectors.index(word)
    counts, _ = folds.of_word(row)
    first, *later = [folds.group(name) for name in names]
    line: list[tuple[str, int, Estimate | None]] = []
    for number in later:
        count = int(counts[folds.group_of_fold == number].sum())
        distance = None
        if all(_often(counts[folds.group_of_fold == each], LEAST_COUNT) for each in (first, number)):
            chosen = np.flatnonzero(np.isin(folds.group_of_fold, (first, number)))
            inside = folds.group_of_fold[chosen] == first
            none = np.empty((0, len(chosen)), dtype=np.bool_)
            (moved,) = _compare(vectors, folds, [row], chosen, inside, none)
            distance = moved.interval if math.isfinite(moved.interval.error) else None
        line.append((folds.groups[number], count, distance))
    return line


def neighbors_in(vectors: WordVectors, word: str, group: str, topn: int = 10) -> Scored:
    """The words of the whole table that are nearest to a word as it is used in a group."""
    query = group_row(vectors, word, group)
    own = vectors.index(word)
    found = vectors.neighbors(query[None].astype(np.float32), topn + 1)[0]
    return [(other, cosine) for other, cosine in found if vectors.index(other) != own][:topn]


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
) -> tuple[list[int], int]:
    """Rows of the table that are compared, and how many are too rare."""
    tracked, counts = folds.counts_by_group()
    occupied = np.zeros_like(counts)
    np.add.at(occupied, (np.searchsorted(tracked, folds.words), folds.group_of_fold[folds.folds]), 1)
    both = list(pair)
    often: NDArray[np.bool_] = (counts[:, both] >= least) & (occupied[:, both] >= LEAST_FOLDS)
    enough: NDArray[np.bool_] = np.logical_and.reduce(often, axis=1)
    if words is None:
        return tracked[enough].tolist(), int((~enough).sum())
    kept = []
    for word in words:
        place = np.searchsorted(tracked, vectors.index(word))
        if place == len(tracked) or tracked[place] != vectors.index(word):
            raise UsageError(f"{word!r} has no rows by group: it is too rare, or was not tracked.")
        if not enough[place]:
            here = ", ".join(f"{counts[place, number]:,} in {folds.groups[number]}" for number in both)
            raise UsageError(
                f"{word!r} occurs too seldom for a claim: {here}. At least {least} occurrences in {LEAST_FOLDS} folds "
                "of each group are needed."
            )
        kept.append(vectors.index(word))
    return kept, 0


def _why_no_test(
    folds: Folds, chosen: NDArray[np.int64], first: NDArray[np.bool_], names: tuple[str, str]
) -> str | None:
    """Why folds cannot be exchanged between the groups; None if they can."""
    for name, own in zip(names, (first, ~first)):
        if own.sum() < GROUP_FOLDS:
            text = f"{int(folds.sizes[chosen[own]].sum()):,} words in {int(own.sum())} folds"
            return f"the group {name!r} is too small for a p-value ({text}, at least {GROUP_FOLDS} are needed)"
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
    """Distances, intervals and p-values of some words."""
    found = [folds.of_word(row) for row in rows]
    counts = np.stack([each[chosen] for each, _ in found]).astype(np.float64)
    sums = np.stack([each[chosen] for _, each in found])
    products = np.einsum("wfd,wgd->wfg", sums, sums)
    distance = distances(products, counts, first, np.ones((1, len(first))))[:, 0]
    without = distances(products, counts, first, leave_one_out(len(first)))
    errors = jackknife_error(without.T, first.astype(np.int64))
    p = _p_values(products, counts, first, labels, exact=exact) if len(labels) else [None] * len(rows)
    moved = []
    for number, row in enumerate(rows):
        of_each = int(counts[number, first].sum()), int(counts[number, ~first].sum())
        freedom = min(int((counts[number, own] > 0).sum()) for own in (first, ~first)) - 1
        there = interval(float(distance[number]), float(errors[number]), freedom)
        moved.append(Moved(vectors.words[row], of_each, float(distance[number]), there, p[number], None))
    return moved


def distances(products: Array, counts: Array, first: NDArray[np.bool_], weights: Array) -> Array:
    """Distances of words between two groups, over weighted folds (words, resamples).

    NaN where the folds of a group agree so little on a word that it has no direction there.

    Args:
        products: Of the sums of rows in each two folds (words, folds, folds).
        counts: Occurrences in each fold (words, folds).
        first: Which folds are of the first group (folds).
        weights: Of the folds (resamples, folds).
    """
    one, two = weights * first, weights * ~first

    def length(own: Array) -> Array:
        squares: Array = np.einsum("bf,wfg,bg->wb", own, products, own, optimize=True)
        same = np.einsum("bf,wff->wb", own**2, products)
        pairs = (counts @ own.T) ** 2 - (counts**2) @ (own**2).T
        found: Array = (squares - same) / np.where(pairs > 0, pairs, np.nan)
        return found

    across = np.einsum("bf,wfg,bg->wb", one, products, two, optimize=True) / ((counts @ one.T) * (counts @ two.T))
    lengths = length(one), length(two)
    both = (lengths[0] > 0) & (lengths[1] > 0)
    apart: Array = 1.0 - across / np.sqrt(np.where(both, lengths[0] * lengths[1], np.nan))
    return apart


def _p_values(
    products: Array, counts: Array, first: NDArray[np.bool_], labels: NDArray[np.bool_], *, exact: bool
) -> list[float | None]:
    """Share of permutations whose sum of squares between groups is at least the given one's."""
    total = products.sum(axis=(1, 2))
    occurrences = counts.sum(axis=1)

    def between(members: NDArray[np.bool_]) -> Array:
        own = members.astype(np.float64)
        inside = own @ products  # (words, permutations, folds)
        square, across = (inside * own).sum(axis=2), inside.sum(axis=2)
        n = counts @ own.T
        rest = occurrences[:, None] - n
        with np.errstate(divide="ignore", invalid="ignore"):
            found = square / n + (total[:, None] - 2 * across + square) / rest - total[:, None] / occurrences[:, None]
        return np.where((n > 0) & (rest > 0), found, 0.0)

    given = between(first[None])
    reached = (between(labels) >= given * (1 - TIE) - TIE).sum(axis=1)
    return [float(p) for p in p_values(reached, len(labels), exact=exact)]
