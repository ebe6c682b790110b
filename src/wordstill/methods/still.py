"""``still``: wordstill's own method, a closed form of states, contexts, neighbors and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.settings import ADDED, Config, Range
from wordstill.errors import UsageError
from wordstill.methods.base import Method, RunContext, refuse_unseen
from wordstill.methods.blocks import ROWS_AT_ONCE, Block, Exponent, Mixture, Prior, Weight, frequent_words, shrunk_table
from wordstill.methods.sentence import LEAST_SENTENCES, Bags, observe_bags
from wordstill.methods.sentence_regression import Features, PriorTable, regress
from wordstill.methods.sums import RowSums
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors

USUAL_DIM = 256
USUAL_LOWER = 2
USUAL_PROMPT = "the meaning of {}"
SIDES = ("left", "right")


@dataclass(frozen=True)
class StillConfig(Config):
    """Settings of `Still`, chosen on development halves (experiments/results.md). A weight of 0 leaves a block out."""

    layer: int
    """Which layer's states."""
    dim: int | None = None
    """Size of the vectors; None takes 256. The first coordinates are the best, so a table can be cut later."""
    state_weight: Weight = 0.3
    """Weight of the word's own states."""
    state_exponent: Exponent = 0.08
    """How far they are whitened: 0 not at all, 0.5 wholly."""
    state_prior: Prior = 0.5
    """How many occurrences the guess from the isolated word counts for, in states."""
    isolated_weight: Weight = 0.3
    """Weight of the state of the isolated word: what the teacher knows of a name, whatever the text says of it."""
    isolated_exponent: Exponent = 0.15
    prompt: str = USUAL_PROMPT
    """A text in which the teacher reads every word once more, with ``{}`` in its place. Use one in the language of
    the text."""
    prompt_weight: Weight = 0.4
    """Weight of the mean state of the whole prompt: what the teacher makes of the word in a sentence of its own."""
    prompt_exponent: Exponent = 0.15
    lower: Annotated[int | None, Range(0, 1_000)] = None
    """A lower layer: its states say more about a word's form and grammar, so that analogies gain. None takes
    layer 2, or layer 1 below ``layer=2``; there is none below 1."""
    lower_weight: Weight = 0.65
    lower_exponent: Exponent = 0.2
    window: Annotated[int, Range(1, 1_000)] = 2
    """Words on each side that make up the narrow context."""
    window_weight: Weight = 0.42
    """Weight of the narrow context: more for relatedness."""
    window_exponent: Exponent = 0.35
    neighbor_layer: Annotated[int | None, Range(0, 1_000)] = None
    """Which layer's states of the one word to the left and the one to the right; None takes ``layer``."""
    neighbor_weight: Weight = 0.3
    """Weight of each of these two words: they carry the grammar and the facts that analogies ask for."""
    neighbor_exponent: Exponent = 0.3
    embedding_weight: Weight = 0.2
    """Weight of the input embeddings of each of these two words."""
    embedding_exponent: Exponent = 0.05
    context_prior: Prior = 2.0
    """How many occurrences the guess from the isolated word counts for, in everything around the word."""
    sentence_weight: Weight = 0.55
    """Weight of the vectors of `Sentence`, whose mean is the teacher's sentence vector. They also give the rows
    their lengths."""
    strength: Annotated[float, Range(0, 1e9, above=True)] = 0.03
    """How strongly the sentence regression holds rare words near their mean state."""
    exponent: Exponent = 0.05
    """How far the result is whitened."""
    sentence_prior: PriorTable = field(default="states", metadata=ADDED)
    """What the sentence regression holds rare words near: their mean states, or a table that is fitted to the
    sentences from mean states, isolated words and prompts. ``fitted`` is better for sentences if the text is short."""


class Still(Method):
    r"""What a teacher's states say about a word, in ten blocks: shrunk, whitened, mixed and reduced.

    For each word w with :math:`n_w` occurrences, block k has a mean :math:`\bar x^k_w`: of its states in the
    last layer, of its states in a low layer, of the two words on either side, of the word just before it and of
    the word just after it, of their input embeddings; and, not shrunk, the state of the isolated word, the mean
    state of the prompt with the word in it, and the word's row of `Sentence`. With
    :math:`\hat x^k_w` what a ridge regression, fitted on frequent words, expects of it from the isolated word:

    .. math::
        x^k_w = \frac{n_w \bar x^k_w + \kappa_k \hat x^k_w}{n_w + \kappa_k}, \qquad
        v_w = \ell_w\, \mathrm{unit}\Big(\Lambda^{-e} P^\top \big(\textstyle\bigoplus_k \lambda_k\,
        \mathrm{unit}(\Sigma_k^{-a_k} (x^k_w - \mu_k)) - m\big)\Big)

    Weights :math:`\lambda_k` of everything around the word shrink by :math:`n_w / (n_w + \kappa_k)`.
    :math:`\mu_k, \Sigma_k` are over frequent words; m, P and :math:`\Lambda` are mean, directions and
    variances of the concatenation over the 20,000 most frequent words. :math:`\ell_w` is the length of the
    word's row of `Sentence`, so that a plain mean of rows is a good sentence vector; it changes no cosine
    between words. Frequent words occur at least five times; if they are not more than the teacher's width, all
    words that occur are taken.

    Paper: none. Similarity wants the word's own states, relatedness and sentences the regression, analogies a
    low layer, the immediate neighbors and, for facts, the isolated word; all of them are sums of one pass. A
    prompt turns what a sentence encoder was trained for towards the word, most of all for rare ones.

    Inputs: running text, and every word of the vocabulary in isolation and in the prompt. Words that never occur
    get their expected vector. What all words share is taken away, so words with equal states get zeros.
    Cost: eleven tables of vocabulary x width float32, 8 bytes for each word of the text (up to 134 million;
    of a longer text every n-th paragraph is taken for the regression), one eigenvalue problem of ten
    times the width, and about 100 sparse products for the regression; no random numbers.
    Relations: `StillV1` mixes states and sentence contexts only; `Ase` is the first block without whitening.

    Folds and groups: the row of a part of the text has the part's own means in all blocks but three. The isolated
    word is the same everywhere, alone and in the prompt, and so is the row of `Sentence`: a regression over a part
    alone would be another map. Its length is the whole word's.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["still:dim=128"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "still.v5"
    purpose: ClassVar[str] = "words, analogies and sentences"
    least_sentences: ClassVar[int] = LEAST_SENTENCES
    config_type: ClassVar[type[StillConfig]] = StillConfig
    config: StillConfig

    def __init__(self, config: StillConfig, run: RunContext) -> None:
        super().__init__(config, run)
        self.check(config, run.width)
        refuse_unseen("still", run)
        self.lower = lower_layer(config)
        self.neighbor_layer = config.layer if config.neighbor_layer is None else config.neighbor_layer

        def sums() -> RowSums:
            return RowSums(len(run.vocabulary), run.width, run.device)

        self.states, self.isolated = sums(), sums()
        self.parts = {"states": self.states, "alone": self.isolated}
        self.below = self.isolated_below = self.windows = None
        self.sides: dict[str, RowSums] = {}
        self.bags: Bags | None = None
        if self.lower is not None:
            self.below, self.isolated_below = sums(), sums()
            self.parts |= {"lower": self.below, "alone_lower": self.isolated_below}
        if config.window_weight:
            self.windows = self.parts["windows"] = sums()
        if config.neighbor_weight:
            self.sides = {side: sums() for side in SIDES}
            self.parts |= self.sides
        self.prompted: RowSums | None = None
        if config.prompt_weight:
            self.prompted = self.parts["prompted"] = sums()
        self.embeddings: dict[str, RowSums] = {}
        if config.embedding_weight:
            self.embeddings = {f"{side}_embedding": sums() for side in SIDES}
            self.parts |= self.embeddings
        if config.sentence_weight:
            self.bags = self.parts["bags"] = Bags(len(run.vocabulary), run.width, run.device)
        around = ["windows"] * bool(config.window_weight) + [*self.sides, *self.embeddings]
        self.keep_cells("states", *(["lower"] if self.below is not None else []), *around)

    @classmethod
    def has_folds(cls, config: StillConfig) -> bool:
        """Yes; of a part of the text, everything but the sentence regression is its own."""
        return True

    @classmethod
    def check(cls, config: StillConfig, width: int) -> None:
        """Refuse a size that cannot be, and other layers above the one of the states."""
        if config.lower is not None and config.lower_weight and config.lower >= config.layer:
            raise UsageError(
                f"still:lower must be below the layer, {config.layer}; got {config.lower}. "
                "Set lower_weight=0 to leave it out."
            )
        if config.neighbor_layer is not None and config.neighbor_layer > config.layer:
            raise UsageError(
                f"still:neighbor_layer must be from 0 to the layer, {config.layer}; got {config.neighbor_layer}."
            )
        if config.prompt_weight and config.prompt.count("{}") != 1:
            raise UsageError(
                f"still:prompt must have {{}} once, where the word goes; got {config.prompt!r}. "
                "Set prompt_weight=0 to leave it out."
            )
        blocks = _n_blocks(config)
        if not blocks:
            raise UsageError("still: every weight is 0, so that nothing is left. Give one block a weight.")
        if config.dim is not None and not 1 <= config.dim <= blocks * width:
            times = f"{blocks} times the teacher's width"
            raise UsageError(f"still:dim must be from 1 to {blocks * width}, {times}; got {config.dim}.")

    @property
    def layers(self) -> tuple[int, ...]:
        """The layer of the settings, the lower one, and that of the neighbors."""
        beside = [self.neighbor_layer] if self.config.neighbor_weight else []
        beside += [0] if self.config.embedding_weight else []
        below = [] if self.lower is None else [self.lower]
        return tuple(sorted({*beside, *below, self.config.layer}))

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    @property
    def prompt(self) -> str | None:
        """The one of the settings, unless it has no weight."""
        return self.config.prompt if self.config.prompt_weight else None

    def observe(self, states: WordStates) -> None:
        """Add the states of words, and of what stands around them."""
        known, layer = states.known, self.config.layer
        self.add("states", states, states.words(layer), known)
        if self.below is not None and self.lower is not None:
            self.add("lower", states, states.words(self.lower), known)
        if self.windows is not None:
            reach = self.config.window
            self.add("windows", states, states.windows(layer, reach, reach, include_self=False, chosen=known))
        if self.sides:
            words, (before, after) = states.adjacent(self.neighbor_layer)
            self.add("left", states, words, before[known])
            self.add("right", states, words, after[known])
        if self.embeddings:
            words, (before, after) = states.adjacent(0)
            self.add("left_embedding", states, words, before[known])
            self.add("right_embedding", states, words, after[known])
        if self.bags is not None:
            observe_bags(self.bags, states, states.sentences(layer), self.run.words)

    def observe_isolated(self, states: WordStates) -> None:
        """Keep the states of words."""
        known = states.known
        ids = states.word_ids[known]
        self.isolated.add(ids, states.words(self.config.layer), known)
        if self.isolated_below is not None and self.lower is not None:
            self.isolated_below.add(ids, states.words(self.lower), known)

    def observe_prompted(self, states: WordStates) -> None:
        """Keep the mean states of prompts."""
        known = states.known
        if self.prompted is not None:
            sentences = states.sentences(self.config.layer)
            self.prompted.add(states.word_ids[known], sentences, states.word_sentence[known])

    def finish(self, provenance: Mapping[str, Any] | None = None, *, rows_at_once: int = ROWS_AT_ONCE) -> WordVectors:
        """Shrink, whiten, mix and reduce, block by block of words."""
        frequent = frequent_words(self.states.counts, self.isolated.counts, self.run.width)
        sentence = None if self.bags is None else self._sentence_rows(self.bags, frequent, rows_at_once)
        blocks = self.blocks(sentence)
        dim = min(USUAL_DIM, len(blocks) * self.run.width) if self.config.dim is None else self.config.dim
        mixture = Mixture(
            blocks,
            frequent,
            self.states.counts,
            dim,
            self.config.exponent,
            rows_at_once=rows_at_once // len(blocks) + 1,
        )
        self.lengths = None if sentence is None else torch.linalg.vector_norm(sentence.sums, dim=1)
        seen = (self.states.counts > 0) | (self.isolated.counts > 0)
        return self.table(mixture.table(), seen, provenance, mixture.cell_rows)

    def sentence_weights(self, vectors: Tensor) -> Tensor:
        """Lengths of the rows of the sentence regression, where there is one."""
        return super().sentence_weights(vectors) if self.lengths is None else self.lengths

    def state_block(self) -> Block:
        """The word's own states."""
        config = self.config
        return self._block("states", self.isolated, config.state_prior, config.state_exponent, config.state_weight)

    def blocks(self, sentence: RowSums | None) -> list[Block]:
        """What is mixed, given the rows of the sentence regression."""
        config = self.config
        blocks = [self.state_block()]
        blocks.append(Block(self.isolated, exponent=config.isolated_exponent, weight=config.isolated_weight))
        if self.prompted is not None:
            blocks.append(Block(self.prompted, exponent=config.prompt_exponent, weight=config.prompt_weight))
        low = self.isolated if self.isolated_below is None else self.isolated_below
        beside = self.isolated if self.neighbor_layer == config.layer else low
        if self.below is not None:
            blocks.append(self._block("lower", low, config.state_prior, config.lower_exponent, config.lower_weight))
        if self.windows is not None:
            weights = config.context_prior, config.window_exponent, config.window_weight
            blocks.append(self._block("windows", self.isolated, *weights, by_count=True))
        for side in self.sides:
            weights = config.context_prior, config.neighbor_exponent, config.neighbor_weight
            blocks.append(self._block(side, beside, *weights, by_count=True))
        for side in self.embeddings:
            weights = config.context_prior, config.embedding_exponent, config.embedding_weight
            blocks.append(self._block(side, low, *weights, by_count=True))
        if sentence is not None:
            blocks.append(Block(sentence, weight=config.sentence_weight))
        return [block for block in blocks if block.weight]

    def sentence_prior(self, shrunk: Tensor) -> Tensor | Features:
        """What the sentence regression starts from, given the shrunk states [V, width]."""
        if self.config.sentence_prior == "states":
            return shrunk
        isolated = [each.sums for each in (self.isolated, self.prompted) if each is not None]
        return Features([shrunk, *isolated], self.states.counts)

    def _block(
        self, part: str, isolated: RowSums, prior: float, exponent: float, weight: float, *, by_count: bool = False
    ) -> Block:
        sums = self.parts[part]
        assert isinstance(sums, RowSums)
        cells = None if self.cells is None else self.cells.parts[part]
        return Block(sums, isolated, prior, exponent, weight, by_count=by_count, cells=cells)

    def _sentence_rows(self, bags: Bags, frequent: Tensor, rows_at_once: int) -> RowSums:
        """The table of `Sentence`, as rows of one observation each."""
        shrunk = shrunk_table(self.state_block(), frequent, rows_at_once)
        rows = RowSums(len(shrunk), shrunk.shape[1], shrunk.device)
        rows.sums = regress(bags, self.sentence_prior(shrunk), self.config.strength).table
        rows.counts[:] = 1
        return rows


def lower_layer(config: StillConfig) -> int | None:
    """The lower layer, or None where it has no weight or there is none."""
    lower = min(USUAL_LOWER, config.layer - 1) or None if config.lower is None else config.lower
    return lower if config.lower_weight and lower is not None and 0 <= lower < config.layer else None


def _n_blocks(config: StillConfig) -> int:
    """How many blocks of the teacher's width stand side by side; those of both neighbors are two."""
    weights = (
        config.state_weight,
        config.isolated_weight,
        config.prompt_weight,
        config.window_weight,
        config.sentence_weight,
    )
    twice = (config.neighbor_weight, config.embedding_weight)
    return sum(map(bool, weights)) + (lower_layer(config) is not None) + 2 * sum(map(bool, twice))
