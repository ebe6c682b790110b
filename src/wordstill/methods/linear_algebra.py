"""Closed-form linear algebra of the methods, in float64."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

SMALLEST = 1e-8
FOR_ONE_CORE = 1024
"""Rows of the largest matrix that is factorised by one core."""
ROUNDING = 1e-6
"""A deviation this small beside the mean is rounding of float32 sums, not a difference between words."""


def centered(rows: Tensor, mean: Tensor) -> Tensor:
    """Rows [n, d] less their mean [d]; those that differ from it by rounding only become zeros."""
    deviations = rows - mean
    smallest = ROUNDING * torch.linalg.vector_norm(mean)
    equal = torch.linalg.vector_norm(deviations, dim=1, keepdim=True) <= smallest
    return torch.where(equal, 0.0, deviations)


def symmetric_power(matrix: Tensor, exponent: float) -> Tensor:
    """A power of a covariance matrix [d, d]; eigenvalues are kept above 1e-8 of the largest.

    Of a matrix without any variance all powers are zero, as in a pseudo-inverse.
    """
    values, directions = _eigen(matrix.double())
    largest = float(values.max())
    if largest <= 0:
        return torch.zeros_like(directions)
    powers: Tensor = values.clamp(min=SMALLEST * largest) ** exponent
    return (directions * powers) @ directions.T


def ridge(inputs: Tensor, cross: Tensor, strength: float) -> Tensor:
    """Weights [d, k] of a linear regression from its covariances.

    Args:
        inputs: Covariance of the inputs [d, d].
        cross: Covariance of inputs with outputs [d, k].
        strength: Regularisation, in units of the inputs' mean variance.
    """
    width = len(inputs)
    scale = torch.trace(inputs) / width
    identity = torch.eye(width, dtype=inputs.dtype, device=inputs.device)
    tiny = torch.finfo(inputs.dtype).tiny
    with _one_core_if_small(inputs):
        weights: Tensor = torch.linalg.solve(inputs + (strength * scale + tiny) * identity, cross)
    return weights


def principal_axes(covariance: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest variances [count] and their directions [d, count], each with its largest coordinate positive.

    Those with less than 1e-8 of the largest variance are zeros: nothing but rounding would choose them.
    """
    values, directions = _eigen(covariance)
    values, directions = values.flip(0)[:count], directions.flip(1)[:, :count]
    largest = directions.abs().argmax(dim=0)
    signs = torch.sign(directions[largest, torch.arange(count, device=directions.device)])
    kept = values > SMALLEST * values[0]
    return values * kept, directions * signs * kept


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one; zero rows stay zero."""
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    # Squares of shorter rows underflow, so that their norm is not to be trusted.
    return rows / norms.clamp(min=torch.finfo(rows.dtype).tiny ** 0.5)


def _eigen(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues [d] of a symmetric matrix, in rising order, and eigenvectors [d, d] in columns."""
    with _one_core_if_small(matrix):
        values, directions = torch.linalg.eigh(matrix)
    return values, directions


@contextmanager
def _one_core_if_small(matrix: Tensor) -> Iterator[None]:
    """Factorising a matrix takes many small steps, after each of which the cores wait for each other."""
    cores = torch.get_num_threads()
    if len(matrix) <= FOR_ONE_CORE:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(cores)
