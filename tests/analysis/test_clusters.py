from __future__ import annotations

import numpy as np
import pytest

from wordstill.analysis.clusters import divide, prediction_strength, two_means


def blobs(seed: int, *sizes: int, gap: float = 6.0, dim: int = 8) -> np.ndarray:
    """Points around as many centers as there are sizes."""
    generator = np.random.default_rng(seed)
    centers = np.eye(dim)[: len(sizes)] * gap
    return np.concatenate([center + generator.normal(size=(size, dim)) for center, size in zip(centers, sizes)])


def slow_two_means(points: np.ndarray) -> np.ndarray:
    """The same, with vectors, point by point."""
    axis = np.linalg.svd(points - points.mean(axis=0))[2][0]
    upper = (points - points.mean(axis=0)) @ axis > 0
    upper = upper == upper[0]
    for _ in range(30):
        if upper.all() or not upper.any():
            break
        means = points[upper].mean(axis=0), points[~upper].mean(axis=0)
        moved = np.array([np.linalg.norm(point - means[0]) < np.linalg.norm(point - means[1]) for point in points])
        if (moved == upper).all():
            break
        upper = moved
    return upper


def slow_strength(points: np.ndarray, seed: int, splits: int) -> float:
    """Prediction strength by its definition, pair by pair."""
    generator = np.random.default_rng([seed, len(points)])
    found = []
    orders = [generator.permutation(len(points)) for _ in range(splits)]
    size = len(points) // 2
    for order in orders:
        for train, test in ((order[:size], order[size : 2 * size]), (order[size : 2 * size], order[:size])):
            upper, own = slow_two_means(points[train]), slow_two_means(points[test])
            means = [points[train][part].mean(axis=0) for part in (upper, ~upper)]
            nearer = [np.argmin([np.linalg.norm(point - mean) for mean in means]) for point in points[test]]
            shares = []
            for cluster in (True, False):
                members = [number for number in range(size) if own[number] == cluster]
                pairs = [(a, b) for a in members for b in members if a != b]
                shares.append(np.mean([nearer[a] == nearer[b] for a, b in pairs]) if pairs else 0.0)
            found.append(min(shares))
    return float(np.mean(found))


@pytest.mark.parametrize("seed", range(4))
def test_two_means_are_those_of_the_points(seed):
    points = blobs(seed, 9, 14, gap=2.0)
    np.testing.assert_array_equal(two_means((points @ points.T)[None])[0], slow_two_means(points))


@pytest.mark.parametrize(("gap", "sizes"), [(0.0, (21,)), (2.5, (12, 13)), (8.0, (10, 10))])
def test_the_strength_is_that_of_its_definition(gap, sizes):
    points = blobs(1, *sizes, gap=gap)
    assert prediction_strength(points @ points.T, 3, 4) == pytest.approx(slow_strength(points, 3, 4), abs=1e-12)


def test_clear_clusters_predict_each_other_and_noise_does_not():
    clear, noise = blobs(0, 30, 30, gap=9.0), blobs(0, 60)
    assert prediction_strength(clear @ clear.T) == 1.0
    assert prediction_strength(noise @ noise.T) < 0.65
    assert prediction_strength(np.ones((3, 3))) == 0.0


def test_points_are_divided_as_they_were_made():
    points = blobs(0, 10, 22, 15, gap=9.0).astype(np.float32)
    found = divide(points, 0.8, least=5, most=8)
    assert [sorted(some.tolist()) for some in found.members] == [[*range(10, 32)], [*range(32, 47)], [*range(10)]]
    assert found.strength > 0.8
    assert len(divide(points, 0.8, least=5, most=2).members) == 2
    assert len(divide(points, 0.8, least=5, most=1).members) == 1
    assert len(divide(points, 0.8, least=11, most=8).members) < 3
    assert len(divide(points, 0.8, least=12, most=8).members) == 1
    for some, again in zip(found.members, divide(points, 0.8, least=5, most=8).members):
        np.testing.assert_array_equal(some, again)


def test_equal_points_are_one_cluster():
    found = divide(np.ones((30, 4), dtype=np.float32), 0.7, least=5, most=8)
    assert [len(some) for some in found.members] == [30]


def test_most_random_clouds_are_one_cluster():
    several = [len(divide(blobs(seed, 50).astype(np.float32), 0.7, 5, 8).members) > 1 for seed in range(40)]
    assert np.mean(several) <= 0.1
