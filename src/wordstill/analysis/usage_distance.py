"""Distances between a word's kept uses in two groups: average pairwise distance, and divergence of senses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordstill.analysis.resampling import Array, Estimate, interval, jackknife_error, leave_one_out
from wordstill.analysis.senses import Senses, refuse_other_text
from wordstill.corpus import Corpus
from wordstill.errors import UsageError, unknown_name
from wordstill.evaluation.statistics import all_are_made, p_values, splits
from wordstill.vectors.search import unit_rows

PERMUTATIONS = 999
LEAST_USES = 10
"""Minimum kept uses of a word in each group."""
LEAST_DOCUMENTS = 4
"""Minimum documents with these uses in each group."""


@dataclass(frozen=True)
class UsageDistance:
    """A distance between the uses of two groups."""

    estimate: Estimate
    chance: float
    """Its mean over permutations of documents between the groups."""
    p: float


@dataclass(frozen=True)
class UsageChange:
    """How the kept uses of a word differ between two groups."""

    word: str
    counts: tuple[int, int]
    pairwise: UsageDistance
    """Average pairwise distance of the teacher's states (APD of Giulianelli et al. 2020)."""
    senses: UsageDistance | None
    """Jensen-Shannon divergence of the shares of the senses, in bits; None for a word with one sense."""


def usage_change(
    senses: Senses,
    corpus: Corpus,
    word: str,
    before: str,
    after: str,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> UsageChange | None:
    """Distances between the uses of a word in two groups; None if too few uses or documents were kept for either.

    P-values are from permutations of documents, intervals from the jackknife over them; without documents, paragraphs
    are used instead.

    Raises:
        UsageError: The table was distilled from another text, the text lacks a group, or none of the word's occurrences
            was kept.
    """
    refuse_other_text(senses.table, corpus)
    if corpus.groups is None:
        raise UsageError(f"{corpus.path} was prepared without groups. Prepare it with --group FIELD.")
    for name in (before, after):
        if name not in corpus.group_names:
            raise unknown_name("group", name, corpus.group_names)
    found = senses.of(word)
    paragraphs = corpus.paragraphs_of(found.kept.sentences)
    groups = corpus.groups[paragraphs]
    pair = [corpus.group_names.index(name) for name in (before, after)]
    used = np.flatnonzero(np.isin(groups, pair))
    counts = int((groups == pair[0]).sum()), int((groups == pair[1]).sum())
    if min(counts) < LEAST_USES:
        return None
    documents = paragraphs if corpus.documents is None else corpus.documents[paragraphs]
    # A document is in one group only, that of its first use.
    _, place, unit = np.unique(documents[used], return_index=True, return_inverse=True)
    first = groups[used][place] == pair[0]
    if min(first.sum(), (~first).sum()) < LEAST_DOCUMENTS:
        return None
    states = _summed(unit_rows(found.kept.states[used]).astype(np.float64), unit)
    numbers = np.bincount(unit).astype(np.float64)
    sense_of_use = np.zeros((len(found.kept), len(found)))
    for number, sense in enumerate(found.senses):
        sense_of_use[sense.uses, number] = 1.0
    shares = _summed(sense_of_use[used], unit)

    def pairwise(one: Array, two: Array) -> Array:
        means = [own @ states / (own @ numbers)[:, None] for own in (one, two)]
        apart: Array = 1.0 - (means[0] * means[1]).sum(axis=1)
        return apart

    def divergence(one: Array, two: Array) -> Array:
        return jensen_shannon(one @ shares, two @ shares)

    def measured(statistic: Callable[[Array, Array], Array], most: float) -> UsageDistance:
        return _tested(statistic, most, first, permutations, seed)

    return UsageChange(found.word, counts, measured(pairwise, 2), measured(divergence, 1) if len(found) > 1 else None)


def jensen_shannon(first: ArrayLike, second: ArrayLike) -> Array:
    """The Jensen-Shannon divergence of distributions over senses (..., senses), in bits: from 0 to 1.

    Distributions may be given as counts.

    Raises:
        UsageError: The shapes differ, a count is negative, or all counts of a distribution are 0.
    """
    counts = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    if counts[0].shape != counts[1].shape or not counts[0].ndim:
        shapes = " and ".join(str(each.shape) for each in counts)
        raise UsageError(f"Distributions over the same senses are compared, got shapes {shapes}.")
    if any((each < 0).any() or not (each.sum(axis=-1) > 0).all() for each in counts):
        raise UsageError(f"Counts of senses are zero or more, and not all zero; got {counts[0]}, {counts[1]}.")
    shares = [each / each.sum(axis=-1, keepdims=True) for each in counts]
    middle = (shares[0] + shares[1]) / 2
    divergence: Array = sum((_divergence(each, middle) for each in shares), np.zeros(middle.shape[:-1])) / 2
    return divergence


def _divergence(share: Array, middle: Array) -> Array:
    """Kullback-Leibler divergence in bits; outcomes of probability 0 contribute nothing."""
    there = share > 0
    bits: Array = np.where(there, share * np.log2(np.where(there, share / np.where(there, middle, 1), 1)), 0).sum(
        axis=-1
    )
    return bits


def _summed(rows: Array, unit: NDArray[np.int64]) -> Array:
    sums = np.zeros((int(unit.max()) + 1, rows.shape[1]))
    np.add.at(sums, unit, rows)
    return sums


def _tested(
    statistic: Callable[[Array, Array], Array], most: float, first: NDArray[np.bool_], permutations: int, seed: int
) -> UsageDistance:
    """A statistic of the documents, between 0 and ``most``, with its interval, chance level and p-value."""
    size = len(first), int(first.sum())
    value = float(statistic(first[None].astype(np.float64), (~first[None]).astype(np.float64))[0])
    weights = leave_one_out(len(first))
    error = float(jackknife_error(statistic(weights * first, weights * ~first), first.astype(np.int64)))
    there = interval(value, error, min(size[1], size[0] - size[1]) - 1)
    labels = np.concatenate([*splits(*size, permutations, np.random.default_rng(seed))])
    drawn = statistic(labels.astype(np.float64), (~labels).astype(np.float64))
    exact = all_are_made(*size, permutations)
    p = float(p_values((drawn >= value - 1e-12).sum(), len(drawn), exact=exact))
    inside = {name: min(most, max(0.0, getattr(there, name))) for name in ("value", "low", "high")}
    return UsageDistance(replace(there, **inside), float(drawn.mean()), p)
