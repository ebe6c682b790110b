"""Reconstruction and cross-reconstruction (Arase & Kajiwara 2021, Eq. 1 to 3).

For a word in a sentence (h), a positive (p: the same meaning in another context) and a negative (n: another
word in the same context) each vector to reconstruct is the mean of the word's layers, and a reconstruction is
the mean of a meaning and a context:

    L = |h - (h_m + h_c)/2|² + |p - (p_m + p_c)/2|² + |n - (n_m + n_c)/2|²
      + |p - (h_m + p_c)/2|² + |h - (p_m + h_c)/2|² + |n - (n_m + h_c)/2|² + |h - (h_m + n_c)/2|²

each divided by the width and averaged over the batch. Without negatives the three terms with n are left out,
and a meaning that is the same for all words makes the rest zero: the degenerate solution.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from wordstill.meaning.distiller import Distillers
from wordstill.meaning.representation import layer_mean

ROLES = ("original", "positive", "negative")


class Parts(NamedTuple):
    """The two distilled vectors of some words [n, width] each, and what they should reconstruct."""

    meaning: Tensor
    context: Tensor
    target: Tensor


def distil(distillers: Distillers, triples: Tensor) -> list[Parts]:
    """Distil triples [n, roles, layers, width] in one go; one entry for each role."""
    states = distillers.scaled(triples.transpose(0, 1).flatten(0, 1))
    count = len(triples)
    whole = (distillers.meaning(states), distillers.context(states), layer_mean(states))
    return [Parts(*parts) for parts in zip(*(torch.split(vectors, count) for vectors in whole))]


def loss(original: Parts, positive: Parts, negative: Parts | None = None) -> Tensor:
    """The sum of all terms; without a negative, those of the ablation."""
    total = (
        _error(original, original, original)
        + _error(positive, positive, positive)
        + _error(positive, original, positive)
        + _error(original, positive, original)
    )
    if negative is None:
        return total
    return (
        total
        + _error(negative, negative, negative)
        + _error(negative, negative, original)
        + _error(original, original, negative)
    )


def _error(target: Parts, meaning: Parts, context: Parts) -> Tensor:
    """Mean squared error of reconstructing one word from the meaning of one and the context of another."""
    reconstruction = (meaning.meaning + context.context) / 2
    return (target.target - reconstruction).square().mean()
