"""The weight of a link from the distance of its ends: Eq. 11 to 13 of Zheng et al. 2022, in logarithms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wordstill.postprocess.retrofit.relaxation import Floats, Links

LINKS_AT_ONCE = 512
"""Two blocks of so many rows stay in a core's cache."""


def log_kernel(squared: NDArray[np.floating], nu: float, sigma: float = 1.0) -> NDArray[np.float64]:
    """The logarithm of C (1 + d^2 / (sigma nu))^-(nu + 1), for squared distances."""
    logs: NDArray[np.float64] = np.log1p(np.asarray(squared, dtype=np.float64) / (sigma * nu))
    return log_normaliser(nu) - (nu + 1) * logs


def log_normaliser(nu: float) -> float:
    """The logarithm of C = 2 pi (Gamma((nu + 1) / 2) / (sqrt(nu pi) Gamma(nu / 2)))^2.

    The gamma function itself leaves the range of float64 at nu = 342.
    """
    ratio = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - math.log(nu * math.pi) / 2
    return math.log(2 * math.pi) + 2 * ratio


def squared_distances(links: Links, centres: Floats, neighbours: Floats) -> NDArray[np.float64]:
    """The squared distance over each link, in the order of the sparse matrix, shape (links,).

    Args:
        links: Some nodes with their links.
        centres: Where the nodes of the rows are taken to be, (nodes, dim).
        neighbours: Where those of the columns are, (nodes, dim).
    """
    rows = np.repeat(links.nodes, np.diff(links.weights.indptr))
    columns = links.weights.indices
    squared = np.empty(len(columns), dtype=np.float64)
    for start in range(0, len(columns), LINKS_AT_ONCE):
        block = slice(start, start + LINKS_AT_ONCE)
        between = np.take(centres, rows[block], axis=0)
        between -= np.take(neighbours, columns[block], axis=0)
        squared[block] = np.einsum("ij,ij->i", between, between)
    return squared
