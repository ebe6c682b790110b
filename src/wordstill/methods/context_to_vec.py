"""``context-to-vec``: a word's state and those of its neighbors together predict static vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from wordstill.core.settings import Range
from wordstill.errors import UsageError
from wordstill.methods.learning.objectives import Losses, PairwiseRule, WindowRule
from wordstill.methods.learning.window_learner import OBJECTIVES, PRINTED, Examples, Step, WindowConfig, WindowLearner
from wordstill.teacher.states import WordStates

PAPER: Mapping[str, Any] = {**PRINTED, "objective": "summed", "tied": False, "contextualised": 1.0, "divisor": "window"}
Weight: TypeAlias = Annotated[float, Range(0, 1_000_000)]
Divisor = Literal["present", "window"]
Nonlinearity = Literal["none", "tanh", "relu"]
NONLINEARITIES: dict[Nonlinearity, Callable[[Tensor], Tensor]] = {
    "none": lambda values: values,
    "tanh": torch.tanh,
    "relu": torch.relu,
}
Reading = Literal["query", "projection", "static"]


@dataclass(frozen=True, kw_only=True)
class ContextToVecConfig(WindowConfig):
    """Settings of `ContextToVec`."""

    centre: Weight = 0.5
    """Weight of the center's own state (lambda 1)."""
    neighbours: Weight = 0.5
    """Weight of the mean of its neighbors' states (lambda 2)."""
    tied: bool = True
    """One projection for both, or one for each (Eq. 4)."""
    around: Annotated[int | None, Range(1, 1_000)] = None
    """Words to the left and right whose states are used (w'); none uses the predicted neighbors."""
    divisor: Divisor = "present"
    """Divisor of the sum of the neighbors' states: the number of neighbors, or 2 w' (Eq. 4), which makes the mean
    smaller at the ends of a sentence."""
    nonlinearity: Nonlinearity = "none"
    """Nonlinearity applied to that sum (phi); needs ``divisor=window``."""
    semantic: Weight = 1.0
    """Weight of the loss of positives (eta 1)."""
    contextualised: Weight = 0.0
    """Weight of the contextualized loss (eta 2)."""
    contextualised_by: Reading = "query"
    """What Eq. 6 multiplies V_context with: itself, as in "u_i can be directly used as V_context", which involves no
    word and only makes projections longer; a third projection of the center's state (Eq. 1), which then predicts the
    neighbors; or the static vector of the center (Heuristic 2)."""
    contrastive: Weight = 1.0
    """Weight of the loss of negatives (eta 3)."""
    printed_sign: bool = False
    """Use Eq. 7 as printed: negatives are pushed away without bound."""
    normalized: bool = False
    """Scores are inner products of normalized vectors (section 3.3); the table then starts with random ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.centre + self.neighbours:
            raise UsageError("centre and neighbours cannot both be 0: nothing would be left to learn from.")
        if not self.semantic + self.contrastive:
            raise UsageError("semantic and contrastive cannot both be 0: no vector would ever move.")
        if self.nonlinearity != "none" and self.divisor != "window":
            raise UsageError(f"nonlinearity={self.nonlinearity} is that of Eq. 4: set divisor=window too.")
        if self.contextualised_by != "query" and not self.contextualised:
            raise UsageError(f"contextualised_by={self.contextualised_by} needs a weight: set contextualised=1.")

    @property
    def by_autograd(self) -> bool:
        """Whether gradients need autograd, because scores are not inner products of a single query with rows."""
        return self.normalized or self.contextualised_by != "query"


class ContextToVec(WindowLearner):
    r"""Skip-gram in which the center combines the teacher's states of the word and of the words around it.

    .. math:: u_i = W_1 \lambda_1 o_i + W_2 \lambda_2 \frac{1}{2w'} \sum_{1 \le |k| \le w'} o_{i+k}, \quad
              \eta_1 L_1 + \eta_2 L_2 + \eta_3 L_3

    .. math:: L_1 = -\log \sigma\Big(\sum_j v_{i+j} \cdot u_i\Big), \quad L_2 = -\log \sigma(u_i \cdot u_i),
              \quad L_3 = -\sum_m \log \sigma(-v_m \cdot u_i)

    Paper: Zheng et al. 2022, "Using Context-to-Vector with Graph Retrofitting to Improve Word Embeddings",
    Eq. 1-8. The graph retrofitting (Eq. 9-13) is ``wordstill retrofit``.

    Inputs: running text; phrases get no vector, since only single words are neighbors.
    Cost: as `BertSkipgram`, and one mean over a window for each word.
    Relations: with ``neighbours=0`` it is `BertSkipgram` without attention.

    Presets: ``paper`` sums the neighbors inside one sigmoid, and has two projections and all three losses. The
    printed sign of Eq. 7 has no lower bound, so it is a separate setting (``printed_sign=true``); weights and batch
    are not printed. ``docs/papers.md`` lists what the authors' code does differently. ``fixed``, the default, differs
    in the same ways as in `BertSkipgram`, and divides by the actual number of neighbors.

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
        """One part for Eq. 1 if it has its own projection, and one or two for Eq. 4."""
        return (self.config.contextualised_by == "projection") + (1 if self.config.tied else 2)

    @property
    def is_pairwise(self) -> bool:
        """Whether the loss is a sum over pairs, which other losses and scores rule out too."""
        config = self.config
        return super().is_pairwise and not (config.printed_sign or config.contextualised or config.by_autograd)

    def pairwise_rule(self) -> PairwiseRule:
        """The rule with the weights of both losses."""
        return replace(super().pairwise_rule(), attraction=self.config.semantic, repulsion=self.config.contrastive)

    def window_rule(self) -> WindowRule | None:
        """The rule with the weights of the three losses."""
        config, rule = self.config, super().window_rule()
        if rule is None or config.printed_sign or config.by_autograd:
            return None
        return replace(
            rule, semantic=config.semantic, contrastive=config.contrastive, contextualised=config.contextualised
        )

    def first_rows(self, rows: int, dim: int) -> Tensor:
        """Zeros, or random vectors if they are normalized."""
        zeros = super().first_rows(rows, dim)
        return zeros.uniform_(-1 / dim, 1 / dim, generator=self._generator()) if self.config.normalized else zeros

    def inputs(self, states: WordStates, centers: Tensor) -> Tensor:
        """The center's state and those of its neighbors, each with its weight."""
        config = self.config
        words = self.whitened(states.words(config.layer)[centers])
        center, around = config.centre * words, config.neighbours * self.whitened(self._around(states, centers))
        parts = [center + around] if config.tied else [center, around]
        return torch.cat([words, *parts] if config.contextualised_by == "projection" else parts, dim=1)

    def gradients(self, inputs: Tensor, examples: Examples, negatives: Tensor) -> Step:
        """Loss and gradients of one step, without applying it."""
        if not self.config.by_autograd:
            return super().gradients(inputs, examples, negatives)
        drawn = self.drawn_weights(examples, negatives)
        with torch.inference_mode(False), torch.enable_grad():
            named = [examples.rows, negatives, examples.words]
            used, places = torch.unique(torch.cat([each.flatten() for each in named]), return_inverse=True)
            places = [part.view(each.shape) for part, each in zip(places.split([e.numel() for e in named]), named)]
            table, projection = self.rows.weights[used].requires_grad_(), self.projection.weights.clone()
            loss = self._loss(inputs.clone(), examples, drawn, table, projection.requires_grad_(), used, places)
            loss.backward()  # type: ignore[no-untyped-call]
        assert table.grad is not None
        assert projection.grad is not None
        ones = torch.ones(len(used), 1, dtype=table.dtype, device=table.device)
        return Step(table.grad, used[:, None], ones, projection.grad, loss.detach())

    def adjust(self, losses: Losses, negative: Tensor, drawn: Tensor) -> Losses:
        """Weight both parts of the loss, and apply the printed sign if set."""
        semantic, contrastive = self.config.semantic, self.config.contrastive
        repulsion, slopes = losses.repulsion, losses.negative
        if self.config.printed_sign:
            repulsion, slopes = -(drawn * softplus(-negative)).sum(), drawn * torch.sigmoid(-negative)
        return Losses(
            semantic * losses.attraction, contrastive * repulsion, semantic * losses.positive, contrastive * slopes
        )

    def beside(self, queries: Tensor) -> tuple[Tensor, Tensor] | None:
        """The contextualized loss."""
        weight = self.config.contextualised
        if not weight:
            return None
        squares = queries.square().sum(dim=1, keepdim=True)
        return weight * softplus(-squares).sum(), -2 * weight * torch.sigmoid(-squares) * queries

    def _around(self, states: WordStates, centers: Tensor) -> Tensor:
        """[n, width] the neighbors' states: their mean, or their sum divided by the size of a full window."""
        config = self.config
        left, right = config.around or config.window, config.around or config.reach
        full = config.divisor == "window"
        states_around = states.windows(config.layer, left, right, include_self=False, chosen=centers, sums=full)
        if not full:
            return states_around
        return NONLINEARITIES[config.nonlinearity](states_around) / (left + right)

    def _loss(
        self,
        inputs: Tensor,
        examples: Examples,
        drawn: Tensor,
        table: Tensor,
        projection: Tensor,
        used: Tensor,
        places: list[Tensor],
    ) -> Tensor:
        """The loss of a step as a function of its rows [U, dim] and the projection."""
        config, width = self.config, self.run.width
        apart = config.contextualised_by == "projection"
        contexts = inputs[:, width:] @ projection[:, width:].T if apart else inputs @ projection.T
        queries = inputs[:, :width] @ projection[:, :width].T if apart else contexts
        if config.normalized:
            table, queries, contexts = (normalize(each, dim=1) for each in (table, queries, contexts))
        positive, negative = (self._scores_of(queries, table, used, place) for place in places[:2])
        losses = OBJECTIVES[config.objective](positive, negative, examples.weights, drawn)
        static = table[places[2]] if config.contextualised_by == "static" else queries
        contextual = softplus(-(contexts * static).sum(dim=1)).sum()
        return self.adjust(losses, negative, drawn).total + config.contextualised * contextual

    def _scores_of(self, queries: Tensor, table: Tensor, used: Tensor, places: Tensor) -> Tensor:
        """[B, R] scores of rows given by their indices among ``used``, [B, R] or [R] if shared by all."""
        scores = queries @ table[places].T if places.dim() == 1 else torch.einsum("bd,brd->br", queries, table[places])
        return scores if self.score_offsets is None else scores + self.score_offsets[used[places]]
