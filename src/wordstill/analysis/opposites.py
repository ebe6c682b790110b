"""Directions that tell opposites from synonyms, learned from the pairs of a lexicon.

Opposites are near each other in any table, because they are used alike, but they differ along a few directions in which
synonyms do not. With A and S the mean outer products of the unit differences of antonyms and of synonyms, the
directions are the generalized eigenvectors of A v = λ (S + r I) v with the largest λ; a pair's score is the squared
length of its unit difference along them. Which score is too large follows from pairs that were held out, with all the
words in them. Only near pairs are learned from and judged: far ones differ in everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.statistics import Floats

DIRECTIONS, RIDGE, FOLDS = 5, 1.0, 5
NEAR = 0.4
"""Least cosine of a pair that is learned from."""
LEAST_PAIRS = 100
"""Near pairs of antonyms and of synonyms; with fewer nothing is learned."""
LOST = 0.1
"""Share of held-out synonyms that may be taken for opposites."""

Pairs = NDArray[np.int64]
"""Rows of a table, (pairs, 2)."""


@dataclass(frozen=True, eq=False)
class Opposites:
    """Directions of opposites, and the score above which a pair is one."""

    directions: Floats
    """(dim, directions)"""
    bound: float
    caught: float
    """Share of held-out antonyms above the bound."""
    lost: float
    """Share of held-out synonyms above it."""

    def scores(self, unit: NDArray[np.float32], pairs: Pairs) -> Floats:
        """The score of each pair of rows of ``unit``, (pairs,)."""
        return _scores(self.directions, unit, pairs)


def learn_opposites(
    unit: NDArray[np.float32],
    antonyms: Pairs,
    synonyms: Pairs,
    seed: int = 0,
    *,
    directions: int = DIRECTIONS,
    ridge: float = RIDGE,
) -> Opposites | None:
    """Learn the directions of opposites in a table; None if there are too few near pairs.

    Args:
        unit: Unit rows of the table, (words, dim).
        antonyms: Pairs of its rows.
        synonyms: Pairs of its rows, none of which is among the antonyms.
        seed: Of the folds of words.
        directions: How many are learned.
        ridge: r, as a share of the mean variance of the differences of synonyms.
    """
    antonyms, synonyms = (pairs[_cosines(unit, pairs) >= NEAR] for pairs in (antonyms, synonyms))
    if min(len(antonyms), len(synonyms)) < LEAST_PAIRS:
        return None
    fold = np.random.default_rng(seed).integers(0, FOLDS, len(unit))
    held: tuple[list[Floats], list[Floats]] = ([], [])
    for number in range(FOLDS):
        inside = [pairs[(fold[pairs] != number).all(axis=1)] for pairs in (antonyms, synonyms)]
        learned = _directions(unit, inside[0], inside[1], directions, ridge)
        for kept, pairs in zip(held, (antonyms, synonyms)):
            kept.append(_scores(learned, unit, pairs[(fold[pairs] == number).all(axis=1)]))
    opposite, alike = (np.concatenate(kept) for kept in held)
    if not len(opposite) or not len(alike):
        return None
    bound = float(np.quantile(alike, 1 - LOST))
    shares = (float((scores > bound).mean()) for scores in (opposite, alike))
    return Opposites(_directions(unit, antonyms, synonyms, directions, ridge), bound, *shares)


def _directions(unit: NDArray[np.float32], antonyms: Pairs, synonyms: Pairs, directions: int, ridge: float) -> Floats:
    apart, together = (_scatter(_differences(unit, pairs)) for pairs in (antonyms, synonyms))
    together = together + ridge * np.trace(together) / len(together) * np.eye(len(together))
    # With S = L L', the problem is the usual one for L^-1 A L^-1'.
    inverse = np.linalg.inv(np.linalg.cholesky(together))
    _, vectors = np.linalg.eigh(inverse @ apart @ inverse.T)
    found: Floats = inverse.T @ vectors[:, -directions:]
    return found


def _cosines(unit: NDArray[np.float32], pairs: Pairs) -> NDArray[np.float32]:
    cosines: NDArray[np.float32] = np.einsum("ij,ij->i", unit[pairs[:, 0]], unit[pairs[:, 1]])
    return cosines


def _scatter(differences: Floats) -> Floats:
    scatter: Floats = differences.T @ differences / max(1, len(differences))
    return scatter


def _differences(unit: NDArray[np.float32], pairs: Pairs) -> Floats:
    differences = (unit[pairs[:, 0]] - unit[pairs[:, 1]]).astype(np.float64)
    lengths = np.linalg.norm(differences, axis=1, keepdims=True)
    scaled: Floats = np.divide(differences, lengths, out=np.zeros_like(differences), where=lengths > 0)
    return scaled


def _scores(directions: Floats, unit: NDArray[np.float32], pairs: Pairs) -> Floats:
    scores: Floats = ((_differences(unit, pairs) @ directions) ** 2).sum(axis=1)
    return scores
