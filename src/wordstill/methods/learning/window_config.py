"""Settings of learners with windows, and those that two papers print alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wordstill.errors import UsageError
from wordstill.methods.learning.learner_config import LearnerConfig
from wordstill.methods.learning.rows import OptimiserKind
from wordstill.methods.ranges import Range, check_ranges

Start = Literal["orthogonal", "xavier"]
Objective = Literal["pairwise", "summed", "attended"]
DrawnFor = Literal["centre", "window"]

RANGES = {
    "dim": Range(1, 16_384),
    "window": Range(1, 1_000),
    "right": Range(0, 1_000),
    "self_weight": Range(0, 1_000_000),
    "projection_rate": Range(0, 1_000_000),
    "clip": Range(0, 1_000_000, above=True),
    "whiten": Range(0, 1),
}


@dataclass(frozen=True, kw_only=True)
class WindowConfig(LearnerConfig):
    """Settings of learners with windows."""

    dim: int | None = 300
    """Size of the vectors; none takes the teacher's width."""
    window: int = 5
    """Words to the left and to the right that are predicted."""
    right: int | None = None
    """Words to the right, if not as many as to the left."""
    self_weight: float = 6.0
    """Weight of the pair of a word with itself beside those with its neighbours, which have 1; 0 leaves it
    out."""
    objective: Objective = "pairwise"
    """Each pair for itself; or all in one score, summed or weighted by attention."""
    negatives: int = 5
    drawn_for: DrawnFor = "window"
    """Negatives are drawn for each centre; ``window`` gives them the weight that they would have if drawn for
    each pair."""
    subsample: float = 1e-5
    batch: int = 512
    """Centres in a step."""
    start: Start = "orthogonal"
    """The projection at the start: orthonormal, or the random one of Xavier."""
    projection_optimiser: OptimiserKind = "adam"
    projection_rate: float | None = 1e-4
    """The projection's own rate; none takes that of the table."""
    clip: float | None = None
    """Largest norm of all gradients of a step together."""
    whiten: float | None = 0.25
    """Centre states and multiply them by this power of their inverse covariance before they are projected."""
    centre_table: bool = True
    """Take the mean vector of the most frequent words off all vectors at the end."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, RANGES)
        if self.objective != "pairwise" and self.drawn_for == "window":
            raise UsageError(
                f"objective={self.objective} has one positive for each centre, whatever its window, so "
                "negatives cannot have the weight of all its pairs; set drawn_for=centre."
            )

    @property
    def reach(self) -> int:
        """Words to the right."""
        return self.window if self.right is None else self.right


PRINTED: Mapping[str, Any] = {
    "drawn_for": "centre",
    "subsample": 0.0,
    "noise_power": 0.75,
    "noise_source": "counts",
    "optimiser": "sgd",
    "rate": 0.025,
    "final_rate": 0.0,
    "clip": 5.0,
    "batch": 64,
    "whiten": None,
    "mask_hits": False,
    "shared": 0,
    "start": "xavier",
    "projection_optimiser": "sgd",
    "projection_rate": None,
    "balance": 0.0,
    "centre_table": False,
    "corrected": False,
    "self_weight": 0.0,
}
"""What ``paper`` has in both methods with windows. BERT + skip-gram prints the rate and the clipping; that
the rate falls is from its code, centres in a step are ours. Context-to-Vec prints none of these."""
