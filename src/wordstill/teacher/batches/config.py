"""How much the teacher reads at one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordstill.errors import UsageError

Unit = Literal["paragraph", "sentence"]


@dataclass(frozen=True)
class BatchConfig:
    """How much the teacher reads at one time."""

    budget: int = 8192
    """Sub-words in a batch, padding counted."""
    limit: int = 512
    """Longest text in sub-words, special tokens counted."""
    unit: Unit = "paragraph"
    """What the teacher reads as one text: a whole paragraph, or each sentence by itself."""
    packed: bool = False
    """Whether texts lie end to end, without padding."""

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise UsageError(
                f"A budget of {self.budget} sub-words for a batch is too small; give at least 1."
            )
