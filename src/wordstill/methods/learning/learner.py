"""What all learners share: examples in small steps, a falling rate, negatives, and a watch on the loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from wordstill.core.settings import Config, Range
from wordstill.errors import TrainingError
from wordstill.methods.base import Method, Setup
from wordstill.methods.kernels.replay import Replayed
from wordstill.methods.learning.negatives import Noise, NoiseSource
from wordstill.methods.learning.objectives import PairwiseRule
from wordstill.methods.learning.rows import OptimiserKind, RowOptimiser, RowTable
from wordstill.methods.sums import Accumulator
from wordstill.teacher.states import NonFiniteMonitor, WordStates
from wordstill.vectors import WordVectors

if TYPE_CHECKING:
    from wordstill.methods.kernels.pair_kernels import PairStep


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(Config):
    """Settings that every learner has; the defaults are those of ``fixed``, which methods share."""

    layer: int
    """Which layer's states."""
    negatives: Annotated[int, Range(1, 10_000)]
    """Negatives for each target; for each centre in methods with windows."""
    shared: Annotated[int, Range(0, 1_000_000)] = 1024
    """Draw so many negatives for all examples of a step together, with the weight of ``negatives`` for each
    example: a negative then meets many queries at once, which is faster and far less noisy. 0 draws for each
    example."""
    corrected: bool = True
    """Give scores the offset that makes zero vectors the best guess before any evidence, so that no step is
    spent on learning how rare positives are."""
    subsample: Annotated[float, Range(0, 1)]
    """Threshold above which frequent targets are thinned out; 0 keeps all."""
    noise_power: Annotated[float, Range(0, 100)] = 1.0
    """Power of the counts by which negatives are drawn."""
    noise_source: NoiseSource = "subsampled"
    """``subsampled`` draws by the counts that are left once targets are thinned out."""
    mask_hits: bool = True
    """Leave out negatives that are the target itself."""
    optimiser: OptimiserKind = "sgd"
    rate: Annotated[float, Range(0, 1e6, above=True)] = 0.05
    """Learning rate at the start."""
    final_rate: Annotated[float, Range(0, 1)] = 1.0
    """Share of the rate that is left at the end; it falls evenly with the words read."""
    balance: Annotated[float, Range(0, 100)] = 1.0
    """Divide each word's rate by this power of how often it will be a positive. With 1 and ``sgd`` every word
    moves as far as any other, and all its occurrences count alike."""
    batch: Annotated[int, Range(1, 10_000_000)]
    """Examples in a step."""


BATCHES, WORDS, STEPS = range(3)


class Moment(NamedTuple):
    """How far a learner had come."""

    steps: int
    words: int
    rate: float


class Clock:
    """How far a learner has come: batches, words and steps. On the host, so that a look never waits."""

    def __init__(self) -> None:
        self.counts = torch.zeros(3, dtype=torch.int64)

    def state_dict(self) -> dict[str, Tensor]:
        """The counts [3]."""
        return {"counts": self.counts}

    def merge(self, other: Accumulator) -> None:
        """Left alone: a learner cannot be merged, and its table says so."""


class Positives:
    """How often each word was a positive; words that never were have no vector."""

    def __init__(self, rows: int, device: torch.device) -> None:
        self.counts = torch.zeros(rows, dtype=torch.int64, device=device)

    def add(self, rows: Tensor, present: Tensor | None = None) -> None:
        """Count rows of any shape; where there is a mask of the same shape, only those that it names."""
        times = torch.ones_like(rows) if present is None else present.long()
        self.counts.index_add_(0, rows.flatten(), times.flatten())

    def state_dict(self) -> dict[str, Tensor]:
        """The counts [rows]."""
        return {"counts": self.counts}

    def merge(self, other: Accumulator) -> None:
        """Left alone: a learner cannot be merged, and its table says so."""


class Best:
    """The best table so far by a judge's score, and after which epoch it was; 0 before any."""

    def __init__(self, like: Tensor) -> None:
        self.weights = torch.zeros_like(like)
        self.score = torch.full((1,), -torch.inf, dtype=torch.float64)
        self.epoch = torch.zeros(1, dtype=torch.int64)

    def state_dict(self) -> dict[str, Tensor]:
        """The table, its score and its epoch."""
        return {"weights": self.weights, "score": self.score, "epoch": self.epoch}

    def merge(self, other: Accumulator) -> None:
        """Left alone: a learner cannot be merged, and its table says so."""


SEED_STRIDE = 0x9E3779B97F4A7C15


class Learner(Method):
    """A method that takes steps. Subclasses say what an example is and how to learn from some of them.

    Every random choice follows from the seed and the number of the batch, so a run that is resumed goes on
    as if it had never stopped.

    Attributes:
        presets: Named groups of settings; ``fixed`` is the default.
        loss: Summed since `status` was last asked.
        pace: The learning rate of the batch that is being observed [], where the steps are taken.
    """

    learns: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    config: LearnerConfig
    rows: RowTable

    def __init__(self, config: LearnerConfig, setup: Setup) -> None:
        super().__init__(config, setup)
        self.noise = Noise(
            setup.vocabulary, config.noise_power, config.noise_source, config.subsample, setup.device
        )
        self._offsets = self.noise.offsets(config.negatives) if config.corrected else None
        self.clock = Clock()
        self.positives = Positives(len(setup.vocabulary), setup.device)
        self.parts = {"clock": self.clock, "positives": self.positives}
        self.best: Best | None = None
        self._monitor = NonFiniteMonitor[Moment]()
        self.loss, self._examples = torch.zeros((), dtype=torch.float64, device=setup.device), 0
        self.pace = torch.full((), config.rate, device=setup.device)

    @property
    def layers(self) -> tuple[int, ...]:
        """The one layer of the settings."""
        return (self.config.layer,)

    @property
    def rate(self) -> float:
        """The learning rate now."""
        done = min(1.0, int(self.clock.counts[WORDS]) / (self.setup.epochs * self.setup.words))
        return self.config.rate * (1 - (1 - self.config.final_rate) * done)

    @abstractmethod
    def steps(self, states: WordStates, generator: torch.Generator) -> Iterator[int]:
        """Learn from a batch, step by step, adding to ``loss``; after each, the number of its examples."""

    @abstractmethod
    def vectors(self) -> Tensor:
        """[V, dim] the table as it is now."""

    def row_table(self, initial: Tensor) -> RowTable:
        """A table of the vocabulary's words with the settings' optimiser."""
        if self.setup.judged:
            self.best = Best(initial)
            self.parts["best"] = self.best
        positives = (self.noise.expected_positives * self.setup.epochs).clamp(min=1)
        return RowTable(initial, RowOptimiser(self.config.optimiser), positives**-self.config.balance)

    def observe(self, states: WordStates) -> None:
        """Learn from a batch of running text.

        Raises:
            TrainingError: The loss of this batch or, on a GPU, of one before it is not finite.
        """
        self.pace.fill_(self.rate)
        with fast_products():
            taken = [*self.steps(states, self._generator())]
        self._examples += sum(taken)
        self.clock.counts[STEPS] += len(taken)
        self.clock.counts[BATCHES] += 1
        self.clock.counts[WORDS] += states.batch.n_words
        astray = self._monitor.check([self.loss], self._moment)
        if astray is not None:
            raise self._diverged(astray)

    def finish(self) -> WordVectors:
        """The table of words that were positives: the best one where there is a judge, else the last."""
        if self.best is not None and int(self.best.epoch):
            return self.table(self.best.weights, self.positives.counts > 0)
        return self.current()

    def current(self) -> WordVectors:
        """The table as it is now."""
        self.verify()
        return self.table(self.vectors(), self.positives.counts > 0)

    def judge(self, score: float, epoch: int) -> int:
        """Take note of the score of the present table; returns the epoch of the best one so far."""
        assert self.best is not None, "the setup said that there is no judge"
        if score > float(self.best.score):
            self.best.weights.copy_(self.vectors())
            self.best.score.fill_(score)
            self.best.epoch.fill_(epoch)
        return int(self.best.epoch)

    def status(self) -> str:
        """The mean loss of an example since the last time."""
        if not self._examples:
            return ""
        mean = float(self.loss) / self._examples
        self.loss.zero_()
        self._examples = 0
        return f"loss {mean:.3f}"

    def verify(self) -> None:
        """Refuse to go on with a table that has run away.

        Raises:
            TrainingError: Some number is not finite any more.
        """
        astray = self._monitor.flush()
        if astray is None and not bool(torch.isfinite(self.vectors().sum())):
            astray = self._moment
        if astray is not None:
            raise self._diverged(astray)

    @property
    def _moment(self) -> Moment:
        return Moment(int(self.clock.counts[STEPS]), int(self.clock.counts[WORDS]), self.rate)

    def _diverged(self, when: Moment) -> TrainingError:
        return TrainingError(
            f"{self.name} has diverged: the loss is not finite any more at step {when.steps:,}, after "
            f"{when.words:,} words, at a rate of {when.rate:g}. Start again with a lower rate, for example "
            f"rate={self.config.rate / 10:g}."
        )

    def draws(self, sizes: Sequence[int], count: int, generator: torch.Generator) -> Iterator[Tensor]:
        """Negatives of steps with so many examples: [shared] for all of a step, or ``count`` for each."""
        shared = self.config.shared
        if shared:
            yield from self.noise.draw((len(sizes), shared), generator)
        else:
            yield from (self.noise.draw((size, count), generator) for size in sizes)

    def pairwise_rule(self) -> PairwiseRule | None:
        """What a step of plain pairs is; None where a step is another."""
        return PairwiseRule(self._negative_weight, self.config.mask_hits)

    def pair_step(self, rule: PairwiseRule | None) -> PairStep | None:
        """A step by such a rule as kernels; None without a rule or a GPU."""
        kernels = self.rows.kernels
        if rule is None or kernels is None:
            return None
        from wordstill.methods.kernels.pair_kernels import OwnStep, SharedStep

        kind = SharedStep if self.config.shared else OwnStep
        return kind(kernels, self.positives.counts, self._offsets, rule, self.pace, self.loss)

    def replayed(self, step: Callable[..., None]) -> Callable[..., None]:
        """A step that a GPU can start as a whole; it must not hold the learner, or neither is ever freed."""
        return Replayed(step, self.config.batch) if self.setup.device.type == "cuda" else step

    def weights(self, negatives: Tensor, positives: Tensor) -> Tensor:
        """Weights of negatives [B, N]: 0 where one is a positive of its query, given as [B, P].

        Shared negatives stand for ``negatives`` of each query.
        """
        shape = (len(positives), negatives.shape[-1])
        weights = torch.full(shape, self._negative_weight, device=negatives.device)
        if self.config.mask_hits:
            hits = negatives[..., None, :] == positives[:, :, None]
            weights.masked_fill_(hits.any(dim=1), 0.0)
        return weights

    def scores(self, table: RowTable, queries: Tensor, rows: Tensor) -> Tensor:
        """[B, R] scores of rows [B, R] or [R], with the offset if there is one."""
        scores = table.scores(queries, rows)
        return scores if self._offsets is None else scores + self._offsets[rows]

    def host_chance(self) -> np.random.Generator:
        """For choices that the host makes, so that it knows their number without waiting for a GPU."""
        return np.random.default_rng(self._batch_seed)

    @property
    def _negative_weight(self) -> float:
        return self.config.negatives / self.config.shared if self.config.shared else 1.0

    def _generator(self) -> torch.Generator:
        return torch.Generator(self.setup.device).manual_seed(self._batch_seed)

    @property
    def _batch_seed(self) -> int:
        return ((self.setup.seed + 1) * SEED_STRIDE + int(self.clock.counts[BATCHES])) % 2**63


@contextmanager
def fast_products() -> Iterator[None]:
    """Inside, a GPU rounds the factors of float32 products to TF32, which no step can tell from its noise."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
