"""``still``: wordstill's own method, a closed form of states and contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.methods.base import Method, RunContext
from wordstill.methods.linear_algebra import centered, principal_directions, ridge, symmetric_power, unit_rows
from wordstill.methods.sums import Moments, RowSums, occurrences, row_blocks
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors

ROWS_AT_ONCE = 1 << 15
RIDGE = 0.01
ENOUGH_OCCURRENCES = 5
COMMON_WORDS = 20_000
Exponent: TypeAlias = Annotated[float, Range(0, 1)]
Prior: TypeAlias = Annotated[float, Range(0, 1e15, above=True)]


@dataclass(frozen=True)
class StillConfig(Config):
    """Settings of `Still`, chosen on development halves of similarity sets (experiments/results.md)."""

    layer: int
    """Which layer's states."""
    dim: int | None = None
    """Size of the vectors; None takes the teacher's width, the most is twice that, thrice with ``lower``."""
    context_weight: Annotated[float, Range(0, 1e6)] = 0.65
    """Weight of a frequent word's contexts against its states: more for relatedness, less for similarity."""
    state_exponent: Exponent = 0.15
    """How far the states are whitened: 0 not at all, 0.5 wholly."""
    context_exponent: Exponent = 0.35
    """How far the contexts are whitened."""
    state_prior: Prior = 0.5
    """How many occurrences the guess from the isolated word counts for, in the states."""
    context_prior: Prior = 6.0
    """The same in the contexts."""
    lower: Annotated[int | None, Range(0, 1_000)] = None
    """A lower layer whose states stand beside those of ``layer``: they say more of a word's form and grammar,
    so that analogies gain; none leaves them out."""
    lower_weight: Annotated[float, Range(0, 1e6)] = 1.0
    """Weight of its states against those of ``layer``."""

    @property
    def parts(self) -> int:
        """How many kinds of vectors stand side by side."""
        return 2 if self.lower is None else 3


class Still(Method):
    r"""A word's mean state beside the mean of the sentences it stands in, shrunk, whitened and reduced.

    With :math:`\bar h_w` the mean state of a word over its :math:`n_w` occurrences, :math:`\bar c_w` the mean
    of the sentence means around it, and :math:`\hat h_w, \hat c_w` what a ridge regression, fitted on
    frequent words, expects of them from the isolated word:

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
    these are not more than the teacher's width, all words that occur are taken. With ``lower`` the states of
    a lower layer, shrunk and whitened as :math:`x_w` is, stand beside both with a weight of their own.

    Paper: none; the second half is a near-solution of the objective of X2Static (Gupta and Jaggi 2021)
    without a gradient step: the mean context of a word, centered, times a power of the inverse covariance of
    contexts.

    Inputs: running text, and every word of the vocabulary in isolation. Words that never occur get their
    expected vector. What all words share is taken away, so words with equal states get zeros.
    Cost: three tables of vocabulary x width float32, four with ``lower``, which also keeps a model from being
    compiled on a GPU; three eigenvalue problems at the end, or four; no random numbers.
    Relations: the first half without whitening and shrinkage is `Ase`; a word that never occurs has its
    `Decontextual` state mapped into the same space.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["still:dim=300"])  # doctest: +SKIP
        >>> for_analogies = distill("corpus.txt", methods=["still:lower=1"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "still.v1"
    config_type: ClassVar[type[StillConfig]] = StillConfig
    config: StillConfig

    def __init__(self, config: StillConfig, run: RunContext) -> None:
        super().__init__(config, run)
        self.check(config, run.width)
        if not run.vocabulary.counts.any():
            raise UsageError(
                f"still learns from words in the text, and none of the {len(run.vocabulary)} words of the "
                "vocabulary occurs in it. Lower min_count, or use decontextual, which reads the words alone."
            )
        rows, width, device = len(run.vocabulary), run.width, run.device
        self.dim = width if config.dim is None else config.dim
        self.states = RowSums(rows, width, device)
        self.contexts = RowSums(rows, width, device)
        self.isolated = RowSums(rows, width, device)
        self.spread = Moments(width, device)
        self.parts = {"states": self.states, "contexts": self.contexts, "alone": self.isolated, "spread": self.spread}
        self.lower: RowSums | None = None
        if config.lower is not None:
            self.lower = self.parts["lower"] = RowSums(rows, width, device)

    @classmethod
    def check(cls, config: StillConfig, width: int) -> None:
        """Refuse a size that cannot be, and a lower layer that is not lower."""
        if config.lower is not None and config.lower >= config.layer:
            raise UsageError(f"still:lower must be below the layer, {config.layer}; got {config.lower}.")
        most = config.parts * width
        if config.dim is not None and not 1 <= config.dim <= most:
            times = f"{config.parts} times the teacher's width"
            raise UsageError(f"still:dim must be from 1 to {most}, {times}; got {config.dim}.")

    @property
    def layers(self) -> tuple[int, ...]:
        """The layer of the settings, and the lower one."""
        lower, layer = self.config.lower, self.config.layer
        return (layer,) if lower is None else (lower, layer)

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    def observe(self, states: WordStates) -> None:
        """Add the states of words and of the sentences they stand in."""
        known, layer = states.known, self.config.layer
        ids, sentence = states.word_ids[known], states.word_sentence[known]
        sentences = states.sentences(layer)
        self.states.add(ids, states.words(layer), known)
        self.contexts.add(ids, sentences, sentence)
        self.spread.add(sentences, occurrences(sentence, len(sentences)))
        if self.lower is not None:
            self.lower.add(ids, states.words(self.layers[0]), known)

    def observe_isolated(self, states: WordStates) -> None:
        """Keep the states of words."""
        known = states.known
        self.isolated.add(states.word_ids[known], states.words(self.config.layer), known)

    def finish(self, provenance: Mapping[str, Any] | None = None, *, rows_at_once: int = ROWS_AT_ONCE) -> WordVectors:
        """Shrink, whiten and reduce, block by block of words."""
        counts = self.states.counts
        frequent = self._frequent()
        parts = StillParts(self, frequent, rows_at_once)
        joint = Moments(self.config.parts * self.run.width, counts.device)
        common = _most_common(frequent, counts)
        for chosen in _blocks_of(common, rows_at_once):
            joint.add(parts(chosen), torch.ones_like(chosen))
        centre, directions = joint.mean(), principal_directions(joint.covariance(), self.dim)
        vectors = torch.empty(len(counts), self.dim)
        for rows in row_blocks(len(counts), rows_at_once):
            vectors[rows] = ((parts(rows) - centre) @ directions).float().cpu()
        return self.table(vectors, (counts > 0) | (self.isolated.counts > 0), provenance)

    def _frequent(self) -> Tensor:
        """[V] which words means, covariances and the regression are fitted on."""
        readable = self.isolated.counts > 0
        frequent = (self.states.counts >= ENOUGH_OCCURRENCES) & readable
        return frequent if int(frequent.sum()) > self.run.width else (self.states.counts > 0) & readable


@dataclass(frozen=True, eq=False)
class Part:
    """One kind of vector: how it is shrunk, centered, whitened and weighted."""

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
        rows_at_once: Size of the blocks that are in memory in float64.
    """

    def __init__(self, method: Still, frequent: Tensor, rows_at_once: int) -> None:
        self.method, self.width = method, method.run.width
        sums = [method.states, method.contexts, *([] if method.lower is None else [method.lower])]
        moments = Moments((len(sums) + 1) * self.width, frequent.device)
        for rows in _blocks_of(frequent, rows_at_once):
            observed = [each.pooled(rows).double() for each in (*sums, method.isolated)]
            moments.add(torch.cat(observed, dim=1), torch.ones_like(rows))
        mean, covariance = moments.mean(), moments.covariance()
        seen, isolated = slice(0, len(sums) * self.width), slice(len(sums) * self.width, None)
        self.isolated_mean, self.expected_mean = mean[isolated], mean[seen]
        self.weights = ridge(covariance[isolated, isolated], covariance[isolated, seen], RIDGE)
        self.parts = list(self._parts(mean, covariance))

    def __call__(self, rows: slice | Tensor) -> Tensor:
        """[rows, parts x width] float64."""
        method = self.method
        counts = method.states.counts[rows, None].double()
        readable = method.isolated.counts[rows, None] > 0
        deviation = centered(method.isolated.pooled(rows).double(), self.isolated_mean)
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
        yield Part(method.contexts, contexts, config.context_prior, context_mean, whitening, weight, by_count=True)
        if method.lower is not None:
            yield of_states(method.lower, lower, config.lower_weight)


def _blocks_of(words: Tensor, size: int) -> tuple[Tensor, ...]:
    """Ids of the words that a mask [V] names, block by block."""
    found: tuple[Tensor, ...] = torch.split(torch.nonzero(words).flatten(), size)
    return found


def _finished(part: Part, rows: slice | Tensor, counts: Tensor, expected: Tensor) -> Tensor:
    observed = part.sums.pooled(rows).double()
    shrunk = (counts * observed + part.prior * expected[:, part.expected]) / (counts + part.prior)
    vectors = unit_rows(centered(shrunk, part.mean) @ part.whitening)
    return vectors * (part.weight * (counts / (counts + part.prior) if part.by_count else 1.0))


def _most_common(frequent: Tensor, counts: Tensor) -> Tensor:
    """[V] which frequent words centre and directions are fitted on; words of equal count go together."""
    if int(frequent.sum()) <= COMMON_WORDS:
        return frequent
    least = torch.topk(torch.where(frequent, counts, 0), COMMON_WORDS).values[-1]
    return frequent & (counts >= least)
