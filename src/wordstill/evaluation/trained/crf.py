"""A linear-chain conditional random field, exact and over whole batches.

The partition function is computed by the scaled forward algorithm (Rabiner 1989), so a step is a product with the
transition matrix. Its gradient is the marginals, from the backward algorithm: the recursion need not be recorded for
differentiation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class Crf(nn.Module):
    """Scores of transitions between tags, of the first tag and of the last.

    Args:
        tags: Number of tags.
    """

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(tags, tags).uniform_(-0.1, 0.1))
        self.start = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))

    def loss(self, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """The negative log-likelihood of tag sequences, (sentences,).

        Args:
            emissions: (sentences, words, tags).
            tags: (sentences, words), anything after the end of a sentence.
            lengths: (sentences,), at least 1 each; on the CPU, which then need not wait for a GPU.
        """
        there = lengths.to(emissions.device, non_blocking=True)
        weights = (self.transitions, self.start, self.end)
        total: Tensor = _LogPartition.apply(  # type: ignore[no-untyped-call]
            emissions, there, int(lengths.min()), *weights
        )
        return total - self._score(emissions, tags, there)

    def _score(self, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """The score of one tag sequence for each sentence."""
        inside = _inside(emissions, lengths)
        unary = emissions.gather(2, tags[:, :, None]).squeeze(2) * inside
        pairs = self.transitions[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]
        last = tags.gather(1, lengths[:, None] - 1).squeeze(1)
        return unary.sum(dim=1) + pairs.sum(dim=1) + self.start[tags[:, 0]] + self.end[last]

    @torch.no_grad()
    def decode(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """The best tag sequence of each sentence (Viterbi), (sentences, words); 0 after its end."""
        steps = emissions.transpose(0, 1)
        inside = _inside(emissions, lengths).T
        best = self.start + steps[0]
        origins = []
        for step in range(1, len(steps)):
            reached, origin = (best[:, :, None] + self.transitions).max(dim=1)
            origins.append(origin)
            best = torch.where(inside[step][:, None], reached + steps[step], best)
        tag = (best + self.end).argmax(dim=1)
        rows = [tag]
        for step in range(len(steps) - 1, 0, -1):
            # After the end of a sentence, its last tag is carried along.
            came = origins[step - 1].gather(1, tag[:, None]).squeeze(1)
            tag = torch.where(inside[step], came, tag)
            rows.append(tag)
        return torch.stack(rows[::-1], dim=1) * inside.T


class _LogPartition(torch.autograd.Function):
    """The logarithm of the partition function, (sentences,)."""

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, lengths: Tensor, shortest: int, transitions: Tensor, start: Tensor, end: Tensor
    ) -> Tensor:
        # Double precision: only the ratio of the largest to the smallest transition could underflow.
        scores = emissions.transpose(0, 1).double()
        highest = scores.amax(dim=2, keepdim=True)
        weights = (scores - highest).exp()  # (words, sentences, tags)
        inside = _inside(emissions, lengths).T  # (words, sentences)
        step_matrix, step_shift = _exponential(transitions)
        first, first_shift = _exponential(start)
        last, last_shift = _exponential(end)
        forwards: list[Tensor] = []
        scales: list[Tensor] = []
        current = first * weights[0]
        for step, weight in enumerate(weights.unbind()):
            if step:
                current = (forwards[-1] @ step_matrix) * weight
            if step >= shortest:
                current = torch.where(inside[step][:, None], current, forwards[-1])
            scale = current.sum(dim=1, keepdim=True)
            forwards.append(current / scale)
            scales.append(scale)
        final = forwards[-1] @ last
        factors = torch.stack(scales)
        total = ((factors.log() + highest).squeeze(2) * inside).sum(dim=0)
        total = total + final.log() + (lengths - 1) * step_shift + first_shift + last_shift
        ctx.shortest = shortest
        ctx.save_for_backward(
            weights, inside, lengths, step_matrix, last / final[:, None], torch.stack(forwards), factors
        )
        return total.to(emissions.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weights, inside, lengths, step_matrix, ends, forwards, factors = ctx.saved_tensors
        scaled = (weights / factors).unbind()
        onwards = step_matrix.T
        backwards, arrivals = [ends], []
        for step in range(len(scaled) - 1, 0, -1):
            arrivals.append(scaled[step] * backwards[-1])
            before = arrivals[-1] @ onwards
            if step >= ctx.shortest:
                before = torch.where(inside[step][:, None], before, backwards[-1])
            backwards.append(before)
        marginals = forwards * torch.stack(backwards[::-1]) * inside[:, :, None]
        share = gradient.double()
        unary = marginals * share[:, None]
        pairs = torch.zeros_like(step_matrix)
        if arrivals:
            departures = forwards[:-1] * share[:, None] * inside[1:, :, None]
            pairs = step_matrix * torch.einsum("lbi,lbj->ij", departures, torch.stack(arrivals[::-1]))
        last = unary[lengths - 1, torch.arange(len(lengths), device=lengths.device)]
        dtype = gradient.dtype
        return (
            unary.transpose(0, 1).to(dtype),
            None,
            None,
            pairs.to(dtype),
            unary[0].sum(dim=0).to(dtype),
            last.sum(dim=0).to(dtype),
        )


def _inside(emissions: Tensor, lengths: Tensor) -> Tensor:
    """Which positions are words, (sentences, words)."""
    return torch.arange(emissions.shape[1], device=lengths.device) < lengths[:, None]


def _exponential(scores: Tensor) -> tuple[Tensor, Tensor]:
    """The exponentials of scores minus the highest, and the highest."""
    highest = scores.double().max()
    return (scores.double() - highest).exp(), highest
