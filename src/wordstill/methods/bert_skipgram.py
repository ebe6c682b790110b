"""``bert-skipgram``: a word's contextual state predicts static vectors of its neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from wordstill.methods.learning.window_learner import PRINTED, WindowConfig, WindowLearner
from wordstill.teacher.states import WordStates

PAPER: Mapping[str, Any] = {**PRINTED, "objective": "attended"}
HELD: Mapping[str, Any] = {**PRINTED, "objective": "attended-held"}


@dataclass(frozen=True, kw_only=True)
class BertSkipgramConfig(WindowConfig):
    """Settings of `BertSkipgram`."""


class BertSkipgram(WindowLearner):
    r"""Skip-gram whose center is the teacher's state, and whose table of contexts is the result.

    .. math:: u_i = U o_i, \quad a = \mathrm{softmax}_j(v_{i+j} \cdot u_i), \quad
              -\log \sigma\Big(\sum_j a_j v_{i+j} \cdot u_i\Big) - \sum_m \log \sigma(-v_m \cdot u_i)

    Paper: Wang, Cui and Zhang 2019, "Using Dynamic Embeddings to Improve Static Embeddings", Eq. 10-15.

    Inputs: running text; phrases of several words get no vector, since they are neighbors of nothing.
    Cost: for each center its window and the negatives are read and written; memory vocabulary x dim.
    Relations: `ContextToVec` projects the neighbors' states too. With ``self_weight`` the word itself is
    predicted beside its neighbors, which leads from here to what `Ase` averages.

    Presets: ``paper`` has the equations and the printed settings; the number of centers in a step is not
    printed. What the authors' code does otherwise is in ``docs/papers.md``. There gradients flow through the
    attention, which pushes away neighbors that score more than 1 below the mean of their window; ``paper-held``
    is the same with the weights of attention held constant in each step, and learns.
    ``fixed``, the default, takes every pair for itself, thins out frequent words as skip-gram does (the
    teacher still reads whole sentences), centers and whitens states, and predicts the word itself too.

    Example:
        >>> from wordstill import distill
        >>> tables = distill("corpus.txt", methods=["bert-skipgram:window=3"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "bert-skipgram.v1"
    config_type: ClassVar[type[BertSkipgramConfig]] = BertSkipgramConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"fixed": {}, "paper": PAPER, "paper-held": HELD}
    config: BertSkipgramConfig

    def inputs(self, states: WordStates, centers: Tensor) -> Tensor:
        """The center's own state."""
        return self.whitened(states.words(self.config.layer)[centers])

    def attention(self) -> dict[str, Tensor]:
        """Projection and offset, :math:`u = A h + b`, and what the rows were before their lengths were set.

        A row of the table, made one long, times its length, plus the center, is the vector v of the equations.
        Nothing where attention was not learned, or where early stopping has kept the table of an earlier epoch.
        """
        projection, vectors = self.projection.weights, self.vectors()
        kept = self.best is None or torch.equal(self.best.weights, vectors)
        if not kept or not self.config.objective.startswith("attended"):
            return {}
        offset = torch.zeros(len(projection), device=projection.device)
        if self.whitener is not None:
            projection = projection @ self.whitener.map
            offset = -projection @ self.whitener.mean
        lengths = torch.linalg.vector_norm(vectors[self.positives.counts > 0], dim=1)
        center = self.rows.weights[0] - vectors[0]
        return {"projection": projection, "offset": offset, "lengths": lengths, "center": center}
