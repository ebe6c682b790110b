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
    r"""Skip-gram in which the teacher's state is the center; the table of contexts is the result.

    .. math:: u_i = U o_i, \quad a = \mathrm{softmax}_j(v_{i+j} \cdot u_i), \quad
              -\log \sigma\Big(\sum_j a_j v_{i+j} \cdot u_i\Big) - \sum_m \log \sigma(-v_m \cdot u_i)

    Paper: Wang, Cui and Zhang 2019, "Using Dynamic Embeddings to Improve Static Embeddings", Eq. 10-15.

    Inputs: running text; phrases get no vector, since only single words are neighbors.
    Cost: for each center, the rows of its window and negatives are read and written; memory vocabulary x dim.
    Relations: `ContextToVec` also projects the neighbors' states. With ``self_weight`` the word itself is predicted
    too; the larger it is, the closer the result is to `Ase`.

    Presets: ``paper`` has the equations and the printed settings; the number of centers in a step is not printed.
    ``docs/papers.md`` lists what the authors' code does differently. In ``paper``, gradients flow through the
    attention, which pushes away neighbors that score more than 1 below the mean of their window. ``paper-held``
    holds the attention weights constant in each step, and learns.
    ``fixed``, the default, treats every pair separately, subsamples frequent words as skip-gram does (the teacher
    still reads whole sentences), centers and whitens states, and also predicts the word itself.

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
        """Projection and offset, :math:`u = A h + b`, and the lengths and center needed to restore the trained rows.

        The vector v of the equations is a unit row of the table times its length, plus the center. Empty if attention
        was not trained, or if early stopping kept the table of an earlier epoch.
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
