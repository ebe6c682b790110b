"""Distances of words between two groups from their sums by fold, with standard errors and p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.resampling import Array, jackknife_error, leave_one_out
from wordstill.evaluation.statistics import p_values
from wordstill.vectors.folds import Folds

NULL_DRAWS = 200
"""Permutations for the variance of an unchanged word's distance."""
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class GroupDistances:
    """Some words in the folds of two groups. W words, F folds.

    Args:
        products: Dot products of the sums of a word's rows in any two folds (W, F, F).
        counts: Occurrences in each fold (W, F).
        first: Which folds are in the first group (F).
    """

    products: Array
    counts: Array
    first: NDArray[np.bool_]

    @classmethod
    def of(cls, folds: Folds, rows: Sequence[int], chosen: NDArray[np.int64], first: NDArray[np.bool_]) -> Self:
        """Words, by their table rows, in the chosen folds."""
        found = [folds.of_word(row) for row in rows]
        sums = np.stack([each[chosen] for _, each in found])
        counts = np.stack([each[chosen] for each, _ in found]).astype(np.float64)
        return cls(np.einsum("wfd,wgd->wfg", sums, sums), counts, first)

    def estimates(self, labels: NDArray[np.bool_]) -> tuple[Array, Array]:
        """The two `measures` and their standard errors, (2, W) each.

        The jackknife counts the variance from interactions of two folds twice (Efron and Stein 1981). This is the
        variance for a word that did not change, so it is estimated from permutations of the folds and subtracted once.

        Args:
            labels: Permutations of ``first``, (P, F). Without any, errors are too large for words that hardly changed.
        """
        whole = np.ones((1, len(self.first)))
        value = self.measures(whole, self.first)[:, :, 0]
        without = self.measures(leave_one_out(len(self.first)), self.first)
        errors = jackknife_error(np.moveaxis(without, 2, 0), self.first.astype(np.int64))
        if len(labels):
            some = labels[:: -(-len(labels) // NULL_DRAWS)]
            together = _spread(self._unchanged().measures(whole, some))
            errors = np.sqrt(np.maximum(together, errors**2 - together))
        return value, errors

    def measures(self, weights: Array, first: NDArray[np.bool_]) -> Array:
        """Distances and pairwise differences between the groups, (2, W, B) for B resamples.

        NaN if a word has no stable direction in a group, because its folds agree too little.

        Args:
            weights: 1 for folds that count, 0 for others (B, F), or one row for all resamples.
            first: Which folds are in the first group (F), or for each resample (B, F).
        """
        one, two = weights * first, weights * ~first
        with np.errstate(divide="ignore", invalid="ignore"):
            across = self._products(one, two) / ((self.counts @ one.T) * (self.counts @ two.T))
        lengths, squares = zip(*(self._lengths(own) for own in (one, two)))
        both = (lengths[0] > 0) & (lengths[1] > 0)
        distance = 1.0 - across / np.sqrt(np.where(both, lengths[0] * lengths[1], np.nan))
        pairwise = (lengths[0] + lengths[1] - 2 * across) / (squares[0] + squares[1])
        return np.stack([distance, pairwise])

    def p_values(self, labels: NDArray[np.bool_], *, exact: bool) -> Array:
        """P-values (W): how often permutations reach the sum of squares between the groups."""
        total, occurrences = self.products.sum(axis=(1, 2)), self.counts.sum(axis=1)

        def between(members: NDArray[np.bool_]) -> Array:
            own = members.astype(np.float64)
            inside = own @ self.products  # (words, permutations, folds)
            square, across = (inside * own).sum(axis=2), inside.sum(axis=2)
            n = self.counts @ own.T
            rest = occurrences[:, None] - n
            with np.errstate(divide="ignore", invalid="ignore"):
                left = (total[:, None] - 2 * across + square) / rest
                found = square / n + left - total[:, None] / occurrences[:, None]
            return np.where((n > 0) & (rest > 0), found, 0.0)

        given = between(self.first[None])
        reached = (between(labels) >= given * (1 - TIE) - TIE).sum(axis=1)
        return p_values(reached, len(labels), exact=exact)

    def _unchanged(self) -> GroupDistances:
        """The same words with their mean row in either group shifted to their overall mean."""
        share = self.counts[:, :, None] / self.counts.sum(axis=1)[:, None, None]
        moved = np.eye(len(self.first)) + share
        for own in (self.first, ~self.first):
            inside = self.counts * own
            moved = moved - (inside / inside.sum(axis=1, keepdims=True))[:, :, None] * own
        return GroupDistances(moved @ self.products @ moved.transpose(0, 2, 1), self.counts, self.first)

    def _products(self, one: Array, two: Array) -> Array:
        found: Array = np.einsum("bf,wfg,bg->wb", one, self.products, two, optimize=True)
        return found

    def _lengths(self, own: Array) -> tuple[Array, Array]:
        """Unbiased squared lengths of a word's row, and of a single use of it, (W, B) each."""
        inner = np.einsum("wff->wf", self.products)
        squares, n = self._products(own, own), self.counts @ own.T
        pairs = n**2 - (self.counts**2) @ own.T
        length = (squares - inner @ own.T) / np.where(pairs > 0, pairs, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(self.counts > 0, inner / self.counts, 0.0) @ own.T
            occupied = (self.counts > 0).astype(np.float64) @ own.T
            spread = (each - squares / n) / np.where(occupied > 1, occupied - 1, np.nan)
        return length, length + spread


def _spread(values: Array) -> Array:
    """Variances over the last axis from the middle 95 %, robust to outliers; 0 if no value is finite."""
    known = np.isfinite(values).any(axis=-1, keepdims=True)
    low, high = np.nanquantile(np.where(known, values, 0.0), [0.025, 0.975], axis=-1)
    variance: Array = ((high - low) / (2 * NormalDist().inv_cdf(0.975))) ** 2
    return variance
