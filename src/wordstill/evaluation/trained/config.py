"""Settings of the tasks that train; the defaults are the papers', if printed."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from wordstill.core.settings import Config, Range
from wordstill.errors import MissingExtra, UsageError
from wordstill.evaluation.trained.word_table import Scale

POSITIVE = Range(0, above=True)
Count: TypeAlias = Annotated[int, Range(1)]
Share: TypeAlias = Annotated[float, Range(0, 1, below=True)]


@dataclass(frozen=True)
class CnnConfig(Config):
    """The classifier of the X2Static paper, section 4.3."""

    filters: Count = 100
    width: Count = 3
    """Words in a window, odd."""
    dropout: Share = 0.5
    epochs: Annotated[tuple[int, ...], Range(1)] = tuple(range(8, 17))
    """Numbers of epochs to choose from on the development part."""
    learning_rates: Annotated[tuple[float, ...], POSITIVE] = (1e-4, 3e-4, 1e-3)
    batch: Count = 50
    """Sentences in a batch; the paper does not say."""
    tuned: bool = False
    """Whether the vectors are trained too; the paper does not say."""
    scale: Scale = "unit"
    """``unit`` scales each table by one factor, so that all have the same mean square; ``as-is`` does not."""
    seeds: Count = 5
    """Number of trainings with the chosen settings; their mean is the score."""
    split_seed: int = 0
    """Seed for dividing a set without published parts; the same for every table."""
    limit: Annotated[int | None, Range(1)] = None
    """Maximum sentences of each part, for a quick trial; None takes all."""
    device: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % 2 == 0:
            raise UsageError(f"width must be odd; got {self.width}.")


@dataclass(frozen=True)
class ProbeConfig(Config):
    """Logistic regression on the mean vector of a sentence."""

    strengths: Annotated[tuple[float, ...], POSITIVE] = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
    """Inverse strengths of the penalty to choose from on the development part."""
    iterations: int = 500
    split_seed: int = 0
    """As in ``CnnConfig``."""
    limit: Annotated[int | None, Range(1)] = None


@dataclass(frozen=True)
class TaggerConfig(Config):
    """A BiLSTM with a CRF and a character CNN, with the sizes of NCRF++ (Yang & Zhang 2018)."""

    hidden: Annotated[int, Range(2)] = 200
    """Units of both directions together."""
    character_size: int = 30
    character_filters: int = 50
    dropout: Share = 0.5
    epochs: Count = 30
    """Maximum; the epoch that is best on the development part is scored."""
    patience: int = 5
    """Epochs without improvement after which training stops."""
    optimiser: Literal["adam", "sgd"] = "adam"
    """``adam``, or ``sgd`` with the learning rate divided by 1 + 0.05 x epoch, as in NCRF++."""
    learning_rate: Annotated[float, POSITIVE] = 2e-3
    batch: Count = 32
    """Sentences in a batch."""
    clip: Annotated[float | None, POSITIVE] = 5.0
    """Maximum norm of the gradient; None does not clip."""
    tuned: bool = False
    """Whether the vectors are trained too."""
    digits_to_zero: bool = False
    """Whether every digit is read as 0."""
    absent: Literal["zeros", "random"] = "zeros"
    """The vector of a word that the table lacks, with ``oov=skip``: zeros, or random as in NCRF++, uniform up to
    sqrt(3 / dim)."""
    scale: Scale = "unit"
    seeds: Count = 3
    limit: Annotated[int | None, Range(1)] = None
    device: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % 2:
            raise UsageError(f"hidden must be even; got {self.hidden}.")


@dataclass(frozen=True)
class FinetunedConfig(Config):
    """A fine-tuned language model with a linear layer on top."""

    epochs: Annotated[tuple[int, ...], Range(1)] = (3, 4, 5, 6)
    learning_rates: Annotated[tuple[float, ...], POSITIVE] = (2e-5, 5e-5)
    batch: Count = 32
    dropout: Share = 0.1
    """Before the linear layer."""
    max_length: int = 128
    """Subwords of the longest sentence; the rest is truncated."""
    frozen: bool = False
    """Train only the linear layer."""
    seeds: Count = 3
    split_seed: int = 0
    limit: Annotated[int | None, Range(1)] = None
    device: str = "auto"


def require_training(feature: str) -> None:
    """Raise `MissingExtra` if a package for training is not installed."""
    for package in ("torch", "transformers", "tokenizers"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "distill", feature)


NCRFPP = TaggerConfig(
    optimiser="sgd",
    learning_rate=0.015,
    batch=10,
    epochs=100,
    patience=100,
    tuned=True,
    clip=None,
    digits_to_zero=True,
    absent="random",
    scale="as-is",
)
"""The settings of NCRF++, which Context-to-Vec used: many more steps, and the vectors are trained too."""

FROZEN = FinetunedConfig(learning_rates=(1e-4, 3e-4, 1e-3), dropout=0.0, frozen=True)
"""A frozen sentence encoder with a linear layer: the rows SBERT-base-NLI and SRoBERTa-base-NLI of X2Static."""
