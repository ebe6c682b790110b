"""Training small models: settings chosen on the development part, then one training for each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordstill.errors import TrainingError

Part = TypeVar("Part", contravariant=True)
Data = TypeVar("Data")
Ids = NDArray[np.int64]


class Learner(Protocol[Part]):
    """How one kind of model is made, trained for a batch, and asked."""

    device: torch.device
    clip: float | None
    """Longest gradient, or None for any."""

    def new_model(self) -> nn.Module:
        """A model with weights drawn from torch's random state."""
        ...

    def optimiser(self, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
        """What changes its weights."""
        ...

    def rate(self, learning_rate: float, epoch: int) -> float:
        """The learning rate in an epoch, counted from 1; it must not depend on how many are to come."""
        ...

    def losses(
        self, model: nn.Module, part: Part, random: np.random.Generator
    ) -> Iterator[tuple[Tensor, int]]:
        """The loss of every batch of one epoch, with its number of sentences."""
        ...


class Chooser(Learner[Data], Protocol[Data]):
    """A learner whose settings are chosen on the development part."""

    def correct(self, model: nn.Module, part: Data) -> float:
        """How good it is on a part, the more the better."""
        ...

    def predict(self, model: nn.Module, part: Data) -> Ids:
        """The number of the class of each sentence."""
        ...

    def join(self, first: Data, second: Data) -> Data:
        """Two parts as one."""
        ...

    def size(self, part: Data) -> int:
        """Sentences of a part."""
        ...


class Schedule(Protocol):
    """Settings of a search."""

    @property
    def epochs(self) -> tuple[int, ...]:
        """To choose from."""
        ...

    @property
    def learning_rates(self) -> tuple[float, ...]:
        """To choose from."""
        ...

    @property
    def seeds(self) -> int:
        """How many trainings with the chosen settings."""
        ...


def on_gpu(device: torch.device) -> bool:
    """Whether kernels are asked for ahead of time, so that fewer of them are better than fewer products."""
    return device.type == "cuda"


def on_device(numbers: Ids, device: torch.device) -> Tensor:
    """Numbers as a tensor there; the CPU does not wait for what a GPU still has to do."""
    return torch.from_numpy(numbers).to(device, non_blocking=True)


class Bar(Protocol):
    """What is needed of a progress bar."""

    total: float

    def update(self, n: float) -> object:
        """Count more sentences."""
        ...

    def set_postfix_str(self, s: str) -> object:
        """Say more behind the bar."""
        ...


@dataclass(frozen=True)
class Choice:
    """The settings that were best on the development part."""

    learning_rate: float
    epochs: int
    dev: float
    """How good they were there."""


def search_and_retrain(
    learner: Chooser[Data],
    parts: Sequence[Data],
    schedule: Schedule,
    seed: int,
    title: str,
    *,
    progress: bool = False,
) -> tuple[list[Ids], Choice]:
    """Choose settings with the first seed, then train on two parts with every seed, and predict the third.

    Args:
        learner: What is trained.
        parts: The training, development and test part.
        schedule: What to choose from, and how many seeds.
        seed: The first one.
        title: What the bar says.
        progress: Whether it is shown.
    """
    train, dev, test = parts
    everything = learner.join(train, dev)
    searched = len(schedule.learning_rates) * max(schedule.epochs) * learner.size(train)
    retrained = schedule.seeds * learner.size(everything)
    with progress_bar(title, searched + retrained * max(schedule.epochs), show=progress) as bar:
        choice = search(learner, train, dev, schedule, seed, bar)
        bar.total = searched + retrained * choice.epochs
        bar.set_postfix_str(f"{choice.epochs} epochs at {choice.learning_rate:g}")
        predicted = []
        for number in range(schedule.seeds):
            model = fit(learner, everything, choice, seed + number, bar)
            predicted.append(learner.predict(model, test))
    return predicted, choice


def fit(
    learner: Learner[Data],
    part: Data,
    choice: Choice,
    seed: int,
    bar: Bar,
    after_epoch: Callable[[int, nn.Module], bool] | None = None,
) -> nn.Module:
    """Train a new model; equal seeds give equal models on the CPU.

    ``after_epoch`` is shown the model after every epoch, and says whether to go on.

    Raises:
        TrainingError: The loss became infinite or NaN.
    """
    with seeded(seed, learner.device):
        model = learner.new_model().to(learner.device)
        optimiser = learner.optimiser(model, choice.learning_rate)
        random = np.random.default_rng(seed)
        for epoch in range(1, choice.epochs + 1):
            for group in optimiser.param_groups:
                group["lr"] = learner.rate(choice.learning_rate, epoch)
            _run_epoch(learner, model, part, optimiser, random, bar)
            if after_epoch is not None and not after_epoch(epoch, model):
                break
    return model


def search(
    learner: Chooser[Data],
    train: Data,
    dev: Data,
    schedule: Schedule,
    seed: int,
    bar: Bar,
) -> Choice:
    """The number of epochs and the learning rate that are best on the development part.

    The learning rate of an epoch does not depend on those to come, so a long training passes through every
    shorter one: one training for each learning rate is the whole search. Of equals the first is taken, that
    is, the shortest training.
    """
    tried: list[Choice] = []
    for rate in schedule.learning_rates:

        def look(epoch: int, model: nn.Module, rate: float = rate) -> bool:
            if epoch in schedule.epochs:
                tried.append(Choice(rate, epoch, learner.correct(model, dev)))
            return True

        fit(learner, train, Choice(rate, max(schedule.epochs), 0.0), seed, bar, look)
    return max(tried, key=lambda choice: choice.dev)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Everything that torch draws inside depends on the seed alone; what is drawn outside is as before."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def progress_bar(title: str, total: int, *, show: bool) -> AbstractContextManager[Any]:
    """A bar over sentences with the rate and the time left; one that shows nothing if not asked for."""
    if not show:
        return nullcontext(_NoBar())
    from tqdm import tqdm

    bar: AbstractContextManager[Any] = tqdm(total=total, desc=title, unit=" sentences", unit_scale=True)
    return bar


def _run_epoch(
    learner: Learner[Data],
    model: nn.Module,
    part: Data,
    optimiser: torch.optim.Optimizer,
    random: np.random.Generator,
    bar: Bar,
) -> None:
    model.train()
    total = torch.zeros((), device=learner.device)
    for loss, sentences in learner.losses(model, part, random):
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if learner.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), learner.clip)
        optimiser.step()
        total += loss.detach()
        bar.update(sentences)
    model.eval()
    if not bool(torch.isfinite(total)):
        rate = optimiser.param_groups[0]["lr"]
        raise TrainingError(
            f"Training went astray: the loss is not finite at the learning rate {rate:g}. "
            "Try a smaller one, or the scale 'unit'."
        )


class _NoBar:
    total = 0.0

    def update(self, n: float) -> None:
        """Nothing to show."""

    def set_postfix_str(self, s: str) -> None:
        """Nothing to show."""
