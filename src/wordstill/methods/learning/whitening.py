"""Running whitening: centers and whitens by the vectors seen so far."""

from __future__ import annotations

import torch
from torch import Tensor

from wordstill.methods.linear_algebra import symmetric_power
from wordstill.methods.sums import Moments, Unmergeable

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
