"""Clusters of a word's uses by repeated bisection, as long as the prediction strength of the split is high enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]

SPLITS = 10
"""Random halvings over which prediction strength is averaged."""
MOST_STEPS = 30
NEEDED = 4
"""Minimum size of a cluster that is split, as a multiple of the minimum cluster size."""


class Clusters(NamedTuple):
    """A clustering of points."""

    members: list[Ints]
    """Indices of the points of each cluster, the largest cluster first."""
    strength: float
    """Prediction strength of the first split, whether or not it was made."""


def divide(points: NDArray[np.float32], strength: float, least: int, most: int, seed: int = 0) -> Clusters:
    """Bisect clusters of points [n, dim], the largest first, while splits are predictable.

    Args:
        points: The points. Distances are Euclidean; for unit vectors, this is clustering by cosine.
        strength: Minimum `prediction_strength` of a split.
        least: Minimum points in a cluster; clusters of fewer than four times as many are not split.
        most: Maximum number of clusters.
        seed: Seed of the halvings.
    """
    products = points.astype(np.float64) @ points.T.astype(np.float64)
    waiting, first = [np.arange(len(points))], 0.0
    done: list[Ints] = []
    while waiting and len(waiting) + len(done) < most:
        waiting.sort(key=len)
        cluster = waiting.pop()
        inner = products[np.ix_(cluster, cluster)]
        upper = two_means(inner[None])[0]
        fits = len(cluster) >= NEEDED * least and min(int(upper.sum()), int((~upper).sum())) >= least
        found = prediction_strength(inner, seed) if fits else 0.0
        if len(cluster) == len(points):
            first = found
        if found >= strength and fits:
            waiting += [cluster[upper], cluster[~upper]]
        else:
            done.append(cluster)
    return Clusters(_ordered([*done, *waiting]), first)


def prediction_strength(products: Floats, seed: int = 0, splits: int = SPLITS) -> float:
    """How well two clusters of one half of the points predict those of the other, from 0 to 1.

    Each half is clustered by itself. For each cluster of one half, this is the share of its pairs of points that the
    clusters of the other half put together too. The minimum over the two clusters is averaged over halvings
    (Tibshirani & Walther 2005, "Cluster Validation by Prediction Strength"). About 0.5 is chance.

    Args:
        products: Inner products of the points [n, n].
        seed: Seed of the halvings.
        splits: Number of halvings.
    """
    size = len(products) // 2
    if size < 2:
        return 0.0
    generator = np.random.default_rng([seed, len(products)])
    orders = np.stack([generator.permutation(len(products)) for _ in range(splits)])
    halves = orders[:, :size], orders[:, size : 2 * size]
    labels = [two_means(_part(products, half, half)) for half in halves]
    found = [
        _agreement(labels[test], _nearer(products, halves[train], halves[test], labels[train]))
        for train, test in ((0, 1), (1, 0))
    ]
    return float(np.mean(found))


def two_means(products: Floats) -> Mask:
    """[batch, n] whether each point is in the first of two clusters, given inner products [batch, n, n].

    2-means, initialized with the sign of the first principal component. One cluster may end up empty.
    """
    mean = products.mean(axis=1, keepdims=True)
    centered = products - mean - mean.transpose(0, 2, 1) + mean.mean(axis=2, keepdims=True)
    _, vectors = np.linalg.eigh(centered)
    upper = vectors[:, :, -1]
    # The sign of a component is arbitrary: the first point is in the first cluster.
    upper = (upper > 0) == (upper[:, :1] > 0)
    for _ in range(MOST_STEPS):
        moved = _distances(products, products, upper) < _distances(products, products, ~upper)
        if (moved == upper).all():
            break
        upper = moved
    return upper


def _distances(cross: Floats, inner: Floats, members: Mask) -> Floats:
    """[batch, m] squared distances to the mean of the members [batch, n], less each point's own squared length."""
    weights = members / np.maximum(members.sum(axis=1, keepdims=True), 1)
    own = np.einsum("bi,bij,bj->b", weights, inner, weights)
    distances: Floats = own[:, None] - 2 * np.einsum("bmi,bi->bm", cross, weights)
    return np.where(members.sum(axis=1)[:, None] > 0, distances, np.inf)


def _nearer(products: Floats, train: Ints, test: Ints, labels: Mask) -> Mask:
    """[batch, m] whether each test point is nearer to the first cluster of the training points."""
    cross, inner = _part(products, test, train), _part(products, train, train)
    nearer: Mask = _distances(cross, inner, labels) < _distances(cross, inner, ~labels)
    return nearer


def _agreement(labels: Mask, predicted: Mask) -> Floats:
    """[batch] share of pairs in a cluster that are predicted to be together, the minimum over both clusters."""
    shares = []
    for members in (labels, ~labels):
        size, together = members.sum(axis=1), (members & predicted).sum(axis=1)
        apart = size - together
        pairs = together * (together - 1) + apart * (apart - 1)
        shares.append(np.where(size > 1, pairs / np.maximum(size * (size - 1), 1), 0.0))
    worse: Floats = np.minimum(*shares)
    return worse


def _part(products: Floats, rows: Ints, columns: Ints) -> Floats:
    return products[rows[:, :, None], columns[:, None, :]]


def _ordered(clusters: Sequence[Ints]) -> list[Ints]:
    return sorted(clusters, key=lambda members: (-len(members), int(members[0])))
