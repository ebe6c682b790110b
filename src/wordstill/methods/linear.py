"""Closed-form linear algebra of the methods, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST = 1e-8
ROUNDING = 1e-6
"""A deviation this small beside the mean is rounding of float32 sums, not a difference between words."""


def centred(rows: Tensor, mean: Tensor) -> Tensor:
    """Rows [n, d] less their mean [d]; those that differ from it by rounding only become zeros."""
    deviations = rows - mean
    smallest = ROUNDING * torch.linalg.vector_norm(mean)
    equal = torch.linalg.vector_norm(deviations, dim=1, keepdim=True) <= smallest
    return torch.where(equal, 0.0, deviations)


def symmetric_power(matrix: Tensor, exponent: float) -> Tensor:
    """A power of a covariance matrix [d, d]; eigenvalues are kept above 1e-8 of the largest.

    Of a matrix without any variance all powers are zero, as in a pseudo-inverse.
    """
    values: Tensor
    directions: Tensor
    values, directions = torch.linalg.eigh(matrix.double())
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
    weights: Tensor = torch.linalg.solve(inputs + (strength * scale + tiny) * identity, cross)
    return weights


def principal_directions(covariance: Tensor, count: int) -> Tensor:
    """The directions [d, count] of largest variance, each with its largest coordinate positive.

    Those with less than 1e-8 of the largest variance are zeros: nothing but rounding would choose them.
    """
    values: Tensor
    directions: Tensor
    values, directions = torch.linalg.eigh(covariance)
    values, directions = values.flip(0)[:count], directions.flip(1)[:, :count]
    largest = directions.abs().argmax(dim=0)
    signs = torch.sign(directions[largest, torch.arange(count, device=directions.device)])
    return directions * signs * (values > SMALLEST * values[0])


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one; zero rows stay zero."""
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    # Squares of shorter rows underflow, so that their norm is not to be trusted.
    return rows / norms.clamp(min=torch.finfo(rows.dtype).tiny ** 0.5)
