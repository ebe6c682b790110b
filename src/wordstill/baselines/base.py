"""What every baseline is: it trains on the words of a text, without any teacher."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.baselines.word_stream import WordText
from wordstill.core.progress import count_bar
from wordstill.core.settings import SEEDS, Config, Configurable, Range
from wordstill.errors import TrainingError

SECONDS_BETWEEN_LOOKS = 0.5
Dim: TypeAlias = Annotated[int, Range(1, 16_384)]
Epochs: TypeAlias = Annotated[int, Range(1, 1_000_000)]


class Meter:
    """Counts what has been read, and shows it with the mean loss.

    Args:
        title: What the bar says.
        total: How much will be read in all epochs.
        unit: Of what.
        show: Whether there is a bar.
    """

    def __init__(self, title: str, total: int, unit: str, *, show: bool) -> None:
        self._bar = count_bar(title, total, unit, show=show)
        self._looked = time.monotonic()
        self.done, self.total = 0, total

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.close()

    @property
    def share(self) -> float:
        """How much of the training is done, from 0 to 1."""
        return min(1.0, self.done / max(1, self.total))

    def advance(self, amount: int) -> None:
        """Count more."""
        self.done += amount
        self._bar.update(amount)

    def due(self) -> bool:
        """Whether it is time to look at the loss, which on a GPU means to wait for it."""
        if time.monotonic() - self._looked < SECONDS_BETWEEN_LOOKS:
            return False
        self._looked = time.monotonic()
        return True

    def show(self, loss: float) -> None:
        """Show the mean loss of the latest examples."""
        self._bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)


def refuse_divergence(loss: float, *, setting: str, value: float, where: str) -> None:
    """Stop a training whose loss has run away.

    Args:
        loss: The latest.
        setting: Which one to change, such as ``glove:rate``.
        value: What it is now.
        where: How far the training has come.

    Raises:
        TrainingError: The loss is not finite.
    """
    if not math.isfinite(loss):
        raise TrainingError(
            f"The loss is not finite any more at {where}: the training has diverged. Start again with a "
            f"smaller {setting} (it is {value:g}), for example {value / 10:g}."
        )


@dataclass(frozen=True)
class Training(Config):
    """How a training runs, whatever the method."""

    seed: Annotated[int, SEEDS] = 0
    """Of everything random; the same seed gives the same vectors with one worker on a CPU."""
    workers: Annotated[int, Range(1, 1_024)] = 1
    """Threads of the methods that gensim trains; with several the result differs from run to run."""
    device: str = "auto"
    """Where the other methods compute: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``."""
    progress: bool = False
    """Show a bar with the loss and the time left."""


@dataclass(frozen=True)
class Trained:
    """What a training gives."""

    vectors: NDArray[np.float32]
    """One for each word of the vocabulary [V, dim]."""
    seen: NDArray[np.bool_]
    """Which words have a vector [V]."""


class Baseline(Configurable, ABC):
    """One way to train word vectors from scratch. Subclasses name themselves with a version.

    Args:
        config: The method's settings.
        training: Seed, workers and device.

    Attributes:
        config_type: Every one has ``dim`` and ``epochs``.
        package: The one that does the work, whose version is written into provenance.
    """

    package: ClassVar[str]

    def __init__(self, config: Any, training: Training) -> None:
        self.config = config
        self.training = training

    @abstractmethod
    def fit(self, text: WordText) -> Trained:
        """Train on a text.

        Raises:
            TrainingError: The loss is not finite any more.
        """

    def meter(self, total: int, unit: str) -> Meter:
        """The progress bar of this training."""
        return Meter(self.name.partition(".")[0], total, unit, show=self.training.progress)
