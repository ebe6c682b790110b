"""Judging learners between epochs on held-out word pairs, to stop when reading on does not help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wordstill.errors import UsageError
from wordstill.methods.learner import Learner
from wordstill.vectors import WordVectors

Judge = Callable[[WordVectors], float]
"""Gives a table's score on development data, higher is better; never on what results are reported for."""


@dataclass(frozen=True)
class Development:
    """A judge, and how long to wait for it to be better pleased."""

    judge: Judge
    patience: int = 1
    """Epochs without a better score after which a learner has had enough."""

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise UsageError(f"patience must be at least 1 epoch; got {self.patience}.")

    def enough(self, learners: Mapping[str, Learner], epoch: int) -> bool:
        """Judge every learner after an epoch, counted from 1; whether all have had enough."""
        best = [learner.judge(self.judge(learner.current()), epoch) for learner in learners.values()]
        return all(epoch - each >= self.patience for each in best)
