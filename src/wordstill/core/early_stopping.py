"""Early stopping: the best score so far, and when to stop waiting for a better one."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Patience:
    """Early stopping by a score that should rise; negate a loss.

    The fields are its whole state: a stopped run is restored with ``Patience(**saved)``.

    Example:
        >>> stopping = Patience(patience=2)
        >>> [stopping.update(score, step) for step, score in enumerate((0.5, 0.7, 0.6, 0.7), 1)]
        [True, True, False, False]
        >>> stopping.best, stopping.best_step, stopping.should_stop
        (0.7, 2, True)
    """

    patience: int
    """Steps without improvement after which to stop."""
    min_delta: float = 0.0
    """Minimum improvement."""
    best: float = -math.inf
    best_step: int = 0
    step: int = 0

    def update(self, score: float, step: int) -> bool:
        """Record the score of a step, counted from 1; returns whether it is the best so far."""
        self.step = step
        better = score > self.best + self.min_delta
        if better:
            self.best, self.best_step = score, step
        return better

    @property
    def waited(self) -> int:
        """Steps since the best score."""
        return self.step - self.best_step

    @property
    def should_stop(self) -> bool:
        """Whether the best score is ``patience`` steps old."""
        return self.waited >= self.patience
