"""What every method is: it observes the teacher's states and ends with one vector per word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.corpus import Vocabulary
from wordstill.methods.sums import Accumulator
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class Setup:
    """What a method is told before the first batch."""

    vocabulary: Vocabulary
    width: int
    """Size of the teacher's states."""
    depth: int
    """Number of the teacher's last layer."""
    device: torch.device
    seed: int = 0


class Method(ABC):
    """One way to distil. Subclasses name themselves with a version, so that a recipe keeps its meaning.

    Args:
        config: The method's settings, with one layer already chosen where it has a ``layer``.
        setup: Vocabulary, sizes and device.
    """

    name: ClassVar[str]
    config_type: ClassVar[type]
    reads_text: ClassVar[bool] = True

    def __init__(self, config: Any, setup: Setup) -> None:
        self.config = config
        self.setup = setup
        self.parts: dict[str, Accumulator] = {}

    @property
    @abstractmethod
    def layers(self) -> tuple[int, ...]:
        """The layers of the teacher that this method looks at."""

    def words_alone(self) -> NDArray[np.int64]:
        """Ids of the words that this method wants to see alone, outside any text. None by default."""
        return np.empty(0, dtype=np.int64)

    def observe(self, states: WordStates) -> None:
        """Learn from a batch of running text."""

    def observe_alone(self, states: WordStates) -> None:
        """Learn from a batch of words, each alone in its own text."""

    @abstractmethod
    def finish(self) -> WordVectors:
        """The table of vectors. Words without any evidence are left out."""

    def memory(self) -> int:
        """Bytes that this method keeps for the whole run."""
        return sum(tensor.nbytes for tensor in self.state_dict().values())

    def state_dict(self) -> dict[str, Tensor]:
        """Everything learnt so far, by name."""
        return {
            f"{part}.{key}": tensor
            for part, accumulator in self.parts.items()
            for key, tensor in accumulator.state_dict().items()
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state_dict` gave."""
        for key, tensor in self.state_dict().items():
            tensor.copy_(state[key])

    def merge(self, other: Method) -> None:
        """Add what another run of the same method has seen."""
        for part, accumulator in self.parts.items():
            accumulator.merge(other.parts[part])

    def table(self, vectors: Tensor, seen: Tensor) -> WordVectors:
        """A table of the rows that have been seen."""
        kept = seen.cpu().numpy().astype(bool)
        vocabulary = self.setup.vocabulary
        words = [word for word, keep in zip(vocabulary.keys, kept) if keep]
        return WordVectors(words, vectors.cpu().numpy()[kept], counts=vocabulary.counts[kept])
