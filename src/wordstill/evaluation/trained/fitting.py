"""Training loops: settings are chosen on the development part, then one model is trained for each seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from wordstill.core.progress import count_bar
from wordstill.errors import TrainingError
from wordstill.evaluation.trained.config import CnnConfig, FinetunedConfig
from wordstill.evaluation.trained.word_table import Ids, Sentences, length_sorted

Data = TypeVar("Data")


class Trainer(ABC, Generic[Data]):
    """How to make one kind of model, and its loss on a batch."""

    device: torch.device
    clip: float | None = None
    """Maximum norm of the gradient; None does not clip."""

    @abstractmethod
    def new_model(self) -> nn.Module:
        """A model with weights drawn from torch's random state."""

    @abstractmethod
    def optimizer(self, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
        """The optimizer of a model."""

    @abstractmethod
    def losses(self, model: nn.Module, part: Data, random: np.random.Generator) -> Iterator[tuple[Tensor, int]]:
        """The loss of every batch of one epoch, with its number of sentences."""

    def rate(self, learning_rate: float, epoch: int) -> float:
        """The learning rate in an epoch, counted from 1; it must not depend on the number of epochs."""
        return learning_rate


@dataclass(frozen=True, eq=False)
class ClassifiedRows:
    """Sentences as rows of a table or as subwords, with class or tag numbers."""

    sentences: Sentences
    targets: Ids
    """Of sentences, or of all words end to end."""
    firsts: Sentences | None = None
    """The position of each word's first subword in its sentence; None if sentences have the targets."""

    def __len__(self) -> int:
        return len(self.sentences)

    def __add__(self, other: ClassifiedRows) -> ClassifiedRows:
        firsts = self.firsts + other.firsts if self.firsts and other.firsts else None
        targets = np.concatenate([self.targets, other.targets])
        return ClassifiedRows(self.sentences + other.sentences, targets, firsts)

    def targets_of(self, places: Ids) -> Ids:
        """Indices of the targets of some sentences, in order."""
        if self.firsts is None:
            return places
        starts = self.firsts.starts
        return np.concatenate([np.arange(starts[place], starts[place + 1]) for place in places])


class Classifier(Trainer[ClassifiedRows]):
    """A trainer whose model scores classes, and whose settings are chosen on the development part."""

    config: CnnConfig | FinetunedConfig
    read_batches: ClassVar[int]
    """How many times larger a batch is without training."""

    @abstractmethod
    def scores(self, model: nn.Module, part: ClassifiedRows, places: Ids) -> Tensor:
        """[targets, classes] of some sentences, in the order of ``targets_of``."""

    def losses(
        self, model: nn.Module, part: ClassifiedRows, random: np.random.Generator
    ) -> Iterator[tuple[Tensor, int]]:
        """Cross-entropy of every batch of one epoch."""
        for places in length_sorted(part.sentences.lengths, self.config.batch, random):
            targets = on_device(part.targets[part.targets_of(places)], self.device)
            yield nn.functional.cross_entropy(self.scores(model, part, places), targets), len(places)

    @torch.inference_mode()
    def predict(self, model: nn.Module, part: ClassifiedRows) -> Ids:
        """The best class of each sentence or word."""
        predicted = np.zeros(len(part.targets), dtype=np.int64)
        for places in length_sorted(part.sentences.lengths, self.read_batches * self.config.batch, None):
            best = self.scores(model, part, places).argmax(dim=1)
            predicted[part.targets_of(places)] = best.cpu().numpy()
        return predicted

    def accuracy(self, model: nn.Module, part: ClassifiedRows) -> float:
        """The share of correct predictions."""
        return float((self.predict(model, part) == part.targets).mean())


def on_gpu(device: torch.device) -> bool:
    """Whether this is a GPU, where fewer kernels matter more than fewer products."""
    return device.type == "cuda"


def on_device(numbers: Ids, device: torch.device) -> Tensor:
    """Numbers as a tensor on a device, copied without waiting for a GPU."""
    return torch.from_numpy(numbers).to(device, non_blocking=True)


@dataclass(frozen=True)
class Choice:
    """The settings that are best on the development part."""

    learning_rate: float
    epochs: int
    dev: float
    """Their accuracy there."""


def search_and_retrain(
    trainer: Classifier, parts: Sequence[ClassifiedRows], seed: int, title: str, *, progress: bool = False
) -> tuple[list[Ids], Choice]:
    """Choose settings with the first seed, then train on two parts with every seed and predict the third.

    Args:
        trainer: The trainer; its config has the settings to choose from and the number of seeds.
        parts: The training, development and test part.
        seed: The first seed.
        title: Title of the progress bar.
        progress: Whether to show it.
    """
    (train, dev, test), schedule = parts, trainer.config
    everything = train + dev
    searched = len(schedule.learning_rates) * max(schedule.epochs) * len(train)
    retrained = schedule.seeds * len(everything)
    with count_bar(title, searched + retrained * max(schedule.epochs), "sentences", show=progress) as bar:
        choice = search(trainer, train, dev, seed, bar)
        bar.total = searched + retrained * choice.epochs
        bar.set_postfix_str(f"{choice.epochs} epochs at {choice.learning_rate:g}")
        predicted = []
        for number in range(schedule.seeds):
            model = fit(trainer, everything, choice, seed + number, bar)
            predicted.append(trainer.predict(model, test))
    return predicted, choice


def fit(
    trainer: Trainer[Data],
    part: Data,
    choice: Choice,
    seed: int,
    bar: Any,
    after_epoch: Callable[[int, nn.Module], bool] | None = None,
) -> nn.Module:
    """Train a new model; equal seeds give equal models on the CPU.

    ``after_epoch`` gets the model after every epoch and returns whether to continue.

    Raises:
        TrainingError: The loss became infinite or NaN.
    """
    with seeded(seed, trainer.device):
        model = trainer.new_model().to(trainer.device)
        optimizer = trainer.optimizer(model, choice.learning_rate)
        random = np.random.default_rng(seed)
        for epoch in range(1, choice.epochs + 1):
            for group in optimizer.param_groups:
                group["lr"] = trainer.rate(choice.learning_rate, epoch)
            _run_epoch(trainer, model, part, optimizer, random, bar)
            if after_epoch is not None and not after_epoch(epoch, model):
                break
    return model


def search(trainer: Classifier, train: ClassifiedRows, dev: ClassifiedRows, seed: int, bar: Any) -> Choice:
    """The number of epochs and the learning rate that are best on the development part.

    The learning rate of an epoch does not depend on later epochs, so a long training contains all shorter ones, and one
    training for each learning rate is the whole search. Ties go to the first, that is, the shortest training.
    """
    tried: list[Choice] = []
    schedule = trainer.config
    for rate in schedule.learning_rates:

        def record(epoch: int, model: nn.Module, rate: float = rate) -> bool:
            if epoch in schedule.epochs:
                tried.append(Choice(rate, epoch, trainer.accuracy(model, dev)))
            return True

        fit(trainer, train, Choice(rate, max(schedule.epochs), 0.0), seed, bar, record)
    return max(tried, key=lambda choice: choice.dev)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's random numbers inside the block, and restore their state after it."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _run_epoch(
    trainer: Trainer[Data],
    model: nn.Module,
    part: Data,
    optimizer: torch.optim.Optimizer,
    random: np.random.Generator,
    bar: Any,
) -> None:
    model.train()
    total = torch.zeros((), device=trainer.device)
    for loss, sentences in trainer.losses(model, part, random):
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if trainer.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), trainer.clip)
        optimizer.step()
        total += loss.detach()
        bar.update(sentences)
    model.eval()
    if not bool(torch.isfinite(total)):
        rate = optimizer.param_groups[0]["lr"]
        raise TrainingError(
            f"Training diverged: the loss is not finite at the learning rate {rate:g}. "
            "Try a smaller one, or the scale 'unit'."
        )
