"""Derivatives of every objective against autograd, in float64."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import logsigmoid

from wordstill.methods.learning.objectives import attended, pairwise, summed

QUERIES, POSITIVES, NEGATIVES = 5, 4, 3


def scores(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    positive = 2 * torch.randn(QUERIES, POSITIVES, dtype=torch.float64, generator=generator)
    negative = 2 * torch.randn(QUERIES, NEGATIVES, dtype=torch.float64, generator=generator)
    return positive, negative


def weights() -> tuple[torch.Tensor, torch.Tensor]:
    """Some slots are empty, one query has no positive at all, and some slots have other weights than 1."""
    present = torch.ones(QUERIES, POSITIVES, dtype=torch.float64)
    present[0, 1] = present[2, 3] = 0
    present[1] = 0
    present[3, 0], present[4, 1] = 0.5, 2.5
    drawn = torch.ones(QUERIES, NEGATIVES, dtype=torch.float64)
    drawn[4, 2] = 0
    drawn[0, 0] = 2
    return present, drawn


def plain_pairwise(positive, negative, present, drawn):
    return -(present * logsigmoid(positive)).sum() - (drawn * logsigmoid(-negative)).sum()


def plain_summed(positive, negative, present, drawn):
    total = -(drawn * logsigmoid(-negative)).sum()
    for query in range(QUERIES):
        if present[query].any():
            total = total - logsigmoid((present[query] * positive[query]).sum())
    return total


def plain_attended(positive, negative, present, drawn):
    total = -(drawn * logsigmoid(-negative)).sum()
    for query in range(QUERIES):
        filled = present[query] != 0
        own, weights = positive[query][filled], present[query][filled]
        if len(own):
            attention = weights * own.exp() / (weights * own.exp()).sum()
            total = total - logsigmoid((attention * own).sum())
    return total


OBJECTIVES = {
    "pairwise": (pairwise, plain_pairwise),
    "summed": (summed, plain_summed),
    "attended": (attended, plain_attended),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_equal_autograd(name, seed):
    fast, plain = OBJECTIVES[name]
    positive, negative = (each.requires_grad_() for each in scores(seed))
    expected = plain(positive, negative, *weights())
    expected.backward()
    found = fast(positive.detach(), negative.detach(), *weights())
    assert torch.allclose(found.total, expected.detach(), rtol=0, atol=1e-10)
    assert torch.allclose(found.positive, positive.grad, rtol=0, atol=1e-8)
    assert torch.allclose(found.negative, negative.grad, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_large_scores_stay_finite(name):
    fast, _ = OBJECTIVES[name]
    positive, negative = scores()
    found = fast(1e4 * positive, 1e4 * negative, *weights())
    assert all(bool(torch.isfinite(each).all()) for each in found)
