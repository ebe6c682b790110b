"""Early stopping: methods that learn are scored after each epoch on held-out data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wordstill.errors import UsageError
from wordstill.methods import Method
from wordstill.vectors import WordVectors

if TYPE_CHECKING:
    from wordstill.distillation.config import DistillConfig


@dataclass(frozen=True)
class EarlyStopping:
    """Early stopping by a score on development data; the best table of each method is its result."""

    score: Callable[[WordVectors], float]
    """Gives a table's score, higher is better; never on data that results are reported for."""
    patience: int = 1
    """Epochs without a better score after which a method stops."""
    source: Mapping[str, str] = field(default_factory=dict)
    """What the score is from, such as the name and checksum of a file; it travels with the result."""
    check_words: Callable[[Sequence[str]], object] = lambda words: None
    """Given the vocabulary before the first batch; raises if a table of these words cannot be scored."""
    every: int | None = None
    """Also score about every so many words, for a curve of the training; the best table is one after an epoch."""

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise UsageError(f"patience must be at least 1 epoch; got {self.patience}.")
        if self.every is not None and self.every < 1:
            raise UsageError(f"every must be at least 1 word; got {self.every}.")

    @property
    def facts(self) -> dict[str, Any]:
        """What determines its choice, as plain data."""
        every = {} if self.every is None else {"every": self.every}
        return {**self.source, "patience": self.patience, **every}

    def times(self, words: int, epochs: int) -> int:
        """How often a method is scored at most in a run over a text of so many words."""
        return epochs + (0 if self.every is None else words * epochs // self.every)

    def validate(self, config: DistillConfig) -> None:
        """Refuse settings with nothing to choose from: no method that learns, or a single epoch.

        Raises:
            UsageError: There is nothing to choose.
        """
        if not any(request.kind.learns for request in config.requests):
            raise UsageError(
                "A development set chooses among the epochs of methods that learn step by step, and "
                f"{', '.join(config.methods)} reads the text once. Omit --development (early_stopping=), or "
                "add a method such as x2static."
            )
        if config.epochs < 2 and self.every is None:
            raise UsageError(
                "A development set chooses among epochs, and there is only one. Set --epochs (epochs=) to 2 "
                "or more, score during the epoch with --score-every (every=), or omit --development "
                "(early_stopping=)."
            )

    def score_during(self, methods: Sequence[Method], before: int, after: int) -> None:
        """Score every method if a batch has led over a multiple of ``every`` words, counted from the first epoch."""
        if self.every is not None and after // self.every > before // self.every:
            for method in methods:
                method.score_now(self.score)

    def should_stop(self, methods: Sequence[Method], epoch: int) -> bool:
        """Score every method after an epoch, counted from 1; whether the patience with all is at an end."""
        # A list, because every method is to be scored.
        stopped = [method.score_epoch(epoch, self.score, self.patience) for method in methods]
        return all(stopped)
