"""Loss functions of the learners, with their gradients with respect to every score, and negative sampling.

Scores are inner products of a query (made from the teacher's states) with rows of the table, so gradients with respect
to scores are all that `RowTable` needs. B queries, P positive and N negative slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from wordstill.corpus import Vocabulary
from wordstill.errors import UsageError


class Losses(NamedTuple):
    """A loss summed over a batch, and its derivatives."""

    attraction: Tensor
    """The loss of the positives."""
    repulsion: Tensor
    """The loss of the negatives."""
    positive: Tensor
    """[B, P] derivative with respect to each positive score."""
    negative: Tensor
    """[B, N] derivative with respect to each negative score."""

    @property
    def total(self) -> Tensor:
        """The whole loss."""
        return self.attraction + self.repulsion


@dataclass(frozen=True)
class PairwiseRule:
    """Settings of a `pairwise` loss, for a kernel."""

    weight: float
    """Weight of each negative."""
    mask_accidental_hits: bool
    """Skip negatives that are a positive of the example."""
    per_window: bool = False
    """Multiply the weight of negatives by the sum of the weights of the example's positives."""
    attraction: float = 1.0
    """Factor of the loss of the positives."""
    repulsion: float = 1.0
    """Factor of the loss of the negatives."""


@dataclass(frozen=True)
class WindowRule:
    """Settings of a loss with one score for a whole window, for a kernel."""

    objective: str
    """``summed``, ``attended`` or ``attended-held``."""
    clip: float | None
    """Maximum norm of all gradients of a step together."""
    semantic: float = 1.0
    """Factor of the loss of the positives."""
    contrastive: float = 1.0
    """Factor of the loss of the negatives."""
    contextualised: float = 0.0
    """Factor of the loss of a query with itself."""


def pairwise(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    r"""Logistic loss of each slot, with negatives (X2Static, Eq. 1; skip-gram).

    .. math:: \sum_p m_p \log(1 + e^{-s_p}) + \sum_n m_n \log(1 + e^{s_n})

    Args:
        positive: Scores [B, P].
        negative: Scores [B, N].
        present: Weight of each positive slot [B, P]; 0 if it is empty.
        drawn: Weight of each negative slot [B, N]; 0 if it is empty.
    """
    attraction = (present * softplus(-positive)).sum()
    return _with_negatives(attraction, -present * torch.sigmoid(-positive), negative, drawn)


def summed(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    r"""Logistic loss of the sum of a query's positive scores, with negatives (Context-to-Vec, Eq. 5).

    .. math:: \log(1 + e^{-\sum_p m_p s_p}) + \sum_n m_n \log(1 + e^{s_n})
    """
    score = (present * positive).sum(dim=1, keepdim=True)
    any_present = (present != 0).any(dim=1, keepdim=True).to(score.dtype)
    attraction = (any_present * softplus(-score)).sum()
    return _with_negatives(attraction, -present * torch.sigmoid(-score), negative, drawn)


def attended(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    r"""Logistic loss of a query's positive scores averaged by attention, with negatives (BERT + skip-gram, Eq. 13-15).

    .. math:: a_p \propto m_p e^{s_p}, \quad S = \sum_p a_p s_p, \quad
              \log(1 + e^{-S}) + \sum_n m_n \log(1 + e^{s_n})

    The inner product of the query with the weighted sum of rows is the weighted sum of scores, so the sum of rows is
    never computed. Gradients flow through the weights: a positive that scores more than 1 below S is pushed away.
    """
    return _attended(positive, negative, present, drawn, held=False)


def attended_held(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    """`attended` with the weights held constant in a step, so that every positive is attracted."""
    return _attended(positive, negative, present, drawn, held=True)


def _attended(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor, *, held: bool) -> Losses:
    # The logarithm of an empty slot's weight is minus infinity.
    masked = positive + present.log()
    any_present = (present != 0).any(dim=1, keepdim=True)
    weights = torch.where(any_present, masked, 0.0).softmax(dim=1) * any_present
    score = (weights * positive).sum(dim=1, keepdim=True)
    slopes = weights if held else weights * (1 + positive - score)
    attraction = (any_present * softplus(-score)).sum()
    return _with_negatives(attraction, -torch.sigmoid(-score) * slopes, negative, drawn)


def _with_negatives(attraction: Tensor, positive: Tensor, negative: Tensor, drawn: Tensor) -> Losses:
    return Losses(attraction, (drawn * softplus(negative)).sum(), positive, drawn * torch.sigmoid(negative))


NoiseSource = Literal["counts", "subsampled"]


class NegativeSampler:
    """Samples negatives from the vocabulary, and subsamples frequent targets.

    Args:
        vocabulary: The words and their counts.
        power: Power of the counts.
        source: ``counts``, or ``subsampled`` for the counts after subsampling, which at power 1 give every word as many
            negatives as positives.
        subsample: Subsampling threshold.
        device: Where negatives are sampled.

    Attributes:
        keep: Probability that subsampling keeps an occurrence of each word [V], on the host.
        expected_positives: Expected number of kept occurrences in an epoch [V].
        cumulative: Cumulative distribution of negatives [V].

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
        """[V] the score at which a word is as likely a positive as its share of negatives implies."""
        return -(self._log_ratio + float(np.log(negatives)))

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Independent samples of word ids."""
        device = self.cumulative.device
        points = torch.rand(shape, dtype=torch.float64, device=device, generator=generator)
        # The last bound can be below 1 by rounding.
        return torch.searchsorted(self.cumulative, points).clamp_(max=len(self.cumulative) - 1)

    def kept(self, words: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Which occurrences subsampling keeps [n]; on the host."""
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
