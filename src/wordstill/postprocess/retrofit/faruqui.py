"""Retrofitting as in Faruqui et al. 2015."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordstill.postprocess.retrofit.graph import Links
from wordstill.postprocess.retrofit.relaxation import Pull
from wordstill.postprocess.retrofit.settings import RetrofitConfig, positive


@dataclass(frozen=True)
class FaruquiConfig(RetrofitConfig):
    r"""Every word between its own vector and those of its neighbours.

    .. math::
        q_i = \frac{\alpha q'_i + \sum_j \beta_{ij} q_j}{\alpha + \sum_j \beta_{ij}}

    Paper: Faruqui, Dodge, Jauhar, Dyer, Hovy, Smith 2015, "Retrofitting Word Vectors to Semantic Lexicons":
    :math:`\alpha = 1`, :math:`\beta_{ij} = 1 / \mathrm{degree}(i)`, 10 passes.

    With those :math:`\beta`, which differ from either end of a link, the update is not the minimum of the
    paper's Eq. 1 but of the same sum with word i counted degree(i) times; that one is reported, and it never
    rises.

    Relations: a `ContextGraphConfig` whose kernel is flat.
    Deviations from the authors' script: words keep their case in the table; links count in both directions
    (all but 2 of PPDB's 374,550 are listed so); words with digits are not left out.
    """

    alpha: float = 1.0
    """How strongly a word is held by its own vector."""
    beta: float | None = None
    """How strongly one neighbour pulls; None is the paper's 1 / degree, which shares 1 out among the
    neighbours of a word by their weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)
        if self.beta is not None:
            positive("beta", self.beta)

    @property
    def convex(self) -> bool:
        """The objective never rises."""
        return True

    @property
    def distances(self) -> None:
        """The weights do not depend on the vectors."""
        return None

    def __call__(self, links: Links, squared: NDArray[np.float64] | None) -> Pull:
        """The pull on some nodes."""
        degree = np.asarray(links.weights.sum(axis=1, dtype=np.float64)).ravel()
        if self.beta is None:
            shares = links.weights.multiply(1 / degree[:, None]).tocsr().astype(np.float32)
            return Pull(self.alpha, 1.0, shares, np.full(len(degree), self.alpha + 1.0), degree)
        scale = self.alpha + self.beta * degree
        return Pull(self.alpha, self.beta, links.weights, scale, np.ones(len(degree)))
