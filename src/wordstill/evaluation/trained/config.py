"""Settings of the trained tasks; the defaults are the papers' where the papers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from wordstill.errors import UsageError, unknown_name
from wordstill.evaluation.trained.word_table import Scale

OPTIMISERS = ("adam", "sgd")


@dataclass(frozen=True)
class CnnConfig:
    """The classifier of the X2Static paper, section 4.2."""

    filters: int = 100
    width: int = 3
    """Words in a window, odd."""
    dropout: float = 0.5
    epochs: tuple[int, ...] = tuple(range(8, 17))
    """Numbers of epochs to choose from on the development part."""
    learning_rates: tuple[float, ...] = (1e-4, 3e-4, 1e-3)
    batch: int = 50
    """Sentences in a batch; the paper does not say."""
    tuned: bool = False
    """Whether the vectors are trained too; the paper does not say."""
    scale: Scale = "unit"
    """``unit`` brings every table to the same size by one factor; ``as-is`` leaves it."""
    seeds: int = 5
    """Trainings with the chosen settings; their mean is the score."""
    split_seed: int = 0
    """Draws the parts of a set that has no published ones; the same for every table."""
    limit: int | None = None
    """At most so many sentences of each part, for a quick try; None for all."""
    device: str = "auto"

    def __post_init__(self) -> None:
        check_schedule(self.epochs, self.learning_rates, self.seeds, self.batch)
        check_common(self.scale, self.dropout, self.limit)
        if self.filters < 1 or self.width < 1 or self.width % 2 == 0:
            raise UsageError(
                f"filters must be at least 1 and width odd, but they are {self.filters} and {self.width}."
            )


@dataclass(frozen=True)
class ProbeConfig:
    """Logistic regression on the mean vector of a sentence."""

    strengths: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
    """Inverse strengths of the penalty to choose from on the development part."""
    iterations: int = 500
    split_seed: int = 0
    """As in ``CnnConfig``: the same parts."""
    limit: int | None = None

    def __post_init__(self) -> None:
        if not self.strengths or min(self.strengths) <= 0:
            raise UsageError(f"strengths must be one or more positive numbers, but are {self.strengths}.")
        check_common("unit", 0.0, self.limit)


@dataclass(frozen=True)
class TaggerConfig:
    """A BiLSTM with a CRF and a character CNN, of the sizes of NCRF++ (Yang & Zhang 2018)."""

    hidden: int = 200
    """Of both directions together."""
    character_size: int = 30
    character_filters: int = 50
    dropout: float = 0.5
    epochs: int = 30
    """At most; the epoch that is best on the development part is scored."""
    patience: int = 5
    """Stop after so many epochs without a better one."""
    optimiser: str = "adam"
    """``adam``, or ``sgd`` with the rate divided by 1 + 0.05 x epoch, as in NCRF++."""
    learning_rate: float = 2e-3
    batch: int = 32
    """Sentences in a batch."""
    clip: float = 5.0
    """Longest gradient."""
    tuned: bool = False
    """Whether the vectors are trained too."""
    digits_to_zero: bool = False
    """Whether every digit becomes 0 before a word is looked up."""
    scale: Scale = "unit"
    seeds: int = 3
    limit: int | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        check_schedule((self.epochs,), (self.learning_rate,), self.seeds, self.batch)
        check_common(self.scale, self.dropout, self.limit)
        if self.optimiser not in OPTIMISERS:
            raise unknown_name("optimiser", self.optimiser, OPTIMISERS)
        if self.hidden < 2 or self.hidden % 2:
            raise UsageError(f"hidden must be an even number from 2 on, but is {self.hidden}.")


@dataclass(frozen=True)
class FinetunedConfig:
    """A language model that is trained further, with a linear layer on top."""

    epochs: tuple[int, ...] = (3, 4, 5, 6)
    learning_rates: tuple[float, ...] = (2e-5, 5e-5)
    batch: int = 32
    dropout: float = 0.1
    """Before the linear layer."""
    max_length: int = 128
    """Sub-words of a sentence that are read."""
    seeds: int = 3
    split_seed: int = 0
    limit: int | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        check_schedule(self.epochs, self.learning_rates, self.seeds, self.batch)
        check_common("unit", self.dropout, self.limit)


def check_schedule(epochs: Sequence[int], learning_rates: Sequence[float], seeds: int, batch: int) -> None:
    """Refuse settings of a training that cannot be right."""
    if not epochs or min(epochs) < 1:
        raise UsageError(f"epochs must be one or more numbers from 1 on, but are {tuple(epochs)}.")
    if not learning_rates or min(learning_rates) <= 0:
        raise UsageError(f"learning_rates must be one or more positive numbers, but are {learning_rates}.")
    if seeds < 1:
        raise UsageError(f"seeds must be at least 1, but is {seeds}.")
    if batch < 1:
        raise UsageError(f"batch must be at least 1, but is {batch}.")


def check_common(scale: str, dropout: float, limit: int | None) -> None:
    """Refuse settings that no task can work with."""
    if scale not in get_args(Scale):
        raise unknown_name("scale", scale, get_args(Scale))
    if not 0 <= dropout < 1:
        raise UsageError(f"dropout must be from 0 to less than 1, but is {dropout}.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, or None for all sentences, but is {limit}.")


NCRFPP = TaggerConfig(
    optimiser="sgd",
    learning_rate=0.015,
    batch=10,
    epochs=100,
    patience=100,
    tuned=True,
    digits_to_zero=True,
    scale="as-is",
)
"""As in NCRF++, which Context-to-Vec used: many more steps, and the vectors are trained too."""
