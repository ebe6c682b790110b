"""What training asks of the thing that is trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

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
