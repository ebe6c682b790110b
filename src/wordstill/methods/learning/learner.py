"""Learners: methods that take gradient steps, with a learning-rate schedule and negative sampling."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from wordstill.core.early_stopping import Patience
from wordstill.core.settings import Config, Range
from wordstill.errors import TrainingError
from wordstill.methods.base import Method, RunContext
from wordstill.methods.learning.objectives import NegativeSampler, NoiseSource, PairwiseRule
from wordstill.methods.learning.rows import OptimizerKind, Replayed, RowOptimizer, RowTable
from wordstill.methods.linear_algebra import RunningWhitener
from wordstill.methods.sums import Unmergeable
from wordstill.teacher.states import NonFiniteMonitor, WordStates
from wordstill.vectors import WordVectors

if TYPE_CHECKING:
    from wordstill.methods.learning.pair_kernels import PairStep


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(Config):
    """Settings of all learners; the defaults are those of the preset ``fixed``."""

    layer: int
    """The layer of the states."""
    negatives: Annotated[int, Range(1, 10_000)]
    """Negatives for each target; for each center in methods with windows."""
    shared: Annotated[int, Range(0, 1_000_000)] = 1024
    """Negatives that all examples of a step share, with a total weight of ``negatives`` for each example: each negative
    then meets many queries, which is faster and far less noisy. 0 draws negatives for each example."""
    corrected: bool = True
    """Offset scores so that zero vectors already predict the base rate of positives, and no steps are spent on learning
    it."""
    subsample: Annotated[float, Range(0, 1)]
    """Subsampling threshold for frequent targets; 0 keeps all."""
    noise_power: Annotated[float, Range(0, 100)] = 1.0
    """Power of the counts by which negatives are drawn."""
    noise_source: NoiseSource = "subsampled"
    """``subsampled`` draws by the counts after subsampling."""
    mask_hits: bool = True
    """Skip negatives that are the target itself."""
    optimiser: OptimizerKind = "sgd"
    rate: Annotated[float, Range(0, 1e6, above=True)] = 0.05
    """Learning rate at the start."""
    final_rate: Annotated[float, Range(0, 1)] = 1.0
    """Final learning rate as a share of the initial one; it falls linearly with the words read."""
    balance: Annotated[float, Range(0, 100)] = 1.0
    """Divide each word's learning rate by this power of how often it will be a positive. With 1 and ``sgd``, all words
    move equally far, and all occurrences of a word count equally."""
    batch: Annotated[int, Range(1, 10_000_000)]
    """Examples in a step."""


BATCHES, WORDS, STEPS = range(3)
SEED_STRIDE = 0x9E3779B97F4A7C15


class Learner(Method):
    """A method that takes gradient steps; subclasses define the examples and the steps.

    Every random choice is a function of the seed and the batch number, so a resumed run gives the same result as an
    uninterrupted one.

    Attributes:
        presets: Named groups of settings; ``fixed`` is the default.
        score_offsets: Added to the score of each word [V]; None if scores are not corrected.
        loss: Sum since the last `status`.
        learning_rate: Of the current batch [], on the device of the steps.
    """

    learns: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    config: LearnerConfig
    rows: RowTable

    def __init__(self, config: LearnerConfig, run: RunContext) -> None:
        super().__init__(config, run)
        self.sampler = NegativeSampler(
            run.vocabulary, config.noise_power, config.noise_source, config.subsample, run.device
        )
        self.score_offsets = self.sampler.offsets(config.negatives) if config.corrected else None
        self.clock = Counts(3, torch.device("cpu"))
        self.positives = Counts(len(run.vocabulary), run.device)
        self.parts = {"clock": self.clock, "positives": self.positives}
        self.best: Best | None = None
        self.curve: ScoreCurve | None = None
        self.whitener: RunningWhitener | None = None
        self._monitor = NonFiniteMonitor[Moment]()
        self.loss, self._examples = torch.zeros((), dtype=torch.float64, device=run.device), 0
        self.learning_rate = torch.full((), config.rate, device=run.device)

    @property
    def scheduled_rate(self) -> float:
        """The current learning rate, which falls linearly with the words read."""
        readings = self.run.epochs * max(1, self.masked_readings)
        done = min(1.0, int(self.clock.counts[WORDS]) / (readings * self.run.words))
        return self.config.rate * (1 - (1 - self.config.final_rate) * done)

    @abstractmethod
    def steps(self, states: WordStates, generator: torch.Generator) -> Iterator[int]:
        """Take the steps of a batch, adding to ``loss``; yields the number of examples of each step."""

    @abstractmethod
    def vectors(self) -> Tensor:
        """[V, dim] the current table."""

    def row_table(self, initial: Tensor) -> RowTable:
        """A table of the vocabulary's words with the settings' optimizer."""
        if self.run.keeps_best:
            self.best = self.parts["best"] = Best(initial)
            self.curve = self.parts["curve"] = ScoreCurve(self.run.scored)
        positives = (self.sampler.expected_positives * self.run.epochs).clamp(min=1)
        return RowTable(initial, RowOptimizer(self.config.optimiser), positives**-self.config.balance)

    def add_whitener(self, exponent: float | None) -> None:
        """Whiten inputs by the statistics of the states seen so far; None does not."""
        if exponent is not None:
            self.whitener = self.parts["whitener"] = RunningWhitener(self.run.width, exponent, self.run.device)

    def whitened(self, values: Tensor) -> Tensor:
        """[n, width] values, whitened if there is a whitener."""
        return values if self.whitener is None else self.whitener.transform(values)

    def observe(self, states: WordStates) -> None:
        """Take the steps of a batch of running text.

        Raises:
            TrainingError: The loss of this batch (on a GPU, of an earlier one) is not finite.
        """
        self.learning_rate.fill_(self.scheduled_rate)
        with fast_products():
            taken = [*self.steps(states, self._generator())]
        self._examples += sum(taken)
        self.clock.counts[STEPS] += len(taken)
        self.clock.counts[BATCHES] += 1
        self.clock.counts[WORDS] += states.batch.n_words
        astray = self._monitor.check([self.loss], self._moment)
        if astray is not None:
            raise self._diverged(astray)

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """The table of all words that were positives: with early stopping the best one, else the last."""
        if self.best is not None and int(self.best.epoch):
            return self.table(self.best.weights, self.positives.counts > 0, provenance)
        self.verify()
        return self.table(self.vectors(), self.positives.counts > 0, provenance)

    def score_epoch(self, epoch: int, score: Callable[[WordVectors], float], patience: int) -> bool:
        """Score the current table, and keep it if it is the best; returns whether to stop."""
        assert self.best is not None, "RunContext.keeps_best is False"
        stopping = Patience(patience, best=float(self.best.score), best_step=int(self.best.epoch))
        value = self.score_now(score)
        if stopping.update(value, epoch):
            self.best.weights.copy_(self.vectors())
            self.best.score.fill_(value)
            self.best.epoch.fill_(epoch)
        return stopping.should_stop

    def score_now(self, score: Callable[[WordVectors], float]) -> float:
        """Score the current table, and add the score to the curve."""
        assert self.curve is not None, "RunContext.keeps_best is False"
        self.verify()
        value = score(self.table(self.vectors(), self.positives.counts > 0))
        self.curve.add(int(self.clock.counts[WORDS]), value)
        return value

    def report(self) -> dict[str, Any]:
        """The epoch and score of the best table, and the training curve."""
        if self.best is None or self.curve is None:
            return {}
        return {"kept_epoch": int(self.best.epoch), "score": float(self.best.score), "curve": self.curve.points}

    def why_empty(self) -> str | None:
        """The reason if subsampling left nothing to learn from."""
        if not self.config.subsample:
            return None
        left = float(self.sampler.expected_positives.sum())
        return (
            f"subsample={self.config.subsample:g} reduces the text to about {left:,.0f} words, and "
            "none was left to learn from. Raise it, or set subsample=0."
        )

    def status(self) -> str:
        """The mean loss of an example since the last call."""
        if not self._examples:
            return ""
        mean = float(self.loss) / self._examples
        self.loss.zero_()
        self._examples = 0
        return f"loss {mean:.3f}"

    def verify(self) -> None:
        """Raise a `TrainingError` if the table is no longer finite."""
        astray = self._monitor.flush()
        if astray is None and not bool(torch.isfinite(self.vectors().sum())):
            astray = self._moment
        if astray is not None:
            raise self._diverged(astray)

    @property
    def _moment(self) -> Moment:
        return Moment(int(self.clock.counts[STEPS]), int(self.clock.counts[WORDS]), self.scheduled_rate)

    def _diverged(self, when: Moment) -> TrainingError:
        return TrainingError(
            f"{self.name} has diverged: the loss is no longer finite at step {when.steps:,}, after "
            f"{when.words:,} words, at a rate of {when.rate:g}. Start again with a lower rate, for example "
            f"rate={self.config.rate / 10:g}."
        )

    def draws(self, sizes: Sequence[int], count: int, generator: torch.Generator) -> Iterator[Tensor]:
        """Negatives for steps of the given sizes: [shared] for a whole step, or ``count`` for each example."""
        shared = self.config.shared
        if shared:
            yield from self.sampler.draw((len(sizes), shared), generator)
        else:
            yield from (self.sampler.draw((size, count), generator) for size in sizes)

    @property
    def is_pairwise(self) -> bool:
        """Whether the loss of a step is that of `pairwise_rule`, so that a kernel can compute it."""
        return True

    def pairwise_rule(self) -> PairwiseRule:
        """The settings of the pairwise loss."""
        return PairwiseRule(self._negative_weight, self.config.mask_hits)

    def pair_step(self) -> PairStep | None:
        """A pairwise step by kernels; None without a GPU, or if a step has another loss."""
        kernels = self.rows.kernels
        if kernels is None or not self.is_pairwise:
            return None
        from wordstill.methods.learning.pair_kernels import PairStep

        counts, rule = self.positives.counts, self.pairwise_rule()
        return PairStep(kernels, counts, self.score_offsets, rule, self.learning_rate, self.loss)

    def replayed(self, step: Callable[..., None], examples: int) -> Callable[..., None]:
        """One or several steps as a CUDA graph; ``step`` must not reference the learner, or neither is ever freed."""
        return Replayed(step, examples) if self.run.device.type == "cuda" else step

    def negative_weights(self, negatives: Tensor, positives: Tensor) -> Tensor:
        """Weights of negatives [B, N]; 0 for one that is a positive [B, P] of its query.

        The weights of shared negatives add up to ``negatives`` for each query.
        """
        shape = (len(positives), negatives.shape[-1])
        weights = torch.full(shape, self._negative_weight, device=negatives.device)
        return mask_accidental_hits(weights, negatives, positives) if self.config.mask_hits else weights

    def scores(self, table: RowTable, queries: Tensor, rows: Tensor) -> Tensor:
        """[B, R] scores of rows [B, R] or [R], with the offset if there is one."""
        scores = table.scores(queries, rows)
        return scores if self.score_offsets is None else scores + self.score_offsets[rows]

    def host_rng(self) -> np.random.Generator:
        """The batch's random generator on the host: sizes of samples are known without waiting for a GPU."""
        return np.random.default_rng(self._batch_seed)

    @property
    def _negative_weight(self) -> float:
        return self.config.negatives / self.config.shared if self.config.shared else 1.0

    def _generator(self) -> torch.Generator:
        return torch.Generator(self.run.device).manual_seed(self._batch_seed)

    @property
    def _batch_seed(self) -> int:
        return ((self.run.seed + 1) * SEED_STRIDE + int(self.clock.counts[BATCHES])) % 2**63


class Moment(NamedTuple):
    """The step, words read and learning rate at which a loss was computed."""

    steps: int
    words: int
    rate: float


class Counts(Unmergeable):
    """Counters: how often each word was a positive; or batches, words and steps so far, on the host."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.counts = torch.zeros(size, dtype=torch.int64, device=device)

    def add(self, rows: Tensor, present: Tensor | None = None) -> None:
        """Count rows of any shape, or only those in a mask of the same shape."""
        times = torch.ones_like(rows) if present is None else present.long()
        self.counts.index_add_(0, rows.flatten(), times.flatten())

    def state_dict(self) -> dict[str, Tensor]:
        """The counts [size]."""
        return {"counts": self.counts}


class Best(Unmergeable):
    """The best table so far in early stopping, with its score and epoch; 0 before any."""

    def __init__(self, like: Tensor) -> None:
        self.weights = torch.zeros_like(like)
        self.score = torch.full((1,), -torch.inf, dtype=torch.float64)
        self.epoch = torch.zeros(1, dtype=torch.int64)

    def state_dict(self) -> dict[str, Tensor]:
        """The table, its score and its epoch."""
        return {"weights": self.weights, "score": self.score, "epoch": self.epoch}


class ScoreCurve(Unmergeable):
    """Up to ``most`` scores during training, each with the number of words read."""

    def __init__(self, most: int) -> None:
        self.scores = torch.full((most, 2), torch.nan, dtype=torch.float64)

    def add(self, words: int, score: float) -> None:
        """Append a score; it replaces the last one if that is after the same number of words."""
        known = self.points
        place = len(known) - bool(known and known[-1][0] == words)
        self.scores[place] = torch.tensor([words, score], dtype=torch.float64)

    @property
    def points(self) -> list[tuple[int, float]]:
        """Words read and score, of each."""
        return [(int(words), score) for words, score in self.scores.tolist() if words == words]

    def state_dict(self) -> dict[str, Tensor]:
        """The scores [most, 2]."""
        return {"scores": self.scores}


def mask_accidental_hits(weights: Tensor, negatives: Tensor, positives: Tensor) -> Tensor:
    """Set weights [B, N] of negatives, [B, N] or [N], to 0 if they are among the positives [B, P] of their query."""
    hits = negatives[..., None, :] == positives[:, :, None]
    return weights.masked_fill_(hits.any(dim=1), 0.0)


@contextmanager
def fast_products() -> Iterator[None]:
    """Use TF32 on a GPU inside the block; its rounding is far smaller than the noise of steps."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
