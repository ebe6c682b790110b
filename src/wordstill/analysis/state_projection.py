"""A map from the teacher's states to the space of a table, so that uses of a word can be compared with words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.occurrences import Occurrences
from wordstill.vectors.search import unit_rows

Floats = NDArray[np.float32]
ENOUGH_USES = 10
"""Minimum kept occurrences of words on which the map is fitted."""
RIDGE = 0.1
"""Ridge penalty, as a fraction of the mean variance of the states."""
SOUND = 0.6
"""Cosine below which senses are unreliable."""


class StateProjection:
    """An affine map from states to unit rows of a table.

    Args:
        mean: Mean of the states on which it was fitted [width].
        weights: [width, dim].
        offset: [dim].
        cosine: Mean cosine between mapped mean states and rows of words, by two-fold cross-validation.
    """

    def __init__(self, mean: Floats, weights: Floats, offset: Floats, cosine: float) -> None:
        self.mean, self.weights, self.offset, self.cosine = mean, weights, offset, cosine

    def __call__(self, states: Floats) -> Floats:
        """[n, dim] unit vectors for states [n, width]."""
        return unit_rows((states - self.mean) @ self.weights + self.offset)

    @classmethod
    def fit(cls, table: WordVectors, occurrences: Occurrences) -> StateProjection:
        """Fit by ridge regression over words with enough uses; the identity if rows are plain means of these states."""
        if _is_mean_of_states(table, occurrences.layer):
            zero = np.zeros(occurrences.width, dtype=np.float32)
            return cls(zero, np.eye(occurrences.width, dtype=np.float32), zero, 1.0)
        uses = np.diff(occurrences.offsets)
        rows = [row for row, word in enumerate(occurrences.words) if word in table]
        often = [row for row in rows if uses[row] >= ENOUGH_USES]
        chosen = often if len(often) >= 2 else rows
        if len(chosen) < 2:
            raise UsageError(f"{len(chosen)} words with occurrences are in the table, too few to compare them.")
        means = occurrences.means[chosen].astype(np.float64)
        targets = table.unit[[table.index(occurrences.words[row]) for row in chosen]].astype(np.float64)
        even = np.arange(len(chosen)) % 2 == 0
        cosines = [
            (cls(*_ridge(means[part], targets[part]), 0.0)(means[~part].astype(np.float32)) * targets[~part]).sum(
                axis=1
            )
            for part in (even, ~even)
        ]
        return cls(*_ridge(means, targets), float(np.concatenate(cosines).mean()))


def _ridge(means: NDArray[np.float64], targets: NDArray[np.float64]) -> tuple[Floats, Floats, Floats]:
    center, offset = means.mean(axis=0), targets.mean(axis=0)
    inputs = means - center
    covariance = inputs.T @ inputs
    covariance[np.diag_indices_from(covariance)] += RIDGE * np.trace(covariance) / len(covariance) + 1e-12
    weights = np.linalg.solve(covariance, inputs.T @ (targets - offset))
    return center.astype(np.float32), weights.astype(np.float32), offset.astype(np.float32)


def _is_mean_of_states(table: WordVectors, layer: int) -> bool:
    method = table.provenance.get("method")
    plain = {"name": "ase.v1", "layer": layer, "subword": "mean", "context": "mean"}
    return isinstance(method, dict) and {key: method.get(key) for key in plain} == plain
