from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from wordstill.methods.linear_algebra import centered, principal_axes, ridge, symmetric_power, unit_rows


@pytest.fixture
def rows() -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.normal(size=(200, 8)) @ generator.normal(size=(8, 8)) + 5


def covariance(rows: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.cov(rows.T, bias=True))


def test_powers_of_a_covariance(rows):
    matrix = covariance(rows)
    np.testing.assert_allclose(symmetric_power(matrix, 1.0), matrix, atol=1e-10)
    np.testing.assert_allclose(symmetric_power(matrix, -1.0), np.linalg.inv(matrix.numpy()), rtol=1e-6)
    half = symmetric_power(matrix, 0.5).numpy()
    np.testing.assert_allclose(half @ half, matrix, atol=1e-10)
    np.testing.assert_allclose(symmetric_power(matrix, 0.0), np.eye(8), atol=1e-10)


def test_whole_whitening_leaves_no_covariance(rows):
    white = (rows - rows.mean(axis=0)) @ symmetric_power(covariance(rows), -0.5).numpy()
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(8), atol=1e-8)


def test_small_and_negative_eigenvalues_are_lifted():
    matrix = torch.diag(torch.tensor([4.0, 1e-20, -1e-12], dtype=torch.float64))
    expected = [0.5, (4e-8) ** -0.5, (4e-8) ** -0.5]
    np.testing.assert_allclose(torch.diag(symmetric_power(matrix, -0.5)), expected)


@pytest.mark.parametrize("exponent", [-1.0, -0.35, 0.0, 0.5])
def test_powers_of_nothing_are_nothing(exponent):
    assert symmetric_power(torch.zeros(3, 3), exponent).tolist() == torch.zeros(3, 3).tolist()


def test_ridge_is_that_of_scikit_learn(rows):
    outputs = np.random.default_rng(1).normal(size=(200, 3)) + rows[:, :3] ** 2
    inputs, width = rows - rows.mean(axis=0), rows.shape[1]
    cross = torch.from_numpy(inputs.T @ (outputs - outputs.mean(axis=0)) / len(rows))
    strength = 0.3
    penalty = strength * np.trace(covariance(rows).numpy()) / width * len(rows)
    expected = Ridge(alpha=penalty).fit(rows, outputs).coef_.T
    np.testing.assert_allclose(ridge(covariance(rows), cross, strength), expected, rtol=1e-8)


def test_ridge_without_strength_is_least_squares(rows):
    truth = np.random.default_rng(1).normal(size=(8, 2))
    cross = torch.from_numpy(np.cov(rows.T, bias=True) @ truth)
    np.testing.assert_allclose(ridge(covariance(rows), cross, 0.0), truth, rtol=1e-6)


def test_ridge_of_nothing_expects_nothing():
    assert ridge(torch.zeros(2, 2).double(), torch.zeros(2, 3).double(), 0.01).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("rank", [5, 150, 1100], ids=["few words", "more words", "every direction"])
def test_few_directions_of_a_large_covariance_are_those_of_a_full_solution(rank):
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(rank, 1100)) * 0.97 ** np.arange(rank)[:, None]
    matrix = torch.from_numpy(vectors.T @ vectors)
    values, directions = principal_axes(matrix, 40)
    expected, axes = (found.flip(-1)[..., :40] for found in torch.linalg.eigh(matrix))
    kept = min(rank, 40)
    torch.testing.assert_close(values[:kept], expected[:kept], rtol=1e-9, atol=0)
    assert not values[kept:].any() and not directions[:, kept:].any()
    cosines = torch.linalg.svdvals(axes[:, :kept].T @ directions[:, :kept])
    torch.testing.assert_close(cosines, torch.ones_like(cosines), rtol=0, atol=1e-9)


def test_equal_variances_in_all_directions_of_a_large_covariance():
    values, directions = principal_axes(torch.eye(1100, dtype=torch.float64), 40)
    torch.testing.assert_close(values, torch.ones_like(values))
    torch.testing.assert_close(directions.T @ directions, torch.eye(40, dtype=torch.float64))


@pytest.mark.parametrize("count", [1, 3, 8])
def test_directions_are_those_of_scikit_learn(rows, count):
    found = principal_axes(covariance(rows), count)[1].numpy()
    expected = PCA(count).fit(rows).components_.T
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-8)
    assert (found[np.abs(found).argmax(axis=0), np.arange(count)] > 0).all()


def test_directions_without_variance_are_zeros(rows):
    flat = rows.copy()
    flat[:, 3:] = flat[:, :1]
    found = principal_axes(covariance(flat), 8)[1].numpy()
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), [1, 1, 1, 0, 0, 0, 0, 0], atol=1e-12)
    assert np.abs(principal_axes(torch.zeros(4, 4).double(), 2)[1].numpy()).max() == 0


def test_unit_rows():
    rows = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-150, 0.0], [1e-200, 0.0]], dtype=torch.float64)
    found = unit_rows(rows)
    assert found[:3].tolist() == [[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]]
    assert found[3].abs().max() < 1e-40


def test_rounding_is_not_a_deviation():
    mean = torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64)
    rows = torch.stack([mean + 1e-7, mean + 1e-3, -mean])
    found = centered(rows, mean)
    assert found[0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(found[1:], (rows - mean)[1:])
    assert centered(torch.zeros(1, 2), torch.zeros(2)).tolist() == [[0, 0]]
