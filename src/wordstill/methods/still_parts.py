"""The vectors that `Still` sets side by side: means of states and contexts, shrunk and whitened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from wordstill.methods.linear import centred, ridge, symmetric_power, unit_rows
from wordstill.methods.sums import Moments, RowSums

if TYPE_CHECKING:
    from wordstill.methods.still import Still

ROWS_AT_ONCE = 1 << 15
RIDGE = 0.01


@dataclass(frozen=True, eq=False)
class Part:
    """One kind of vector: how it is shrunk, centred, whitened and weighted."""

    sums: RowSums
    expected: slice
    """Where its numbers stand among those that the regression expects."""
    prior: float
    mean: Tensor
    whitening: Tensor
    weight: float = 1.0
    by_count: bool = False
    """Whether the weight shrinks with the vector."""


class StillParts:
    """All parts of the vectors of some rows, before they are reduced.

    Args:
        method: What has been observed.
        frequent: The words that means, covariances and the regression are fitted on [V].
    """

    def __init__(self, method: Still, frequent: Tensor) -> None:
        self.method, self.width = method, method.setup.width
        sums = [method.states, method.contexts, *([] if method.lower is None else [method.lower])]
        moments = Moments((len(sums) + 1) * self.width, frequent.device)
        for rows in blocks_of(frequent):
            observed = [each.pooled(rows).double() for each in (*sums, method.alone)]
            moments.add(torch.cat(observed, dim=1), torch.ones_like(rows))
        mean, covariance = moments.mean(), moments.covariance()
        seen, alone = slice(0, len(sums) * self.width), slice(len(sums) * self.width, None)
        self.alone_mean, self.expected_mean = mean[alone], mean[seen]
        self.weights = ridge(covariance[alone, alone], covariance[alone, seen], RIDGE)
        self.parts = list(self._parts(mean, covariance))

    def __call__(self, rows: slice | Tensor) -> Tensor:
        """[rows, parts x width] float64."""
        method = self.method
        counts = method.states.counts[rows, None].double()
        readable = method.alone.counts[rows, None] > 0
        deviation = centred(method.alone.pooled(rows).double(), self.alone_mean)
        expected = self.expected_mean + torch.where(readable, deviation, 0.0) @ self.weights
        return torch.cat([_finished(part, rows, counts, expected) for part in self.parts], dim=1)

    def _parts(self, mean: Tensor, covariance: Tensor) -> Iterator[Part]:
        method, config = self.method, self.method.config
        states, contexts, lower = (slice(n * self.width, (n + 1) * self.width) for n in range(3))

        def of_states(sums: RowSums, place: slice, weight: float) -> Part:
            whitening = symmetric_power(covariance[place, place], -config.state_exponent)
            return Part(sums, place, config.state_prior, mean[place], whitening, weight)

        yield of_states(method.states, states, 1.0)
        whitening = symmetric_power(method.spread.covariance(), -config.context_exponent)
        context_mean, weight = method.spread.mean(), config.context_weight
        yield Part(
            method.contexts, contexts, config.context_prior, context_mean, whitening, weight, by_count=True
        )
        if method.lower is not None:
            yield of_states(method.lower, lower, config.lower_weight)


def blocks(rows: int) -> Iterator[slice]:
    """All rows of a table, block by block."""
    return (slice(start, min(start + ROWS_AT_ONCE, rows)) for start in range(0, rows, ROWS_AT_ONCE))


def blocks_of(words: Tensor) -> tuple[Tensor, ...]:
    """Numbers of the words [V] that are named, block by block."""
    found: tuple[Tensor, ...] = torch.split(torch.nonzero(words).flatten(), ROWS_AT_ONCE)
    return found


def _finished(part: Part, rows: slice | Tensor, counts: Tensor, expected: Tensor) -> Tensor:
    observed = part.sums.pooled(rows).double()
    shrunk = (counts * observed + part.prior * expected[:, part.expected]) / (counts + part.prior)
    vectors = unit_rows(centred(shrunk, part.mean) @ part.whitening)
    return vectors * (part.weight * (counts / (counts + part.prior) if part.by_count else 1.0))
