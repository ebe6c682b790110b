"""Negative sampling and subsampling of frequent words."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.corpus import Vocabulary
from wordstill.errors import UsageError

NoiseSource = Literal["counts", "subsampled"]


class NegativeSampler:
    """Draws negatives from the vocabulary, and thins out frequent targets.

    Args:
        vocabulary: The words and their counts.
        power: Counts are raised to it.
        source: ``counts`` as they are, or as they are once frequent targets are thinned out, which gives
            every word the same number of negatives for each positive at power 1.
        subsample: The threshold of that thinning.
        device: Where negatives are drawn.

    Attributes:
        keep: Probability that an occurrence of each word stays a target [V], on the host.
        expected_positives: How many do, each time the text is read [V].
        cumulative: Probability that a draw is this word or one before it [V].

    Raises:
        UsageError: There is nothing to learn from.
    """

    def __init__(
        self, vocabulary: Vocabulary, power: float, source: NoiseSource, subsample: float, device: torch.device
    ) -> None:
        keep = vocabulary.keep_probability(subsample)
        _refuse_empty(vocabulary, keep, subsample)
        self.keep = keep.astype(np.float32)
        counts = vocabulary.counts * keep if source == "subsampled" else vocabulary.counts
        self.expected_positives = torch.from_numpy(vocabulary.counts * keep).float().to(device)
        noise = _distribution(counts, power)
        self.cumulative = torch.from_numpy(np.cumsum(noise)).to(device)
        # Words that never occur are neither positives nor, at most powers, negatives.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(noise) - np.log(_distribution(vocabulary.counts * keep, 1.0))
        self._log_ratio = torch.from_numpy(np.nan_to_num(ratio, posinf=0.0, neginf=0.0)).float().to(device)

    def offsets(self, negatives: int) -> Tensor:
        """[V] score of each word at which a positive is as likely as its share among the negatives says."""
        return -(self._log_ratio + float(np.log(negatives)))

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Word ids, each drawn anew."""
        device = self.cumulative.device
        points = torch.rand(shape, dtype=torch.float64, device=device, generator=generator)
        # The last bound can fall short of 1 by rounding.
        return torch.searchsorted(self.cumulative, points).clamp_(max=len(self.cumulative) - 1)

    def kept(self, words: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Which occurrences stay when frequent words are thinned out [n]; all on the host."""
        stays: NDArray[np.bool_] = rng.random(len(words), dtype=np.float32) < self.keep[words]
        return stays


def _refuse_empty(vocabulary: Vocabulary, keep: NDArray[np.float64], subsample: float) -> None:
    if not vocabulary.counts.any():
        raise UsageError(
            f"None of the {len(vocabulary)} words of the vocabulary occurs in the text, so there is nothing "
            "to learn from. Lower min_count, or use decontextual, which reads the words alone."
        )
    left = float(vocabulary.counts @ keep)
    if left < 1:
        raise UsageError(
            f"subsample={subsample:g} reduces the text to {left:.2g} words. Raise it, for example to 1e-5."
        )


def _distribution(counts: NDArray[np.generic], power: float) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.asarray(counts, dtype=np.float64) ** power
    if not weights.any():
        weights = np.ones(len(weights))
    distribution: NDArray[np.float64] = weights / weights.sum()
    return distribution
