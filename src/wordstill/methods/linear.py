"""Closed-form linear algebra of the methods, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST = 1e-8


def symmetric_power(matrix: Tensor, exponent: float) -> Tensor:
    """A power of a covariance matrix [d, d]; eigenvalues are kept above 1e-8 of the largest."""
    values, directions = torch.linalg.eigh(matrix.double())
    floor = values.max().clamp(min=torch.finfo(torch.float64).tiny) * SMALLEST
    return (directions * values.clamp(min=float(floor)) ** exponent) @ directions.T


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
    return torch.linalg.solve(inputs + (strength * scale + tiny) * identity, cross)


def principal_directions(covariance: Tensor, count: int) -> Tensor:
    """The directions [d, count] of largest variance, each with its largest coordinate positive."""
    directions = torch.linalg.eigh(covariance)[1].flip(1)[:, :count]
    largest = directions.abs().argmax(dim=0)
    signs = torch.sign(directions[largest, torch.arange(count, device=directions.device)])
    return directions * signs


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one; zero rows stay zero."""
    norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / norms.clamp(min=torch.finfo(rows.dtype).tiny)
