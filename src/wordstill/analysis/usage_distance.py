"""How far two sets of uses of a word are apart: average pairwise distance, and divergence of their senses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors.search import unit_rows


def average_pairwise_distance(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """The mean cosine distance between every use of one set [n, dim] and every use of another [m, dim].

    APD of Giulianelli et al. 2020. It is the distance of the mean unit vectors, so it costs n + m.

    Raises:
        UsageError: A set is empty.
    """
    if not len(first) or not len(second):
        raise UsageError(f"Two sets of uses are compared, got {len(first)} and {len(second)} uses.")
    means = [unit_rows(uses).astype(np.float64).mean(axis=0) for uses in (first, second)]
    return 1.0 - float(means[0] @ means[1])


def jensen_shannon(
    first: Sequence[float] | NDArray[np.floating], second: Sequence[float] | NDArray[np.floating]
) -> float:
    """The Jensen-Shannon divergence of two distributions over senses, in bits: from 0 to 1.

    Counts will do; they are divided by their sum.

    Raises:
        UsageError: The senses are not the same number, a count is negative, or all of one are 0.
    """
    counts = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    if counts[0].shape != counts[1].shape or counts[0].ndim != 1:
        raise UsageError(f"Distributions over the same senses are compared, got {len(first)} and {len(second)} senses.")
    if any((each < 0).any() or not each.sum() > 0 for each in counts):
        raise UsageError(
            f"Counts of senses are zero or more, and not all zero; got {[*map(float, first)]}, {[*map(float, second)]}."
        )
    shares = [each / each.sum() for each in counts]
    middle = (shares[0] + shares[1]) / 2
    return sum(_divergence(each, middle) for each in shares) / 2


def _divergence(share: NDArray[np.float64], middle: NDArray[np.float64]) -> float:
    """Kullback-Leibler divergence in bits; what never happens adds nothing."""
    there = share > 0
    return float((share[there] * np.log2(share[there] / middle[there])).sum())
