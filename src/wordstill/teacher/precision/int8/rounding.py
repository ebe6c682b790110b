"""Rounding a weight matrix to 8 bits so that errors cancel over the inputs that are seen."""

from __future__ import annotations

import torch
from torch import Tensor

COLUMNS_AT_ONCE = 128
DAMPING = 0.01
"""Share of the mean square of the inputs that is added to each, so that no direction counts for nothing."""
MOST_INPUTS = 2048
TOP = 127


def round_weights(weight: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Int8 weights [N, K] and the step of each output [N], with a small error over some inputs [n, K].

    Columns are rounded one after another, and the error of each is made good by those that are still to come
    (Frantar et al. 2023, "GPTQ").
    """
    steps = weight.abs().amax(1).clamp(min=1e-12) / TOP
    factor = _inverse_factor(inputs)
    # [K, N] in steps, so that a column of weights is one row in memory.
    rest = (weight / steps[:, None]).t().contiguous()
    rounded = torch.empty_like(rest)
    for start in range(0, len(rest), COLUMNS_AT_ONCE):
        stop = min(start + COLUMNS_AT_ONCE, len(rest))
        errors = torch.empty(stop - start, rest.shape[1])
        for column in range(start, stop):
            rounded[column] = rest[column].round().clamp_(-TOP, TOP)
            errors[column - start] = (rest[column] - rounded[column]) / factor[column, column]
            rest[column:stop].addr_(factor[column, column:stop], errors[column - start], alpha=-1)
        rest[stop:].addmm_(factor[start:stop, stop:].t(), errors, alpha=-1)
    return rounded.t().to(torch.int8).contiguous(), steps


def _inverse_factor(inputs: Tensor) -> Tensor:
    """[K, K] upper triangular factor of the inverse second moment of the inputs."""
    inputs = inputs[:: -(-len(inputs) // MOST_INPUTS)]
    moment = inputs.t() @ inputs / len(inputs)
    moment.diagonal().add_(DAMPING * moment.diagonal().mean() + 1e-12)
    # With the order of the channels reversed, the factor of the moment itself has the inverse that is wanted.
    lower = torch.linalg.cholesky(moment.flip(0, 1))
    inverse: Tensor = torch.linalg.solve_triangular(lower, torch.eye(len(moment)), upper=False)
    return inverse.flip(0, 1)
