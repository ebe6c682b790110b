"""Closed-form linear algebra of the methods, in float64, and running whitening."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from torch import Tensor

from wordstill.methods.sums import Moments, Unmergeable

SMALLEST = 1e-8
FOR_ONE_CORE = 1024
"""Rows of the largest matrix that is factorised by one core."""
FEW = 3
"""Eigenvectors are few if so many times as many are possible."""
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
    values, directions = _largest(covariance, count)
    values, directions = values.flip(0), directions.flip(1)
    largest = directions.abs().argmax(dim=0)
    signs = torch.sign(directions[largest, torch.arange(count, device=directions.device)])
    kept = values > SMALLEST * values[0]
    return values * kept, directions * signs * kept


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one; zero rows stay zero."""
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    # Squares of shorter rows underflow, so that their norm is not to be trusted.
    return rows / norms.clamp(min=torch.finfo(rows.dtype).tiny ** 0.5)


def _largest(matrix: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues [count] of a symmetric matrix, in rising order, and their vectors [d, count]."""
    if FEW * count <= len(matrix) and matrix.device.type == "cpu" and find_spec("scipy"):
        from scipy.linalg import eigh

        # In a third of the time that all of them take.
        found = eigh(matrix.numpy(), subset_by_index=[len(matrix) - count, len(matrix) - 1])
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])
    values, directions = _eigen(matrix)
    return values[-count:], directions[:, -count:]


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


FIRST_LOOK = 256
LAST_LOOK = 1 << 17


class RunningWhitener(Unmergeable):
    """Multiplies vectors, less their mean, by a power of their inverse covariance.

    Both are estimated from all vectors seen, anew each time their number has doubled, and are left alone
    after 131,072 of them. A few vectors say little of a covariance, so it is shrunk towards a round one.

    Args:
        width: Size of a vector.
        exponent: 0 leaves the covariance as it is (and only centers), 0.5 whitens fully.
        device: Where the vectors are.
    """

    def __init__(self, width: int, exponent: float, device: torch.device) -> None:
        self.exponent = exponent
        self.moments = Moments(width, device)
        self.mean = torch.zeros(width, device=device)
        self.map = torch.eye(width, device=device)
        # How many vectors had been seen at the last estimate, and are to be seen at the next; on the host,
        # so that asking for them never waits.
        self.looks = torch.tensor([0, FIRST_LOOK], dtype=torch.int64)

    def observe(self, vectors: Tensor, weights: Tensor) -> Tensor | None:
        """Take note of vectors [n, width]; after a new estimate, the matrix from the old axes to the new.

        A direction ``u`` of the old axes gives ``u @ matrix`` in the new ones the same scores.

        Args:
            vectors: What is to be whitened.
            weights: How often each of them counts [n].
        """
        seen, due = self.looks.tolist()
        if seen >= LAST_LOOK or not len(vectors):
            return None
        self.moments.add(vectors, weights)
        seen += len(vectors)
        self.looks[0] = seen
        if seen < due:
            return None
        self.looks[1] = 2 * seen
        before = self.map.double()
        self._estimate(seen)
        # Scores u · (c M) with symmetric M: u' = u M_old M_new^-1.
        change: Tensor = before @ torch.linalg.inv(self.map.double())
        return change.to(self.map.dtype)

    def transform(self, vectors: Tensor) -> Tensor:
        """[n, width] centered and whitened."""
        return (vectors - self.mean) @ self.map

    def state_dict(self) -> dict[str, Tensor]:
        """The moments, the mean, the map, and when they are estimated again."""
        own = {"mean": self.mean, "map": self.map, "looks": self.looks}
        return own | {f"moments.{key}": value for key, value in self.moments.state_dict().items()}

    def _estimate(self, seen: int) -> None:
        covariance = self.moments.covariance()
        width = len(covariance)
        scale = torch.trace(covariance) / width
        share = width / (width + seen)
        identity = torch.eye(width, dtype=covariance.dtype, device=covariance.device)
        shrunk = (1 - share) * covariance + share * scale * identity
        power = symmetric_power(shrunk, -self.exponent)
        # Vectors keep their usual length, so that a learning rate means the same for every teacher.
        spread = torch.einsum("ij,jk,ik->", power, covariance, power).clamp(min=1e-30)
        self.mean.copy_(self.moments.mean())
        self.map.copy_(power * (width / spread).sqrt())
