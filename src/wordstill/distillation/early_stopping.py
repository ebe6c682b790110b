"""Judging learners between epochs on held-out word pairs, to stop when reading on does not help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wordstill.errors import UsageError
from wordstill.methods.learning.learner import Learner
from wordstill.vectors import WordVectors

Judge = Callable[[WordVectors], float]
"""Gives a table's score on development data, higher is better; never on what results are reported for."""


@dataclass(frozen=True)
class Development:
    """A judge, and how long to wait for it to be better pleased."""

    judge: Judge
    patience: int = 1
    """Epochs without a better score after which a learner has had enough."""
    source: Mapping[str, str] = field(default_factory=dict)
    """What it judges by, such as the name and checksum of a file; it travels with the result."""
    check_words: Callable[[Sequence[str]], object] = lambda words: None
    """Given the vocabulary before the first batch; raises if the judge could not judge a table of it."""

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise UsageError(f"patience must be at least 1 epoch; got {self.patience}.")

    @property
    def facts(self) -> dict[str, Any]:
        """What determines its judgement, as plain data."""
        return {**self.source, "patience": self.patience}

    def refuse_idle(self, methods: Sequence[str], *, learners: Sequence[str], epochs: int) -> None:
        """Refuse a run in which there is nothing to choose.

        Args:
            methods: All that was asked for.
            learners: Those of them that learn step by step.
            epochs: How often they read the text.

        Raises:
            UsageError: No method learns, or there is only one epoch.
        """
        if not learners:
            raise UsageError(
                "A development set chooses among the epochs of methods that learn step by step, and "
                f"{', '.join(methods)} reads the text once. Leave --development (development=) out, or add a "
                "method such as x2static."
            )
        if epochs < 2:
            raise UsageError(
                "A development set chooses among epochs, and there is only one. Set --epochs (epochs=) to 2 "
                "or more, or leave --development (development=) out."
            )

    def enough(self, learners: Mapping[str, Learner], epoch: int) -> bool:
        """Judge every learner after an epoch, counted from 1; whether all have had enough."""
        best = [learner.judge(self.judge(learner.current()), epoch) for learner in learners.values()]
        return all(epoch - each >= self.patience for each in best)
