"""Training the distillers on states of triples: early stopping, checkpoints, and a learning-rate range test."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.early_stopping import Patience
from wordstill.core.progress import count_bar
from wordstill.core.resume import CheckpointFile, stop_requested
from wordstill.core.settings import Config, Range
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.meaning.distiller import Diagnosis, DistillerConfig, Distillers, diagnose, distill_triples, loss
from wordstill.meaning.state_cache import DeviceStates, StateCache
from wordstill.methods.learning.rows import Replayed
from wordstill.teacher.device import to_arrays, to_tensors

MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class Progress:
    """The progress of a training run."""

    step: int = 0
    best: float = float("inf")
    waited: int = 0
    """Validations since the last improvement."""
    history: list[tuple[int, float]] = field(default_factory=list)

    @classmethod
    def saved(cls, history: list[list[float]], **counts: Any) -> Progress:
        """Restore the progress from a checkpoint, in which tuples are lists."""
        return cls(history=[(int(step), value) for step, value in history], **counts)


VALIDATION_BATCH = 1024
FEWEST = 20
CENTRE_WORDS = 8192
Count: TypeAlias = Annotated[int, Range(1)]


@dataclass(frozen=True)
class TrainConfig(Config):
    """Training settings; the defaults are the paper's, except for those chosen on development data."""

    batch: Count = 128
    learning_rate: Annotated[float, Range(0, above=True)] = 2e-4
    """4e-5 in the paper."""
    warm_up: Annotated[int, Range(0)] = 1000
    """Warm-up steps of the learning rate."""
    weight_decay: float = 0.0
    patience: Count = 15
    """Validations without improvement after which training stops."""
    min_delta: float = 1e-4
    """What counts as an improvement of the validation loss."""
    checks_per_epoch: Count = 10
    validation: Count = 10_000
    """Triples held out; at most a tenth of all."""
    max_epochs: Count = 100
    negatives: bool = True
    """False is the paper's ablation, which degenerates."""
    seed: int = 0
    distiller: DistillerConfig = field(default_factory=DistillerConfig)


PRESETS: Mapping[str, TrainConfig] = {
    "default": TrainConfig(),
    "paper": TrainConfig(learning_rate=4e-5, distiller=DistillerConfig(feedforward=4, scaling="none")),
}
"""Presets: our defaults, chosen on development data, and the paper's settings."""


@dataclass(frozen=True)
class Trained:
    """The result of training."""

    distillers: Distillers
    history: list[tuple[int, float]]
    """Step and loss of every validation."""
    best: float
    diagnosis: Diagnosis
    seconds_per_epoch: float

    def facts(self) -> dict[str, Any]:
        """Facts for the provenance."""
        return {
            "steps": self.history[-1][0],
            "validation_loss": round(self.best, 6),
            "first_validation_loss": round(self.history[0][1], 6),
            "diagnosis": self.diagnosis.as_dict(),
        }


def train(
    states: StateCache,
    config: TrainConfig | None = None,
    *,
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
    every: float = 60.0,
    seconds: float | None = None,
    progress: bool = False,
) -> Trained:
    """Train distillers on states of triples until the validation loss no longer falls.

    Args:
        states: The triples.
        config: Settings; None uses the preset ``default``.
        device: Where to train.
        checkpoint: File for saving the training, and for resuming if it exists.
        every: Seconds between two checkpoints.
        seconds: Maximum training time.
        progress: Show a progress bar with the validation loss.

    Raises:
        UsageError: There are too few triples.
        DataError: The checkpoint belongs to other states or settings, or the loss is not finite.
        Interrupted: Ctrl-C or SIGTERM; the training is saved if it has a checkpoint.
    """
    config = config or TrainConfig()
    if len(states) < FEWEST:
        raise UsageError(f"Training needs at least {FEWEST} triples, got {len(states)}. Make more pairs.")
    with _own_randomness(config.seed, torch.device(device)):
        run = _Run(states, config, torch.device(device))
        file = None if checkpoint is None else CheckpointFile(checkpoint, run.recipe())
        return run.until_done(file, every, seconds, show=progress)


class _Run:
    def __init__(self, states: StateCache, config: TrainConfig, device: torch.device) -> None:
        self.config, self.states = config, DeviceStates(states, device)
        order = np.random.default_rng(config.seed).permutation(len(states))
        held_out = min(config.validation, len(states) // 10)
        self.validation, self.training = np.sort(order[:held_out]), np.sort(order[held_out:])
        self.distillers = Distillers(*states.shape, config.distiller).to(device)
        if config.distiller.scaling != "none":
            self.distillers.find_scale(self._some_words())
        on_gpu = device.type == "cuda"
        # What is captured as a graph reads the rate where it lies.
        self.rate = torch.tensor(config.learning_rate, device=device) if on_gpu else config.learning_rate
        self.optimizer = torch.optim.AdamW(
            self.distillers.parameters(),
            lr=self.rate,
            weight_decay=config.weight_decay,
            fused=on_gpu,
            capturable=on_gpu,
        )
        # Drawn vectors keep a graph of gradients beyond their step, which a capture must not meet.
        replayed = self.states.resident and not config.distiller.variational
        self.learn: Callable[[Tensor], None] = Replayed(self._learn, config.batch) if replayed else self._learn
        self.steps_per_epoch = -(-len(self.training) // config.batch)
        self.check_every = max(1, self.steps_per_epoch // config.checks_per_epoch)
        self.progress = Progress()
        self.best = self._weights()

    def recipe(self) -> str:
        """The settings that determine the result."""
        states = self.states.source
        probe = states.rows(slice(0, 4)).float().double().sum()
        facts = {"config": asdict(self.config), "triples": len(states), "probe": float(probe)}
        return json.dumps({**facts, "shape": list(states.shape), "device": self.states.device.type})

    def until_done(self, file: CheckpointFile | None, every: float, seconds: float | None, *, show: bool) -> Trained:
        saved = None if file is None else file.load(Progress.saved)
        if saved is not None:
            self._restore(*saved)
        started, first_step = time.monotonic(), self.progress.step
        total = self.config.max_epochs * self.steps_per_epoch
        with count_bar("training", total, "steps", show=show, done=first_step) as bar:
            self._train(file, every, seconds, bar)
        if not self.progress.history or self.progress.history[-1][0] != self.progress.step:
            self._check()
        self.distillers.load_state_dict(self.best)
        self.distillers.find_centers(self._some_words())
        epochs = (self.progress.step - first_step) / self.steps_per_epoch
        return Trained(
            self.distillers.eval(),
            self.progress.history,
            self.progress.best,
            diagnose(self.distillers, self.states.take(self.states.placed(self.validation[:VALIDATION_BATCH]))),
            (time.monotonic() - started) / max(epochs, 1e-9),
        )

    def _train(self, file: CheckpointFile | None, every: float, seconds: float | None, bar: Any) -> None:
        started = saved = time.monotonic()
        if self._stopping().should_stop:
            # Resumed from a checkpoint of the last step.
            return
        with stop_requested() as stop:
            for numbers in self._batches():
                self._step(numbers)
                bar.update(1)
                checked = self.progress.step % self.check_every == 0
                if checked:
                    self._check()
                    bar.set_postfix_str(f"validation loss {self.progress.history[-1][1]:.4f}", refresh=False)
                due = checked and time.monotonic() - saved >= every
                if file is not None and (due or stop.is_set()):
                    file.save(asdict(self.progress), to_arrays(self._state()))
                    saved = time.monotonic()
                if stop.is_set():
                    step, saves = self.progress.step, file is not None
                    raise Interrupted("training", step, bar.total, "steps", saved=saves)
                late = seconds is not None and time.monotonic() - started >= seconds
                if late or self._stopping().should_stop:
                    return

    def _state(self) -> dict[str, Tensor]:
        """The complete training state: current and best weights, optimizer, random generators."""
        tensors = {f"weights/{name}": weight for name, weight in self.distillers.state_dict().items()}
        tensors |= {f"best/{name}": weight for name, weight in self.best.items()}
        for name, parameter in self.distillers.named_parameters():
            tensors |= {f"{moment}/{name}": self.optimizer.state[parameter][moment] for moment in MOMENTS}
        tensors["random/cpu"] = torch.get_rng_state()
        if self.states.device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state()
        return tensors

    def _restore(self, progress: Progress, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the training state."""
        device, self.progress = self.states.device, progress
        self.distillers.load_state_dict(to_tensors(arrays, "weights/"))
        self.best = {name: weight.to(device) for name, weight in to_tensors(arrays, "best/").items()}
        moments = {moment: to_tensors(arrays, f"{moment}/") for moment in MOMENTS}
        for name, parameter in self.distillers.named_parameters():
            # The fused optimizer counts its steps on the GPU.
            step = torch.tensor(float(progress.step), device=device)
            own = {moment: tensors[name].to(device) for moment, tensors in moments.items()}
            self.optimizer.state[parameter] = {"step": step, **own}
        random = to_tensors(arrays, "random/")
        torch.set_rng_state(random["cpu"])
        if "cuda" in random and device.type == "cuda":
            torch.cuda.set_rng_state(random["cuda"])

    def _batches(self) -> Iterator[Tensor]:
        """Batches from the current position, in an order that depends only on the seed and the epoch."""
        first_epoch, done = divmod(self.progress.step, self.steps_per_epoch)
        for epoch in range(first_epoch, self.config.max_epochs):
            order = self.states.placed(np.random.default_rng([self.config.seed, epoch]).permutation(self.training))
            for number in range(done, self.steps_per_epoch):
                yield order[number * self.config.batch : (number + 1) * self.config.batch]
            done = 0

    def batches_for_ever(self) -> Iterator[Tensor]:
        """Endless batches, epoch by epoch, regardless of the progress."""
        while True:
            yield from self._batches()

    def step_at(self, numbers: Tensor, rate: float) -> float:
        """Take a step with a learning rate; return the loss before it."""
        self.distillers.train()
        self._set_rate(rate)
        self.optimizer.zero_grad(set_to_none=True)
        value = self._loss(numbers)
        value.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return float(value.detach())

    def _step(self, numbers: Tensor) -> None:
        self.distillers.train()
        step = self.progress.step + 1
        self._set_rate(self.config.learning_rate * min(1.0, step / max(1, self.config.warm_up)))
        self.learn(numbers)
        self.progress.step = step

    def _set_rate(self, rate: float) -> None:
        if isinstance(self.rate, Tensor):
            self.rate.fill_(rate)
            return
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def _learn(self, numbers: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self._loss(numbers).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    def _loss(self, numbers: Tensor) -> Tensor:
        roles = 3 if self.config.negatives else 2
        value = loss(*distill_triples(self.distillers, self.states.take(numbers)[:, :roles]))
        return value + self.distillers.divergence() if self.config.distiller.variational else value

    @torch.no_grad()
    def _check(self) -> None:
        self.distillers.eval()
        parts = np.array_split(self.validation, -(-len(self.validation) // VALIDATION_BATCH))
        value = sum(float(self._loss(self.states.placed(part))) * len(part) for part in parts) / len(self.validation)
        if not np.isfinite(value):
            raise DataError(
                f"The validation loss is {value} after {self.progress.step} steps. Lower the learning rate, "
                "or look for states that are not finite."
            )
        stopping = self._stopping()
        self.progress.history.append((self.progress.step, value))
        if stopping.update(-value, len(self.progress.history)):
            self.best = self._weights()
        self.progress.best, self.progress.waited = -stopping.best, stopping.waited

    def _stopping(self) -> Patience:
        """Early stopping by the validation loss, restored from the saved progress."""
        progress, checks = self.progress, len(self.progress.history)
        best_check = checks - progress.waited
        return Patience(self.config.patience, self.config.min_delta, -progress.best, best_check, checks)

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.clone() for name, weight in self.distillers.state_dict().items()}

    def _some_words(self) -> Tensor:
        """[n, layers, width] states of some training words in their sentences."""
        return self.states.take(self.states.placed(self.training[:CENTRE_WORDS]))[:, 0]


@contextmanager
def _own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


SMOOTHING = 0.9
DIVERGED = 4.0
"""The range test ends when the smoothed loss is this many times the lowest."""
EDGE = 5
"""Steps at either end of the range test that are ignored, because the smoothed loss is unreliable or diverges."""


@dataclass(frozen=True)
class RateTest:
    """The result of a learning-rate range test."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    """Smoothed losses of the training batches."""
    best: float
    """The rate at which the smoothed loss fell fastest, relative to the logarithm of the rate."""


def find_rate(
    states: StateCache,
    config: TrainConfig | None = None,
    *,
    device: torch.device | str = "cpu",
    low: float = 1e-7,
    high: float = 1.0,
    steps: int = 200,
) -> RateTest:
    """Run a range test: train with a rate that grows geometrically from ``low`` to ``high`` (Smith 2017).

    Otherwise training uses these settings, without warm-up; its result is discarded.

    Raises:
        UsageError: There are too few triples or steps, or the range is empty.
    """
    if len(states) < FEWEST:
        raise UsageError(f"The range test needs at least {FEWEST} triples, got {len(states)}.")
    if not 0 < low < high or steps <= 2 * EDGE + 1:
        raise UsageError(f"The range test needs 0 < low < high and more than {2 * EDGE + 1} steps.")
    config = config or TrainConfig()
    rates: list[float] = []
    losses: list[float] = []
    with _own_randomness(config.seed, torch.device(device)):
        run = _Run(states, config, torch.device(device))
        batches = run.batches_for_ever()
        mean = 0.0
        for number, rate in enumerate(np.geomspace(low, high, steps).tolist(), start=1):
            mean = SMOOTHING * mean + (1 - SMOOTHING) * run.step_at(next(batches), rate)
            smooth = mean / (1 - SMOOTHING**number)
            if not np.isfinite(smooth) or (losses and smooth > DIVERGED * min(losses)):
                break
            rates.append(rate)
            losses.append(smooth)
    return RateTest(tuple(rates), tuple(losses), _steepest(rates, losses))


def _steepest(rates: list[float], losses: list[float]) -> float:
    inner = slice(EDGE, len(rates) - EDGE) if len(rates) > 2 * EDGE + 1 else slice(None)
    slopes = np.gradient(np.array(losses), np.log(rates))
    return float(np.array(rates)[inner][slopes[inner].argmin()])
