"""Skip-gram learners: a word's projected state predicts the words in a window around it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.settings import Range
from wordstill.errors import UsageError
from wordstill.methods.base import RunContext
from wordstill.methods.learning.learner import Learner, LearnerConfig
from wordstill.methods.learning.objectives import (
    Losses,
    NegativeSampler,
    PairwiseRule,
    WindowRule,
    attended,
    attended_held,
    pairwise,
    summed,
)
from wordstill.methods.learning.rows import EVERY, OptimizerKind, RowOptimizer, RowTable, joined, merged_gradients
from wordstill.teacher.states import WordStates

if TYPE_CHECKING:
    from wordstill.methods.learning.pair_kernels import PairStep
    from wordstill.methods.learning.window_kernels import WindowStep


Start = Literal["orthogonal", "xavier"]
Objective = Literal["pairwise", "summed", "attended", "attended-held"]
OBJECTIVES = {"pairwise": pairwise, "summed": summed, "attended": attended, "attended-held": attended_held}
DrawnFor = Literal["centre", "window"]


@dataclass(frozen=True, kw_only=True)
class WindowConfig(LearnerConfig):
    """Settings of learners with windows."""

    dim: Annotated[int | None, Range(1, 16_384)] = 300
    """Size of the vectors; none takes the teacher's width."""
    window: Annotated[int, Range(1, 1_000)] = 5
    """Words to predict on the left and on the right."""
    right: Annotated[int | None, Range(0, 1_000)] = None
    """Words on the right; none takes as many as on the left."""
    self_weight: Annotated[float, Range(0, 1_000_000)] = 6.0
    """Weight of the pair of a word with itself; pairs with neighbors have 1. 0 leaves it out."""
    objective: Objective = "pairwise"
    """The loss of each pair, or of one score for the window: the sum, or the mean by attention, whose weights can be
    held constant in a step."""
    negatives: int = 5
    drawn_for: DrawnFor = "window"
    """Negatives are drawn for each center; ``window`` weights them as if they were drawn for each pair."""
    subsample: float = 1e-5
    batch: int = 512
    """Centers in a step."""
    start: Start = "orthogonal"
    """Initial projection: orthonormal, or Xavier's random one."""
    projection_optimiser: OptimizerKind = "adam"
    projection_rate: Annotated[float | None, Range(0, 1_000_000)] = 1e-4
    """Learning rate of the projection; none takes that of the table."""
    clip: Annotated[float | None, Range(0, 1_000_000, above=True)] = None
    """Maximum norm of all gradients of a step together."""
    whiten: Annotated[float | None, Range(0, 1)] = 0.25
    """Center states and multiply them by this power of their inverse covariance before projecting them."""
    centre_table: bool = True
    """Subtract the mean vector of the most frequent words at the end."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective != "pairwise" and self.drawn_for == "window":
            raise UsageError(
                f"objective={self.objective} has one positive for each centre, whatever its window, so "
                "negatives cannot have the weight of all its pairs; set drawn_for=centre."
            )

    @property
    def reach(self) -> int:
        """Words to the right."""
        return self.window if self.right is None else self.right


PRINTED: Mapping[str, Any] = {
    "drawn_for": "centre",
    "subsample": 0.0,
    "noise_power": 0.75,
    "noise_source": "counts",
    "optimiser": "sgd",
    "rate": 0.025,
    "final_rate": 0.0,
    "clip": 5.0,
    "batch": 64,
    "whiten": None,
    "mask_hits": False,
    "shared": 0,
    "start": "xavier",
    "projection_optimiser": "sgd",
    "projection_rate": None,
    "balance": 0.0,
    "centre_table": False,
    "corrected": False,
    "self_weight": 0.0,
}
"""The preset ``paper`` of both methods with windows. BERT + skip-gram prints learning rate and clipping; the decay of
the rate is from its code, and the number of centers in a step is ours. Context-to-Vec prints none of these."""


FREQUENT = 20_000
STEPS_TOGETHER = 32
"""Small steps that are launched together: a GPU takes one in less time than the host needs to launch it."""


class Step(NamedTuple):
    """The gradients of one step."""

    queries: Tensor
    rows: Tensor
    coefficients: Tensor
    projection: Tensor
    loss: Tensor


class WindowLearner(Learner):
    """Skip-gram with projected teacher states as centers, which attract the rows of the words in their windows.

    Memory: the table (vocabulary x dim), the projection (dim x width) and the optimizer's state of both.
    """

    config: WindowConfig

    def __init__(self, config: WindowConfig, run: RunContext) -> None:
        super().__init__(config, run)
        dim = config.dim or run.width
        device = run.device
        self.rows = self.row_table(self.first_rows(len(run.vocabulary), dim))
        self.windows = Windows(config, self.sampler, device)
        factor = 1.0 if config.projection_rate is None else config.projection_rate / config.rate
        self.projection = RowTable(
            self._first_projection(dim),
            RowOptimizer(config.projection_optimiser),
            torch.full((dim,), factor, device=device),
        )
        self.parts |= {"rows": self.rows, "projection": self.projection}
        self.add_whitener(config.whiten)
        pairs, windows = self.pair_step(), self.window_step()
        self.kernel_step, self.steps_together = None, 1
        if pairs is not None:
            self.kernel_step = self.replayed(projected(pairs, self.projection), config.batch)
        elif windows is not None:
            self.steps_together = STEPS_TOGETHER
            self.kernel_step = self.replayed(each_step(windows, config.batch), config.batch * STEPS_TOGETHER)

    @property
    def is_pairwise(self) -> bool:
        """Only for the pairwise objective without clipping."""
        return self.config.objective == "pairwise" and self.config.clip is None

    def pairwise_rule(self) -> PairwiseRule:
        """With the weight of negatives for a whole window, if set."""
        return replace(super().pairwise_rule(), per_window=self.config.drawn_for == "window")

    def window_rule(self) -> WindowRule | None:
        """The settings of a loss with one score for a whole window; None if kernels cannot compute it."""
        config = self.config
        able = not config.shared and not config.mask_hits and config.drawn_for == "centre"
        if config.objective == "pairwise" or not able or (config.clip and config.optimiser != "sgd"):
            return None
        if config.clip and config.projection_optimiser != "sgd":
            return None
        return WindowRule(config.objective, config.clip)

    def window_step(self) -> WindowStep | None:
        """A step with `window_rule` by kernels; None without a GPU."""
        kernels = self.rows.kernels
        rule = None if kernels is None else self.window_rule()
        if kernels is None or rule is None:
            return None
        from wordstill.methods.learning.window_kernels import WindowStep

        counts, slots = self.positives.counts, max(len(self.windows.offsets), self.config.negatives)
        if not WindowStep.fits(slots, kernels.dim):
            return None
        return WindowStep(kernels, self.projection, counts, self.score_offsets, rule, self.learning_rate, self.loss)

    @property
    def parts_of_input(self) -> int:
        """Number of concatenated states in an input of the projection."""
        return 1

    def first_rows(self, rows: int, dim: int) -> Tensor:
        """The initial table."""
        return torch.zeros(rows, dim, device=self.run.device)

    @abstractmethod
    def inputs(self, states: WordStates, centers: Tensor) -> Tensor:
        """[n, parts x width] inputs of the projection, for centers [n] given by index."""

    def adjust(self, losses: Losses, negative: Tensor, drawn: Tensor) -> Losses:
        """Hook for methods that weigh the parts of the loss."""
        return losses

    def beside(self, queries: Tensor) -> tuple[Tensor, Tensor] | None:
        """A loss of the queries themselves, and its gradients [B, dim]; None by default."""
        return None

    def steps(self, states: WordStates, generator: torch.Generator) -> Iterator[int]:
        """Take the steps for the kept centers of a batch, in random order."""
        self._observe_spread(states)
        found = self.windows(states, self.host_rng())
        count = len(found.centers)
        if not count:
            return
        inputs = self.inputs(states, found.centers)
        examples = replace(found, centers=torch.arange(count, device=states.device))
        sizes = [len(part) for part in torch.split(examples.centers, self.config.batch)]
        drawn = self.draws(sizes, self.config.negatives, generator)
        for number, chosen in enumerate(examples.split(self.config.batch * self.steps_together)):
            own = sizes[number * self.steps_together : (number + 1) * self.steps_together]
            negatives = [each for _, each in zip(own, drawn)]
            self._learn(inputs[chosen.centers], chosen, torch.cat(negatives) if len(own) > 1 else negatives[0])
            yield from own

    def vectors(self) -> Tensor:
        """The table of predicted words."""
        if not self.config.centre_table:
            return self.rows.weights
        frequent = self.positives.counts.argsort(descending=True)[:FREQUENT]
        return self.rows.weights - self.rows.weights[frequent].mean(dim=0)

    def gradients(self, inputs: Tensor, examples: Examples, negatives: Tensor) -> Step:
        """Loss and gradients of one step, without updates."""
        queries = inputs @ self.projection.weights.T
        positive = self.scores(self.rows, queries, examples.rows)
        negative = self.scores(self.rows, queries, negatives)
        drawn = self.drawn_weights(examples, negatives)
        losses = OBJECTIVES[self.config.objective](positive, negative, examples.weights, drawn)
        losses = self.adjust(losses, negative, drawn)
        total = losses.total
        gradient = self.rows.query_gradients(examples.rows, losses.positive)
        gradient += self.rows.query_gradients(negatives, losses.negative)
        beside = self.beside(queries)
        if beside is not None:
            total, gradient = total + beside[0], gradient + beside[1]
        return Step(*joined(queries, examples.rows, negatives, losses), gradient.T @ inputs, total)

    def _learn(self, inputs: Tensor, examples: Examples, negatives: Tensor) -> None:
        if self.kernel_step is not None:
            self.kernel_step(inputs, examples.rows, examples.weights, negatives)
            return
        step = self.gradients(inputs, examples, negatives)
        self.positives.add(examples.rows, examples.weights != 0)
        self._apply(step)
        self.loss += step.loss

    def _apply(self, step: Step) -> None:
        if self.config.clip is None:
            self.rows.step(step.queries, step.rows, step.coefficients, self.learning_rate)
            self.projection.apply(EVERY, step.projection, self.learning_rate)
            return
        distinct, gradients = merged_gradients(step.queries, step.rows, step.coefficients)
        norm = (gradients.square().sum() + step.projection.square().sum()).sqrt()
        scale = (self.config.clip / norm.clamp(min=1e-12)).clamp(max=1.0)
        self.rows.apply(distinct, gradients * scale, self.learning_rate)
        self.projection.apply(EVERY, step.projection * scale, self.learning_rate)

    def _first_projection(self, dim: int) -> Tensor:
        config, device, width = self.config, self.run.device, self.parts_of_input * self.run.width
        if config.start == "orthogonal":
            # On the host, so that the decomposition is the same with and without a GPU.
            generator = torch.Generator().manual_seed(self.run.seed)
            square = torch.randn(max(dim, width), max(dim, width), generator=generator)
            basis: Tensor = torch.linalg.qr(square)[0]
            return basis[:dim, :width].contiguous().to(device)
        bound = (6 / (dim + width)) ** 0.5
        return torch.empty(dim, width, device=device).uniform_(-bound, bound, generator=self._generator())

    def drawn_weights(self, examples: Examples, negatives: Tensor) -> Tensor:
        """Weight of each negative for each center [examples, negatives]."""
        drawn = self.negative_weights(negatives, examples.rows)
        if self.config.drawn_for == "window":
            return drawn * examples.weights.sum(dim=1, keepdim=True)
        return drawn

    def _observe_spread(self, states: WordStates) -> None:
        if self.whitener is None:
            return
        known = states.words(self.config.layer)[states.known]
        change = self.whitener.observe(known, torch.ones(len(known), device=known.device))
        if change is not None:
            for part in torch.split(self.projection.weights, self.run.width, dim=1):
                part.copy_(part @ change)


def each_step(step: Callable[..., None], batch: int) -> Callable[..., None]:
    """Several steps of ``batch`` centers as one function, which can be captured as one graph."""

    def learn(*arguments: Tensor) -> None:
        for part in zip(*(torch.split(each, batch) for each in arguments)):
            step(*part)

    return learn


def projected(step: PairStep, projection: RowTable) -> Callable[..., None]:
    """A step whose queries are projections of inputs, and which updates the projection too."""

    def learn(inputs: Tensor, rows: Tensor, present: Tensor, negatives: Tensor) -> None:
        queries = inputs @ projection.weights.T
        gradient = torch.empty_like(queries)
        step(queries, rows, negatives, present, gradient)
        projection.apply(EVERY, gradient.T @ inputs, step.learning_rate)

    return learn


@dataclass(frozen=True)
class Examples:
    """B centers with P slots each. An empty slot repeats the row of another slot of its center."""

    centers: Tensor
    """[B] index of each center among the words of the batch."""
    rows: Tensor
    """[B, P] word ids."""
    weights: Tensor
    """[B, P] weight of each slot; 0 if it is empty."""
    words: Tensor
    """[B] word id of each center."""

    def split(self, size: int) -> list[Examples]:
        """Split into pieces of ``size`` centers."""
        parts = (self.centers, self.rows, self.weights, self.words)
        return [Examples(*each) for each in zip(*(torch.split(part, size) for part in parts))]


class Windows:
    """Finds all known words of a batch with the known words around them in their sentences.

    Frequent words are subsampled both as centers and as neighbors, as in word2vec, but the teacher reads the whole
    text. Centers without any filled slot are skipped.

    Args:
        rule: Settings of the windows.
        sampler: Subsamples frequent words.
        device: Device of the states.
    """

    def __init__(self, rule: WindowConfig, sampler: NegativeSampler, device: torch.device) -> None:
        self.rule, self.sampler = rule, sampler
        self.offsets, self.weights = (each.to(device) for each in _offsets(rule))

    def __call__(self, states: WordStates, rng: np.random.Generator) -> Examples:
        """The examples of a batch."""
        running = states.batch.n_words
        ids, sentence = states.word_ids[:running], states.word_sentence[:running]
        centers = states.to_device(self._centers(states.batch.host_word_ids[:running], rng))
        usable = torch.zeros(running, dtype=torch.bool, device=states.device)
        usable.index_fill_(0, centers, True)
        places = centers[:, None] + self.offsets
        inside = (places >= 0) & (places < running)
        places = places.clamp_(0, max(running - 1, 0))
        present = inside & usable[places] & (sentence[places] == sentence[centers][:, None])
        slots = present * self.weights
        filled = slots != 0
        if not self.rule.self_weight:
            keep = filled.any(dim=1)
            centers, places, slots, filled = centers[keep], places[keep], slots[keep], filled[keep]
        # argmax finds the first filled slot.
        spare = places.gather(1, filled.int().argmax(dim=1, keepdim=True))
        return Examples(centers, ids[torch.where(filled, places, spare)], slots, ids[centers])

    def _centers(self, ids: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
        """Indices of the centers [n], in random order; sampled on the host, which then knows their number."""
        centers = np.flatnonzero((ids >= 0) & self.sampler.kept(np.maximum(ids, 0), rng))
        return rng.permutation(centers)


def _offsets(rule: WindowConfig) -> tuple[Tensor, Tensor]:
    """Offsets of the slots from the center [P], and their weights [P]."""
    offsets = [place for place in range(-rule.window, rule.reach + 1) if place or rule.self_weight]
    return torch.tensor(offsets), torch.tensor([1.0 if place else rule.self_weight for place in offsets])
