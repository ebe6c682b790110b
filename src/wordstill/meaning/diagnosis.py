"""Whether two trained distillers do what they are for, seen on triples they were not trained on."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from wordstill.meaning.distiller import Distillers
from wordstill.meaning.losses import distil

DEGENERATE = 0.95
"""A mean cosine between the vectors of different words from which on they say next to nothing."""
SEPARATED = 0.05


@dataclass(frozen=True)
class Diagnosis:
    """Mean cosines over triples. Of meanings, words with the same one should be near, others far."""

    meaning_positive: float
    meaning_negative: float
    meaning_others: float
    """Between the words of different triples; near 1 the distiller gives one vector for everything."""
    context_positive: float
    context_negative: float
    context_others: float
    told_apart: float
    """Part of the triples whose positive is nearer in meaning than the negative."""

    @property
    def separation(self) -> float:
        """How much better the meaning tells a negative from a positive than the context does."""
        meaning = self.meaning_positive - self.meaning_negative
        return meaning - (self.context_positive - self.context_negative)

    @property
    def degenerate(self) -> bool:
        """Whether the meanings of all words are nearly the same, or no better than the contexts.

        Both happen without negatives: a constant meaning costs nothing then, and where positives are near to
        their originals the loss is the same with the two distillers exchanged.
        """
        return self.meaning_others >= DEGENERATE or self.separation < SEPARATED

    def as_dict(self) -> dict[str, float | bool]:
        """The figures, for provenance."""
        return {
            **{name: round(value, 4) for name, value in asdict(self).items()},
            "degenerate": self.degenerate,
        }

    def warn(self) -> None:
        """Warn of a degenerate solution."""
        if self.degenerate:
            warnings.warn(
                f"The distillers found a degenerate solution: the mean cosine of the meanings of different "
                f"words is {self.meaning_others:.3f}, and meanings tell negatives from positives by "
                f"{self.separation:.3f} more than contexts do. Train with negatives, or with better ones.",
                stacklevel=3,
            )


@torch.no_grad()
def diagnose(distillers: Distillers, triples: Tensor) -> Diagnosis:
    """Look at triples [n, 3, layers, width] of at least two different words."""
    distillers.eval()
    original, positive, negative = distil(distillers, triples)
    cosine = torch.nn.functional.cosine_similarity
    figures = {
        f"{kind}_{other}": float(cosine(mine, theirs, dim=-1).mean())
        for kind, mine, *rest in (
            ("meaning", original.meaning, positive.meaning, negative.meaning),
            ("context", original.context, positive.context, negative.context),
        )
        for other, theirs in zip(("positive", "negative", "others"), (*rest, mine.roll(1, dims=0)))
    }
    near, far = (cosine(original.meaning, other.meaning, dim=-1) for other in (positive, negative))
    return Diagnosis(**figures, told_apart=float((near > far).float().mean()))
