"""What every baseline is: it trains on the words of a text, without any teacher."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.baselines.progress import Meter
from wordstill.baselines.text import WordText
from wordstill.methods.ranges import SEEDS, Range, check_ranges


@dataclass(frozen=True)
class Training:
    """How a training runs, whatever the method."""

    seed: int = 0
    """Of everything random; the same seed gives the same vectors with one worker on a CPU."""
    workers: int = 1
    """Threads of the methods that gensim trains; with several the result differs from run to run."""
    device: str = "auto"
    """Where the other methods compute: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``."""
    progress: bool = False
    """Show a bar with the loss and the time left."""

    def __post_init__(self) -> None:
        check_ranges(self, {"workers": Range(1, 1_024), "seed": SEEDS})


@dataclass(frozen=True)
class Trained:
    """What a training gives."""

    vectors: NDArray[np.float32]
    """One for each word of the vocabulary [V, dim]."""
    seen: NDArray[np.bool_]
    """Which words have a vector [V]."""


class Baseline(ABC):
    """One way to train word vectors from scratch. Subclasses name themselves with a version.

    Args:
        config: The method's settings.
        training: Seed, workers and device.

    Attributes:
        name: The name with its version, such as ``skipgram.v1``.
        config_type: The frozen dataclass of the settings; every one has ``dim`` and ``epochs``.
        presets: Named groups of settings; none by default.
        package: The one that does the work, whose version is written into provenance.
    """

    name: ClassVar[str]
    config_type: ClassVar[type[Any]]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
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
