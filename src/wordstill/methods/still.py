"""``still``: wordstill's own method, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.errors import UsageError
from wordstill.methods.base import Method, Setup
from wordstill.methods.linear import centred, principal_directions, ridge, symmetric_power, unit_rows
from wordstill.methods.ranges import Range, check_ranges
from wordstill.methods.sums import Moments, RowSums, occurrences
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors

ROWS_AT_ONCE = 1 << 15
ENOUGH_OCCURRENCES = 5
COMMON_WORDS = 20_000
RIDGE = 0.01
PRIORS, EXPONENTS = Range(0, 1e15, above=True), Range(0, 1)
RANGES = {
    "context_weight": Range(0, 1e6),
    "state_exponent": EXPONENTS,
    "context_exponent": EXPONENTS,
    "state_prior": PRIORS,
    "context_prior": PRIORS,
}


@dataclass(frozen=True)
class StillConfig:
    """Settings of `Still`, chosen on development halves of similarity sets (docs/results.md)."""

    layer: int
    """Which layer's states."""
    dim: int | None = None
    """Size of the vectors; None takes the teacher's width, the most is twice that."""
    context_weight: float = 0.65
    """Weight of a frequent word's contexts against its states: more for relatedness, less for similarity."""
    state_exponent: float = 0.15
    """How far the states are whitened: 0 not at all, 0.5 wholly."""
    context_exponent: float = 0.35
    """How far the contexts are whitened."""
    state_prior: float = 0.5
    """How many occurrences the guess from the word alone counts for, in the states."""
    context_prior: float = 6.0
    """The same in the contexts."""

    def __post_init__(self) -> None:
        check_ranges(self, RANGES)


class Still(Method):
    r"""A word's mean state beside the mean of the sentences it stands in, shrunk, whitened and reduced.

    With :math:`\bar h_w` the mean state of a word over its :math:`n_w` occurrences, :math:`\bar c_w` the mean
    of the sentence means around it, and :math:`\hat h_w, \hat c_w` what a ridge regression, fitted on
    frequent words, expects of them from the word alone:

    .. math::
        x_w = \frac{n_w \bar h_w + \kappa_h \hat h_w}{n_w + \kappa_h}, \qquad
        y_w = \frac{n_w \bar c_w + \kappa_c \hat c_w}{n_w + \kappa_c}

    .. math::
        v_w = P^\top \left( \mathrm{unit}\big(\Sigma_h^{-a} (x_w - \mu_h)\big) \oplus
        \lambda_w\, \mathrm{unit}\big(\Sigma_c^{-b} (y_w - \mu_c)\big) - m \right), \qquad
        \lambda_w = \lambda \frac{n_w}{n_w + \kappa_c}

    :math:`\mu_h, \Sigma_h` are over frequent words, :math:`\mu_c, \Sigma_c` over occurrences; :math:`m` and
    :math:`P` are mean and principal directions of the concatenation over the 20,000 most frequent of them, so
    that a long tail of names does not decide what is kept. Frequent words occur at least five times; where
    these are not more than the teacher's width, all words that occur are taken.

    Paper: none; the second half is a near-solution of the objective of X2Static (Gupta and Jaggi 2021)
    without a gradient step: the mean context of a word, centred, times a power of the inverse covariance of
    contexts.

    Inputs: running text, and every word of the vocabulary alone. Words that never occur get their expected
    vector. What all words share is taken away, so words that cannot be told apart get zeros.
    Cost: three tables of vocabulary x width float32; three eigenvalue problems at the end; no random numbers.
    Relations: the first half without whitening and shrinkage is `Ase`; a word that never occurs has its
    `Decontextual` state mapped into the same space.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["still:dim=300"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "still.v1"
    config_type: ClassVar[type[StillConfig]] = StillConfig
    config: StillConfig

    def __init__(self, config: StillConfig, setup: Setup) -> None:
        super().__init__(config, setup)
        self.check(config, setup.width)
        if not setup.vocabulary.counts.any():
            raise UsageError(
                f"still learns from words in the text, and none of the {len(setup.vocabulary)} words of the "
                "vocabulary occurs in it. Lower min_count, or use decontextual, which reads the words alone."
            )
        rows, width, device = len(setup.vocabulary), setup.width, setup.device
        self.dim = width if config.dim is None else config.dim
        self.states = RowSums(rows, width, device)
        self.contexts = RowSums(rows, width, device)
        self.alone = RowSums(rows, width, device)
        self.spread = Moments(width, device)
        self.parts = {
            "states": self.states,
            "contexts": self.contexts,
            "alone": self.alone,
            "spread": self.spread,
        }

    @classmethod
    def check(cls, config: StillConfig, width: int) -> None:
        """Refuse a size that cannot be."""
        if config.dim is not None and not 1 <= config.dim <= 2 * width:
            raise UsageError(
                f"still:dim must be from 1 to {2 * width}, twice the teacher's width; got {config.dim}."
            )

    @property
    def layers(self) -> tuple[int, ...]:
        """The one layer of the settings."""
        return (self.config.layer,)

    def words_alone(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.setup.vocabulary), dtype=np.int64)

    def observe(self, states: WordStates) -> None:
        """Add the states of words and of the sentences they stand in."""
        known, layer = states.known, self.config.layer
        ids, sentence = states.word_ids[known], states.word_sentence[known]
        sentences = states.sentences(layer)
        self.states.add(ids, states.words(layer), known)
        self.contexts.add(ids, sentences, sentence)
        self.spread.add(sentences, occurrences(sentence, len(sentences)))

    def observe_alone(self, states: WordStates) -> None:
        """Keep the states of words."""
        known = states.known
        self.alone.add(states.word_ids[known], states.words(self.config.layer), known)

    def finish(self) -> WordVectors:
        """Shrink, whiten and reduce, block by block of words."""
        counts = self.states.counts
        frequent = self._frequent()
        halves = _Halves(self, frequent)
        joint = Moments(2 * self.setup.width, counts.device)
        common = _most_common(frequent, counts)
        for chosen in _chosen(common):
            joint.add(halves(chosen), torch.ones_like(chosen))
        centre, directions = joint.mean(), principal_directions(joint.covariance(), self.dim)
        vectors = torch.empty(len(counts), self.dim)
        for rows in _blocks(len(counts)):
            vectors[rows] = ((halves(rows) - centre) @ directions).float().cpu()
        return self.table(vectors, (counts > 0) | (self.alone.counts > 0))

    def _frequent(self) -> Tensor:
        """[V] which words means, covariances and the regression are fitted on."""
        readable = self.alone.counts > 0
        frequent = (self.states.counts >= ENOUGH_OCCURRENCES) & readable
        return frequent if int(frequent.sum()) > self.setup.width else (self.states.counts > 0) & readable


class _Halves:
    """Both halves of the vectors of some rows, before they are reduced."""

    def __init__(self, method: Still, frequent: Tensor) -> None:
        self.method, width = method, method.setup.width
        moments = Moments(3 * width, frequent.device)
        for rows in _chosen(frequent):
            moments.add(torch.cat(self._observed(rows), dim=1), torch.ones_like(rows))
        mean, covariance = moments.mean(), moments.covariance()
        both, alone = slice(0, 2 * width), slice(2 * width, None)
        self.alone_mean, self.expected_mean = mean[alone], mean[both]
        self.weights = ridge(covariance[alone, alone], covariance[alone, both], RIDGE)
        self.state_mean = mean[:width]
        self.context_mean = method.spread.mean()
        self.state_whitening = symmetric_power(covariance[:width, :width], -method.config.state_exponent)
        self.context_whitening = symmetric_power(method.spread.covariance(), -method.config.context_exponent)

    def __call__(self, rows: slice | Tensor) -> Tensor:
        """[rows, 2 x width] float64."""
        config, width = self.method.config, self.method.setup.width
        counts = self.method.states.counts[rows, None].double()
        readable = self.method.alone.counts[rows, None] > 0
        state, context, alone = self._observed(rows)
        deviation = torch.where(readable, centred(alone, self.alone_mean), 0.0)
        expected = self.expected_mean + deviation @ self.weights
        state = _shrink(state, expected[:, :width], counts, config.state_prior)
        context = _shrink(context, expected[:, width:], counts, config.context_prior)
        weights = config.context_weight * counts / (counts + config.context_prior)
        return torch.cat(
            [
                unit_rows(centred(state, self.state_mean) @ self.state_whitening),
                weights * unit_rows(centred(context, self.context_mean) @ self.context_whitening),
            ],
            dim=1,
        )

    def _observed(self, rows: slice | Tensor) -> list[Tensor]:
        """Mean state, mean context and state alone, each [rows, width] float64."""
        parts = (self.method.states, self.method.contexts, self.method.alone)
        return [part.pooled(rows).double() for part in parts]


def _most_common(frequent: Tensor, counts: Tensor) -> Tensor:
    """[V] which frequent words centre and directions are fitted on; words of equal count go together."""
    if int(frequent.sum()) <= COMMON_WORDS:
        return frequent
    least = torch.topk(torch.where(frequent, counts, 0), COMMON_WORDS).values[-1]
    return frequent & (counts >= least)


def _shrink(observed: Tensor, expected: Tensor, counts: Tensor, prior: float) -> Tensor:
    return (counts * observed + prior * expected) / (counts + prior)


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + ROWS_AT_ONCE, rows)) for start in range(0, rows, ROWS_AT_ONCE))


def _chosen(words: Tensor) -> tuple[Tensor, ...]:
    """Numbers of the words [V] that are named, block by block."""
    blocks: tuple[Tensor, ...] = torch.split(torch.nonzero(words).flatten(), ROWS_AT_ONCE)
    return blocks
