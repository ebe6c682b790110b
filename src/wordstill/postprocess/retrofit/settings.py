"""What every way of retrofitting has to be told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from wordstill.errors import UsageError, unknown_name
from wordstill.postprocess.retrofit.graph import Case
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.relaxation import Order


@dataclass(frozen=True)
class RetrofitConfig:
    """Settings that the methods share."""

    lexicon: str | Lexicon = ""
    """Which words belong together, or what `open_lexicon` makes it of."""
    passes: int = 10
    """How often each word is moved."""
    order: Order = "jacobi"
    """``jacobi`` moves all words at once; ``gauss-seidel`` one after the other in the order of the table."""
    unit: bool = True
    """Whether every vector of the table is brought to length one first."""
    case: Case = "fallback"
    """``fallback`` looks a word up as the lexicon has it, then in lower case; ``exact`` only the first."""

    def __post_init__(self) -> None:
        if self.passes < 0:
            raise UsageError(f"passes must be 0 or more; got {self.passes}.")
        choice("order", self.order, get_args(Order))
        choice("case rule", self.case, get_args(Case))


def choice(kind: str, got: str, known: tuple[str, ...]) -> None:
    """Refuse a name that is not among the known ones."""
    if got not in known:
        raise unknown_name(kind, got, known)


def positive(name: str, value: float, *, kind: Literal["above 0", "0 or more"] = "above 0") -> None:
    """Refuse a number that is not finite, or not above 0 (or below it)."""
    if not (value > 0 or (kind == "0 or more" and value == 0)) or math.isinf(value):
        raise UsageError(f"{name} must be {kind} and finite; got {value}.")
