"""Loss functions of the learners: each gives the loss and its gradient with respect to every score.

Scores are inner products of a query (what the teacher says) with rows of the table, so a gradient with
respect to a score is all that `RowTable` needs. B queries, P positive and N negative slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus


class Losses(NamedTuple):
    """A loss summed over a batch, and its derivatives."""

    attraction: Tensor
    """The part of the positives."""
    repulsion: Tensor
    """The part of the negatives."""
    positive: Tensor
    """[B, P] by each positive score."""
    negative: Tensor
    """[B, N] by each negative score."""

    @property
    def total(self) -> Tensor:
        """Both parts."""
        return self.attraction + self.repulsion


@dataclass(frozen=True)
class PairwiseRule:
    """Settings of a `pairwise` loss that a kernel computes."""

    weight: float
    """Of each negative."""
    mask_accidental_hits: bool
    """Leave out negatives that are a positive of the example."""
    per_window: bool = False
    """Multiply the weight of negatives by the sum of the weights of the example's positives."""
    attraction: float = 1.0
    """Factor of the part of the positives."""
    repulsion: float = 1.0
    """Factor of the part of the negatives."""


def pairwise(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    r"""Every slot for itself: logistic loss with negatives (X2Static, Eq. 1; skip-gram).

    .. math:: \sum_p m_p \log(1 + e^{-s_p}) + \sum_n m_n \log(1 + e^{s_n})

    Args:
        positive: Scores [B, P].
        negative: Scores [B, N].
        present: Weight of each positive slot [B, P], 0 where it is empty.
        drawn: Weight of each negative slot [B, N], 0 where it is empty.
    """
    attraction = (present * softplus(-positive)).sum()
    return _with_negatives(attraction, -present * torch.sigmoid(-positive), negative, drawn)


def summed(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    r"""All positives of a query in one score (Context-to-Vec, Eq. 5).

    .. math:: \log(1 + e^{-\sum_p m_p s_p}) + \sum_n m_n \log(1 + e^{s_n})
    """
    score = (present * positive).sum(dim=1, keepdim=True)
    any_present = (present != 0).any(dim=1, keepdim=True).to(score.dtype)
    attraction = (any_present * softplus(-score)).sum()
    return _with_negatives(attraction, -present * torch.sigmoid(-score), negative, drawn)


def attended(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    r"""Positives of a query weighted by attention into one score (BERT + skip-gram, Eq. 13-15).

    .. math:: a_p \propto m_p e^{s_p}, \quad S = \sum_p a_p s_p, \quad
              \log(1 + e^{-S}) + \sum_n m_n \log(1 + e^{s_n})

    The inner product of the query with the weighted sum of rows is the weighted sum of scores, so the sum of
    rows is never made. Gradients flow through the weights: a positive that scores more than 1 below S is pushed away.
    """
    return _attended(positive, negative, present, drawn, held=False)


def attended_held(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor) -> Losses:
    """The same, but weights are held constant in a step, so that every positive is pulled."""
    return _attended(positive, negative, present, drawn, held=True)


def _attended(positive: Tensor, negative: Tensor, present: Tensor, drawn: Tensor, *, held: bool) -> Losses:
    # An empty slot has the logarithm minus infinity.
    masked = positive + present.log()
    any_present = (present != 0).any(dim=1, keepdim=True)
    weights = torch.where(any_present, masked, 0.0).softmax(dim=1) * any_present
    score = (weights * positive).sum(dim=1, keepdim=True)
    slopes = weights if held else weights * (1 + positive - score)
    attraction = (any_present * softplus(-score)).sum()
    return _with_negatives(attraction, -torch.sigmoid(-score) * slopes, negative, drawn)


def _with_negatives(attraction: Tensor, positive: Tensor, negative: Tensor, drawn: Tensor) -> Losses:
    return Losses(attraction, (drawn * softplus(negative)).sum(), positive, drawn * torch.sigmoid(negative))
