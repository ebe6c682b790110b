"""Settings that every learner has."""

from __future__ import annotations

from dataclasses import dataclass

from wordstill.methods.learning.noise import NoiseSource
from wordstill.methods.learning.rows import OptimiserKind
from wordstill.methods.ranges import Range, check_ranges

RANGES = {
    "negatives": Range(1, 10_000),
    "shared": Range(0, 1_000_000),
    "subsample": Range(0, 1),
    "noise_power": Range(0, 100),
    "rate": Range(0, 1e6, above=True),
    "final_rate": Range(0, 1),
    "balance": Range(0, 100),
    "batch": Range(1, 10_000_000),
}


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """Settings that every learner has; the defaults are those of ``fixed``, which methods share."""

    layer: int
    """Which layer's states."""
    negatives: int
    """Negatives for each target; for each centre in methods with windows."""
    shared: int = 1024
    """Draw so many negatives for all examples of a step together, with the weight of ``negatives`` for each
    example: a negative then meets many queries at once, which is faster and far less noisy. 0 draws for each
    example."""
    corrected: bool = True
    """Give scores the offset that makes zero vectors the best guess before any evidence, so that no step is
    spent on learning how rare positives are."""
    subsample: float
    """Threshold above which frequent targets are thinned out; 0 keeps all."""
    noise_power: float = 1.0
    """Power of the counts by which negatives are drawn."""
    noise_source: NoiseSource = "subsampled"
    """``subsampled`` draws by the counts that are left once targets are thinned out."""
    mask_hits: bool = True
    """Leave out negatives that are the target itself."""
    optimiser: OptimiserKind = "sgd"
    rate: float = 0.05
    """Learning rate at the start."""
    final_rate: float = 1.0
    """Share of the rate that is left at the end; it falls evenly with the words read."""
    balance: float = 1.0
    """Divide each word's rate by this power of how often it will be a positive. With 1 and ``sgd`` every word
    moves as far as any other, and all its occurrences count alike."""
    batch: int
    """Examples in a step."""

    def __post_init__(self) -> None:
        check_ranges(self, RANGES)
