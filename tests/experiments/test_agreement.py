"""Cosines after the best rotation, beside scipy's."""

import numpy as np
import pytest

from experiments.speed.common import agreement

linalg = pytest.importorskip("scipy.linalg")


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def vectors():
    return unit(np.random.default_rng(0).normal(size=(200, 12)))


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_rotated_table_agrees_wholly(vectors, mirrored):
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))
    turn[:, 0] *= np.sign(np.linalg.det(turn)) * (-1 if mirrored else 1)
    found = agreement(unit(vectors @ turn), vectors)
    assert (found["least"], found["mean"]) == pytest.approx((1, 1), abs=1e-6)
    assert found["mean_unrotated"] < 0.5


@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_the_rotation_is_the_best(vectors, noise):
    moved = unit(vectors[:, ::-1] + noise * np.random.default_rng(2).normal(size=vectors.shape))
    turn, _ = linalg.orthogonal_procrustes(moved, vectors)
    cosines = np.sum((moved @ turn) * vectors, axis=1)
    found = agreement(moved, vectors)
    assert (found["least"], found["mean"]) == pytest.approx((cosines.min(), cosines.mean()), abs=1e-6)
    plain = np.sum(moved * vectors, axis=1)
    assert found["least_unrotated"] == pytest.approx(plain.min())
    assert found["mean_unrotated"] == pytest.approx(plain.mean())


def test_one_word_that_moves_is_the_least(vectors):
    moved = vectors.copy()
    moved[7] = np.roll(moved[7], 1)
    found = agreement(moved, vectors)
    assert found["least"] < 0.9 < 0.99 < found["mean"]
