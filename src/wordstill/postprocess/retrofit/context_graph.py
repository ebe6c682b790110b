"""The graph method of Context-to-Vec, Zheng et al. 2022: neighbours pull by how near they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.postprocess.retrofit.distances import Distances
from wordstill.postprocess.retrofit.graph import Csr, Links
from wordstill.postprocess.retrofit.relaxation import Pull
from wordstill.postprocess.retrofit.settings import RetrofitConfig, choice, positive

Divisor = Literal["sum", "count"]

LARGEST_NU = 1e6
"""Beyond it the kernel is exp(-d^2 / sigma) to six digits."""


@dataclass(frozen=True)
class ContextGraphConfig(RetrofitConfig):
    r"""Every word between its own vector and its neighbours', the nearer ones counting for more.

    .. math::
        q_i = \alpha q'_i + \beta \frac{\sum_j \gamma_{ij} q_j}{Z_i}, \qquad
        \gamma_{ij} = C_\nu \left( 1 + \frac{d_{ij}^2}{\sigma \nu} \right)^{-(\nu + 1)}, \qquad
        C_\nu = 2 \pi \left( \frac{\Gamma((\nu + 1) / 2)}{\sqrt{\nu \pi}\, \Gamma(\nu / 2)} \right)^2

    Paper: Zheng, Wang, Wang, Xia, Huang, Zhao, Zhang, Li 2022, "Using Context-to-Vector with Graph
    Retrofitting to Improve Word Embeddings", Eq. 9 to 13. Three settings of it have names:

    ============ ==================== =========================== =============== ============
    name         d is between         Z is                        order           convex
    ============ ==================== =========================== =============== ============
    (default)    q'_i and q'_j        the sum of gamma            Jacobi          yes
    ``RELEASED`` q'_i and q_j         the sum of gamma            Gauss-Seidel    no
    ``PRINTED``  q_i and q_j          the number of neighbours    Gauss-Seidel    no
    ============ ==================== =========================== =============== ============

    With the sum, :math:`C_\nu` cancels, and the whole is divided by :math:`\alpha + \beta`, which makes it a
    weighted mean; at :math:`\nu = 100` on unit vectors the weights are a softmax of twice the cosine. With
    the number, vectors get shorter.

    Relations: `FaruquiConfig` is the same with equal weights.
    Deviations from the authors' script: words move in the order of the table and not in that of a set's
    hashes; words keep their case; the gamma function is taken in logarithms.
    """

    alpha: float = 0.5
    """How strongly a word is held by its own vector."""
    beta: float = 0.5
    """How strongly its neighbours pull."""
    nu: float = 100.0
    """Degrees of freedom of the kernel; fewer make its tail heavier."""
    sigma: float = 1.0
    """Scale of squared distances; less lets near neighbours count for more."""
    distances: Distances = "original"
    """Between vectors as they were (``original``), as they are (``current``), or a word as it was and its
    neighbours as they are (``mixed``)."""
    divisor: Divisor = "sum"
    """``sum`` of the weights, or ``count`` of the neighbours."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha", "beta", "nu", "sigma"):
            positive(name, getattr(self, name))
        if self.nu > LARGEST_NU:
            raise UsageError(f"nu must be at most {LARGEST_NU:,.0f}, where the kernel is a Gaussian already.")
        choice("kind of distances", self.distances, get_args(Distances))
        choice("divisor", self.divisor, get_args(Divisor))

    @property
    def convex(self) -> bool:
        """Whether the objective never rises."""
        return self.distances == "original" and self.divisor == "sum"

    def __call__(self, links: Links, squared: NDArray[np.float64] | None) -> Pull:
        """The pull on some nodes."""
        assert squared is not None
        logs = log_kernel(squared, self.nu, self.sigma)
        logs += np.log(links.weights.data)
        if self.divisor == "count":
            count = np.asarray(links.weights.sum(axis=1, dtype=np.float64)).ravel()
            shares = np.exp(logs) / _spread(count, links.weights)
            return Pull(self.alpha, self.beta, _like(links.weights, shares), np.ones(len(count)), count)
        # The largest weight of a row is taken out first, so that far neighbours do not all become zero.
        starts = links.weights.indptr[:-1]
        largest = np.maximum.reduceat(logs, starts)
        shares = np.exp(logs - _spread(largest, links.weights))
        total = np.add.reduceat(shares, starts)
        shares /= _spread(total, links.weights)
        scale = np.full(len(total), self.alpha + self.beta)
        return Pull(self.alpha, self.beta, _like(links.weights, shares), scale, total * np.exp(largest))


PRINTED = ContextGraphConfig(distances="current", divisor="count", order="gauss-seidel")
RELEASED = ContextGraphConfig(distances="mixed", divisor="sum", order="gauss-seidel")


def log_kernel(squared: NDArray[np.floating], nu: float, sigma: float = 1.0) -> NDArray[np.float64]:
    """The logarithm of C (1 + d^2 / (sigma nu))^-(nu + 1), for squared distances."""
    logs: NDArray[np.float64] = np.log1p(np.asarray(squared, dtype=np.float64) / (sigma * nu))
    return log_normaliser(nu) - (nu + 1) * logs


def log_normaliser(nu: float) -> float:
    """The logarithm of C = 2 pi (Gamma((nu + 1) / 2) / (sqrt(nu pi) Gamma(nu / 2)))^2.

    The gamma function itself leaves the range of float64 at nu = 342.
    """
    ratio = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - math.log(nu * math.pi) / 2
    return math.log(2 * math.pi) + 2 * ratio


def _spread(values: NDArray[np.float64], weights: Csr) -> NDArray[np.float64]:
    """A value of each row, for each link of it."""
    return np.repeat(values, np.diff(weights.indptr))


def _like(weights: Csr, values: NDArray[np.float64]) -> Csr:
    """A sparse matrix with the same links and other values."""
    return type(weights)((values.astype(np.float32), weights.indices, weights.indptr), weights.shape)
