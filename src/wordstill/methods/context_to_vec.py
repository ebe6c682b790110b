"""``context-to-vec``: a word's state and those of its neighbours together predict static vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import softplus

from wordstill.core.settings import Range
from wordstill.errors import UsageError
from wordstill.methods.learning.objectives import Losses, PairwiseRule
from wordstill.methods.learning.window_learner import PRINTED, WindowConfig, WindowLearner
from wordstill.teacher.states import WordStates

PAPER: Mapping[str, Any] = {**PRINTED, "objective": "summed", "tied": False, "contextualised": 1.0}
Weight: TypeAlias = Annotated[float, Range(0, 1_000_000)]


@dataclass(frozen=True, kw_only=True)
class ContextToVecConfig(WindowConfig):
    """Settings of `ContextToVec`."""

    centre: Weight = 0.5
    """Weight of the centre's own state (lambda 1)."""
    neighbours: Weight = 0.5
    """Weight of the mean of its neighbours' states (lambda 2)."""
    tied: bool = True
    """One projection for both, or one for each (Eq. 4)."""
    semantic: Weight = 1.0
    """Weight of the loss of positives (eta 1)."""
    contextualised: Weight = 0.0
    """Weight of the contextualised loss (eta 2), which holds no word and only makes projections long."""
    contrastive: Weight = 1.0
    """Weight of the loss of negatives (eta 3)."""
    printed_sign: bool = False
    """Take Eq. 7 as it is printed: negatives are pushed away without bound."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.centre + self.neighbours:
            raise UsageError("centre and neighbours cannot both be 0: nothing would be left to learn from.")
        if not self.semantic + self.contrastive:
            raise UsageError("semantic and contrastive cannot both be 0: no vector would ever move.")


class ContextToVec(WindowLearner):
    r"""Skip-gram whose centre is the teacher's state of the word and of the words around it.

    .. math:: u_i = W_1 \lambda_1 o_i + W_2 \lambda_2 \frac{1}{2w} \sum_{1 \le |k| \le w} o_{i+k}, \quad
              \eta_1 L_1 + \eta_2 L_2 + \eta_3 L_3

    .. math:: L_1 = -\log \sigma\Big(\sum_j v_{i+j} \cdot u_i\Big), \quad L_2 = -\log \sigma(u_i \cdot u_i),
              \quad L_3 = -\sum_m \log \sigma(-v_m \cdot u_i)

    Paper: Zheng et al. 2022, "Using Context-to-Vector with Graph Retrofitting to Improve Word Embeddings",
    Eq. 1-8. The graph retrofitting (Eq. 9-13) is ``wordstill retrofit``.

    Inputs: running text; phrases of several words get no vector, since they are neighbours of nothing.
    Cost: as `BertSkipgram`, and one mean over a window for each word.
    Relations: with ``neighbours=0`` it is `BertSkipgram` without attention.

    Presets: ``paper`` sums the neighbours inside one sigmoid, has two projections and all three losses. The
    printed sign of Eq. 7 has no lower bound, so it is a setting of its own (``printed_sign=true``); weights
    and batch are not printed. What the authors' code does otherwise is in ``docs/methods.md``. ``fixed``, the
    default, differs as that of `BertSkipgram` does.

    Example:
        >>> from wordstill import distill
        >>> tables = distill("corpus.txt", methods=["context-to-vec:window=3"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "context-to-vec.v1"
    config_type: ClassVar[type[ContextToVecConfig]] = ContextToVecConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"fixed": {}, "paper": PAPER}
    config: ContextToVecConfig

    @property
    def parts_of_input(self) -> int:
        """One, or two side by side for two projections."""
        return 1 if self.config.tied else 2

    @property
    def is_pairwise(self) -> bool:
        """Not with other losses either."""
        return super().is_pairwise and not (self.config.printed_sign or self.config.contextualised)

    def pairwise_rule(self) -> PairwiseRule:
        """With the weights of both losses."""
        return replace(super().pairwise_rule(), attraction=self.config.semantic, repulsion=self.config.contrastive)

    def inputs(self, states: WordStates, centers: Tensor) -> Tensor:
        """The centre's state and the mean of its neighbours', each with its weight."""
        config = self.config
        around = states.windows(config.layer, config.window, config.reach, include_self=False, chosen=centers)
        words = states.words(config.layer)[centers]
        centre, around = config.centre * self.whitened(words), config.neighbours * self.whitened(around)
        return centre + around if config.tied else torch.cat([centre, around], dim=1)

    def adjust(self, losses: Losses, negative: Tensor, drawn: Tensor) -> Losses:
        """Weigh both parts; with the printed sign, let negatives fall without bound."""
        semantic, contrastive = self.config.semantic, self.config.contrastive
        repulsion, slopes = losses.repulsion, losses.negative
        if self.config.printed_sign:
            repulsion, slopes = -(drawn * softplus(-negative)).sum(), drawn * torch.sigmoid(-negative)
        return Losses(
            semantic * losses.attraction, contrastive * repulsion, semantic * losses.positive, contrastive * slopes
        )

    def beside(self, queries: Tensor) -> tuple[Tensor, Tensor] | None:
        """The contextualised loss."""
        weight = self.config.contextualised
        if not weight:
            return None
        squares = queries.square().sum(dim=1, keepdim=True)
        return weight * softplus(-squares).sum(), -2 * weight * torch.sigmoid(-squares) * queries
