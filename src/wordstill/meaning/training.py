"""Training the distillers with the paper's optimiser, warm-up and early stopping; one seed, one result."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.engine import stop_requested
from wordstill.errors import DataError, UsageError
from wordstill.meaning.diagnosis import Diagnosis, diagnose
from wordstill.meaning.distiller import DistillerConfig, Distillers
from wordstill.meaning.losses import distil, loss
from wordstill.meaning.progress import Progress, TrainingCheckpoint
from wordstill.meaning.triple_states import DeviceStates, TripleStates

VALIDATION_BATCH = 1024
FEWEST = 20
CENTRE_WORDS = 8192


@dataclass(frozen=True)
class TrainConfig:
    """How the distillers are trained; the defaults are the paper's but for what development data chose."""

    batch: int = 128
    learning_rate: float = 2e-4
    """4e-5 in the paper."""
    warm_up: int = 1000
    """Steps over which the learning rate grows to its value."""
    weight_decay: float = 0.0
    patience: int = 15
    """Checks without improvement after which training stops."""
    min_delta: float = 1e-4
    """What counts as an improvement of the validation loss."""
    checks_per_epoch: int = 10
    validation: int = 10_000
    """Triples held out; at most a tenth of all."""
    max_epochs: int = 100
    negatives: bool = True
    """False is the ablation, which degenerates."""
    seed: int = 0
    distiller: DistillerConfig = field(default_factory=DistillerConfig)

    def __post_init__(self) -> None:
        if min(self.batch, self.patience, self.checks_per_epoch, self.validation, self.max_epochs) < 1:
            raise UsageError(
                "batch, patience, checks_per_epoch, validation and max_epochs must be at least 1."
            )
        if self.learning_rate <= 0 or self.warm_up < 0:
            raise UsageError("The learning rate must be above 0, and warm_up at least 0.")


PRESETS: Mapping[str, TrainConfig] = {
    "default": TrainConfig(),
    "paper": TrainConfig(learning_rate=4e-5, distiller=DistillerConfig(feedforward=4, scaling="none")),
}
"""Named settings: ours, chosen on development data, and the paper's."""


@dataclass(frozen=True)
class Trained:
    """What training gives."""

    distillers: Distillers
    history: list[tuple[int, float]]
    """Step and validation loss of every check."""
    best: float
    diagnosis: Diagnosis
    seconds_per_epoch: float

    def facts(self) -> dict[str, Any]:
        """What is worth keeping beside the weights."""
        return {
            "steps": self.history[-1][0],
            "validation_loss": round(self.best, 6),
            "first_validation_loss": round(self.history[0][1], 6),
            "diagnosis": self.diagnosis.as_dict(),
        }


def train(
    states: TripleStates,
    config: TrainConfig | None = None,
    *,
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
    every: float = 60.0,
    seconds: float | None = None,
) -> Trained:
    """Train distillers on states of triples until the validation loss no longer falls.

    Args:
        states: The triples.
        config: How; None takes the preset ``default``.
        device: Where to train.
        checkpoint: File to save the training in and to go on from if it is there.
        every: Seconds between two savings.
        seconds: Stop after so much time at the latest; None trains on while the loss falls.

    Raises:
        UsageError: There are too few triples.
        DataError: The checkpoint belongs to other states or settings, or the loss is not finite.
        KeyboardInterrupt: The user stopped; the training is saved.
    """
    config = config or TrainConfig()
    if len(states) < FEWEST:
        raise UsageError(f"Training needs at least {FEWEST} triples, got {len(states)}. Make more pairs.")
    with _own_randomness(config.seed, torch.device(device)):
        run = _Run(states, config, torch.device(device))
        file = None if checkpoint is None else TrainingCheckpoint(checkpoint, run.recipe())
        return run.until_done(file, every, seconds)


class _Run:
    def __init__(self, states: TripleStates, config: TrainConfig, device: torch.device) -> None:
        self.config, self.states = config, DeviceStates(states, device)
        order = np.random.default_rng(config.seed).permutation(len(states))
        held_out = min(config.validation, len(states) // 10)
        self.validation, self.training = np.sort(order[:held_out]), np.sort(order[held_out:])
        self.distillers = Distillers(*states.shape, config.distiller).to(device)
        if config.distiller.scaling != "none":
            self.distillers.find_scale(self._some_words())
        self.optimizer = torch.optim.AdamW(
            self.distillers.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=device.type == "cuda",
        )
        self.steps_per_epoch = -(-len(self.training) // config.batch)
        self.check_every = max(1, self.steps_per_epoch // config.checks_per_epoch)
        self.progress = Progress()
        self.best = self._weights()

    def recipe(self) -> str:
        """What determines the result."""
        states = self.states.source
        probe = states.rows(slice(0, 4)).float().double().sum()
        facts = {"config": asdict(self.config), "triples": len(states), "probe": float(probe)}
        return json.dumps({**facts, "shape": list(states.shape), "device": self.states.device.type})

    def until_done(self, file: TrainingCheckpoint | None, every: float, seconds: float | None) -> Trained:
        if file is not None:
            self.progress = file.restore(self.distillers, self.optimizer, self.best) or self.progress
        started, first_step = time.monotonic(), self.progress.step
        self._train(file, every, seconds)
        if not self.progress.history or self.progress.history[-1][0] != self.progress.step:
            self._check()
        self.distillers.load_state_dict(self.best)
        self.distillers.find_centres(self._some_words())
        epochs = (self.progress.step - first_step) / self.steps_per_epoch
        return Trained(
            self.distillers.eval(),
            self.progress.history,
            self.progress.best,
            diagnose(self.distillers, self.states.take(self.validation[:VALIDATION_BATCH])),
            (time.monotonic() - started) / max(epochs, 1e-9),
        )

    def _train(self, file: TrainingCheckpoint | None, every: float, seconds: float | None) -> None:
        started = saved = time.monotonic()
        with stop_requested() as stop:
            for numbers in self._batches():
                self._step(numbers)
                checked = self.progress.step % self.check_every == 0
                if checked:
                    self._check()
                due = checked and time.monotonic() - saved >= every
                if file is not None and (due or stop.is_set()):
                    file.save(self.progress, self.distillers, self.optimizer, self.best)
                    saved = time.monotonic()
                if stop.is_set():
                    raise KeyboardInterrupt
                late = seconds is not None and time.monotonic() - started >= seconds
                if late or self.progress.waited >= self.config.patience:
                    return

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """Batches from where the training is, in an order that depends on the seed and the epoch only."""
        first_epoch, done = divmod(self.progress.step, self.steps_per_epoch)
        for epoch in range(first_epoch, self.config.max_epochs):
            order = np.random.default_rng([self.config.seed, epoch]).permutation(self.training)
            for number in range(done, self.steps_per_epoch):
                yield order[number * self.config.batch : (number + 1) * self.config.batch]
            done = 0

    def _step(self, numbers: NDArray[np.int64]) -> None:
        self.distillers.train()
        step = self.progress.step + 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * min(1.0, step / max(1, self.config.warm_up))
        self.optimizer.zero_grad(set_to_none=True)
        self._loss(numbers).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.progress.step = step

    def _loss(self, numbers: NDArray[np.int64]) -> Tensor:
        roles = 3 if self.config.negatives else 2
        return loss(*distil(self.distillers, self.states.take(numbers)[:, :roles]))

    @torch.no_grad()
    def _check(self) -> None:
        self.distillers.eval()
        parts = np.array_split(self.validation, -(-len(self.validation) // VALIDATION_BATCH))
        value = sum(float(self._loss(part)) * len(part) for part in parts) / len(self.validation)
        if not np.isfinite(value):
            raise DataError(
                f"The validation loss is {value} after {self.progress.step} steps. Lower the learning rate, "
                "or look for states that are not finite."
            )
        self.progress.history.append((self.progress.step, value))
        if value < self.progress.best - self.config.min_delta:
            self.progress.best, self.progress.waited = value, 0
            self.best = self._weights()
        else:
            self.progress.waited += 1

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.clone() for name, weight in self.distillers.state_dict().items()}

    def _some_words(self) -> Tensor:
        """[n, layers, width] states of words, in their sentences, that are trained on."""
        return self.states.take(self.training[:CENTRE_WORDS])[:, 0]


@contextmanager
def _own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
