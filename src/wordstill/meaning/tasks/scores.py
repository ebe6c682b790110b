"""Figures of merit that are not in every library: thresholds, uncentred correlation, harmonic mean."""

from __future__ import annotations

import numpy as np

from wordstill.evaluate.statistics import Floats, pearson, spearman

PAPER_GRID = np.arange(101) / 100
"""Thresholds that paper 002 tries."""


def best_threshold(cosines: Floats, gold: Floats, grid: Floats | None = None) -> float:
    """The threshold from which on pairs count as the same, with the highest accuracy; of equals the lowest.

    Args:
        cosines: Of pairs [n].
        gold: 1 for the same, 0 for different [n].
        grid: Thresholds to try; None tries every one that makes a difference.
    """
    if grid is None:
        values = np.unique(cosines)
        grid = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1] + 1.0]])
    order = np.argsort(cosines, kind="stable")
    # Right are the pairs below the threshold that are different, and those from it on that are the same.
    different_below = np.concatenate([[0], np.cumsum(gold[order] == 0)])
    same_from = np.concatenate([[0], np.cumsum(gold[order][::-1] == 1)])[::-1]
    below = np.searchsorted(cosines[order], grid, side="left")
    return float(grid[int(np.argmax(different_below[below] + same_from[below]))])


def accuracy(cosines: Floats, gold: Floats, threshold: float) -> float:
    """Part of the pairs that a threshold puts on the right side."""
    return float(np.mean((cosines >= threshold) == (gold == 1)))


def uncentred_pearson(gold: Floats, predicted: Floats) -> float:
    """The cosine of two rows of numbers: Pearson's correlation without taking means away."""
    scale = float(np.sqrt((gold @ gold) * (predicted @ predicted)))
    return float(gold @ predicted) / scale if scale > 0 else float("nan")


def harmonic_correlation(gold: Floats, predicted: Floats) -> float:
    """The harmonic mean of Pearson's and Spearman's correlation."""
    first, second = pearson(gold, predicted), spearman(gold, predicted)
    return 2 * first * second / (first + second) if first + second else float("nan")
