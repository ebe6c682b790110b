"""What a learner keeps besides its table: how far it has come, what it has seen, its best table."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from wordstill.methods.sums import Accumulator

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
