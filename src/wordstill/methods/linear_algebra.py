"""Linear algebra in float64 for closed-form methods, and running whitening."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from torch import Tensor

from wordstill.methods.sums import Moments, Unmergeable

SMALLEST = 1e-8
FOR_ONE_CORE = 1024
"""Matrices with up to so many rows are factorized by one core."""
FEW, VERY_FEW = 3, 8
"""Only some eigenvectors are computed if there are at least so many times as many in all; very few by Krylov."""
KRYLOV_BLOCK, BLOCKS_PER_TEST = 64, 4
CONVERGED = 1e-6
"""Tolerance for residuals, relative to the largest eigenvalue; the error of an eigenvalue is quadratic in it."""
ROUNDING = 1e-6
"""A deviation this small relative to the mean is rounding of float32 sums."""


def centered(rows: Tensor, mean: Tensor) -> Tensor:
    """Rows [n, d] minus their mean [d]; rows that differ from it only by rounding become zeros."""
    deviations = rows - mean
    smallest = ROUNDING * torch.linalg.vector_norm(mean)
    equal = torch.linalg.vector_norm(deviations, dim=1, keepdim=True) <= smallest
    return torch.where(equal, 0.0, deviations)


def symmetric_power(matrix: Tensor, exponent: float) -> Tensor:
    """A power of a covariance matrix [d, d], with eigenvalues of at least 1e-8 of the largest.

    All powers of a zero matrix are zero, as for a pseudo-inverse.
    """
    values, directions = _eigen(matrix.double())
    largest = float(values.max())
    if largest <= 0:
        return torch.zeros_like(directions)
    powers: Tensor = values.clamp(min=SMALLEST * largest) ** exponent
    return (directions * powers) @ directions.T


def ridge(inputs: Tensor, cross: Tensor, strength: float) -> Tensor:
    """Weights [d, k] of a ridge regression, from covariances.

    Args:
        inputs: Covariance of the inputs [d, d].
        cross: Covariance of inputs with outputs [d, k].
        strength: Regularization, in units of the inputs' mean variance.
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

    Directions with less than 1e-8 of the largest variance are zeros, because they are only rounding.
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
    # The squares of shorter rows underflow.
    return rows / norms.clamp(min=torch.finfo(rows.dtype).tiny ** 0.5)


def _largest(matrix: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues [count] of a symmetric matrix, ascending, and their vectors [d, count]."""
    if VERY_FEW * count <= len(matrix) and len(matrix) > FOR_ONE_CORE:
        converged = _block_krylov(matrix, count)
        if converged is not None:
            return converged
    if FEW * count <= len(matrix) and matrix.device.type == "cpu" and find_spec("scipy"):
        from scipy.linalg import eigh

        # A third of the time for all of them.
        found = eigh(matrix.numpy(), subset_by_index=[len(matrix) - count, len(matrix) - 1])
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])
    values, directions = _eigen(matrix)
    return values[-count:], directions[:, -count:]


def _block_krylov(matrix: Tensor, count: int) -> tuple[Tensor, Tensor] | None:
    """`_largest` by Rayleigh-Ritz on a block Krylov space; None if it has not converged at half of all dimensions."""
    generator = torch.Generator().manual_seed(0)

    def random() -> Tensor:
        return torch.randn(KRYLOV_BLOCK, len(matrix), generator=generator, dtype=torch.float64).to(matrix.device)

    # Vectors are rows, because products are faster that way.
    block = torch.linalg.qr(random().T).Q.T.contiguous()
    basis, projected = block, matrix.new_empty(0, 0)
    while len(basis) <= len(matrix) // 2:
        image = block @ matrix
        along = torch.zeros_like(image[:, : len(basis)])
        # Gram-Schmidt twice, for orthogonality to machine precision.
        for _ in range(2):
            share = image @ basis.T
            image -= share @ basis
            along += share
        projected = torch.nn.functional.pad(projected, (0, KRYLOV_BLOCK, 0, KRYLOV_BLOCK))
        projected[-KRYLOV_BLOCK:] = along
        scale = float(projected.diagonal().max())
        outside, rest = torch.linalg.qr(image.T)
        if len(basis) >= FEW * count and len(basis) // KRYLOV_BLOCK % BLOCKS_PER_TEST == 0:
            values, inside = _eigen(projected.tril() + projected.tril(-1).T)
            values, inside = values[-count:], inside[:, -count:]
            residuals = torch.linalg.vector_norm(rest @ inside[-KRYLOV_BLOCK:], dim=0)
            if float(residuals.max()) <= CONVERGED * float(values[-1]):
                return values, basis.T @ inside
        if float(rest.diagonal().abs().min()) <= SMALLEST * scale:
            # The space is exhausted, as with few words: continue in a random direction.
            image += SMALLEST * scale * random()
            outside = torch.linalg.qr((image - (image @ basis.T) @ basis).T).Q
        block = outside.T.contiguous()
        basis = torch.cat([basis, block])
    return None


def _eigen(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues [d] of a symmetric matrix, ascending, and eigenvectors [d, d] as columns."""
    with _one_core_if_small(matrix):
        values, directions = torch.linalg.eigh(matrix)
    return values, directions


@contextmanager
def _one_core_if_small(matrix: Tensor) -> Iterator[None]:
    """Use one core for small matrices: factorization has many small steps, each of which synchronizes the cores."""
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
    """Centers vectors and multiplies them by a power of their inverse covariance.

    Mean and covariance are estimated from all vectors seen, again each time their number has doubled, up to 131,072.
    The covariance is shrunk towards the identity, because a few vectors determine it poorly.

    Args:
        width: Size of a vector.
        exponent: 0 only centers, 0.5 whitens fully.
        device: Device of the vectors.
    """

    def __init__(self, width: int, exponent: float, device: torch.device) -> None:
        self.exponent = exponent
        self.moments = Moments(width, device)
        self.mean = torch.zeros(width, device=device)
        self.map = torch.eye(width, device=device)
        # Vectors seen so far, and at the next estimate; on the host, so that reading them never waits.
        self.looks = torch.tensor([0, FIRST_LOOK], dtype=torch.int64)

    def observe(self, vectors: Tensor, weights: Tensor) -> Tensor | None:
        """Observe vectors [n, width]; after a new estimate, returns the matrix from the old axes to the new.

        A direction ``u`` in the old axes has the same scores as ``u @ matrix`` in the new ones.

        Args:
            vectors: The vectors.
            weights: Weight of each [n].
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
        """The moments, mean and map, and the number of vectors at the next estimate."""
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
        # Vectors keep their typical length, so that a learning rate means the same for every teacher.
        spread = torch.einsum("ij,jk,ik->", power, covariance, power).clamp(min=1e-30)
        self.mean.copy_(self.moments.mean())
        self.map.copy_(power * (width / spread).sqrt())
