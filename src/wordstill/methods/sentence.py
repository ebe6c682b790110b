"""``sentence``: word vectors whose plain mean approximates the teacher's sentence vector, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import ranges
from wordstill.core.settings import ADDED, Config, Range
from wordstill.errors import DataError, UsageError
from wordstill.methods.base import Method, RunContext, refuse_unseen
from wordstill.methods.blocks import Block, Prior, frequent_words, shrunk_table
from wordstill.methods.sentence_regression import Features, PriorTable, regress
from wordstill.methods.sums import Accumulator, RowSums, occurrences
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors

FIRST_CAPACITY = 1 << 16
LEAST_SENTENCES = 20
"""Minimum number of sentences for a regression."""
BYTES_PER_WORD = 8
BYTES_TO_SORT = 88
"""Bytes per word while sorting: `_design` has eleven arrays of eight bytes at a time."""
MOST_WORDS = 1 << 27
"""Maximum number of words whose sentences are kept; more would not improve the regression noticeably."""


class Bags:
    r"""The known words of every sentence, and the sum of sentence vectors for each word.

    With :math:`x_{sw}` the share of word w among the words of sentence s, and :math:`t_s` the vector of the
    sentence, it keeps :math:`X` as pairs of numbers and :math:`X^\top T`: all that the regression needs, so
    that no sentence vector is stored. Memory: 8 bytes for each word, and one table of rows x width float32.
    """

    def __init__(self, rows: int, width: int, device: torch.device) -> None:
        self.targets = RowSums(rows, width, device)
        self.words = torch.empty(FIRST_CAPACITY, dtype=torch.int32, device=device)
        self.sentences = torch.empty_like(self.words)
        self.size = self.n_sentences = 0

    def add(self, words: Tensor, sentences: Tensor, vectors: Tensor) -> None:
        """Observe sentences.

        Args:
            words: Row of each known word [K].
            sentences: Number of its sentence [K].
            vectors: The sentences [S, width], of any length; those without a known word do not count.
        """
        lengths = occurrences(sentences, len(vectors)).clamp(min=1)
        unit = torch.nn.functional.normalize(vectors.float(), dim=1)
        self.targets.add(words, unit / lengths[:, None], sentences)
        end = self.size + len(words)
        self._grow(end)
        self.words[self.size : end] = words
        self.sentences[self.size : end] = sentences + self.n_sentences
        self.size, self.n_sentences = end, self.n_sentences + len(vectors)

    def state_dict(self) -> dict[str, Tensor]:
        """Sums, their counts, the pairs and the number of sentences."""
        return {
            **self.targets.state_dict(),
            "words": self.words[: self.size],
            "sentences": self.sentences[: self.size],
            "n_sentences": torch.tensor([self.n_sentences]),
        }

    def resize_for(self, state: dict[str, Tensor]) -> None:
        """Resize for a saved state with more or less text."""
        if {"words", "n_sentences"} <= state.keys():
            self.size, self.n_sentences = len(state["words"]), int(state["n_sentences"])
            self._grow(self.size)

    def memory(self) -> int:
        """Bytes of the pairs."""
        return BYTES_PER_WORD * self.size

    def memory_after(self, words: int) -> int:
        """Bytes of the pairs of a text, if all its words are known."""
        return BYTES_PER_WORD * min(words, MOST_WORDS)

    def memory_to_finish(self, words: int) -> int:
        """Bytes of the pairs in both orders while they are sorted, including spare capacity."""
        return (BYTES_TO_SORT + BYTES_PER_WORD) * min(words, MOST_WORDS)

    def merge(self, other: Accumulator) -> None:
        """Add the sums and append the sentences."""
        theirs = other.state_dict()
        self.targets.merge(other)
        end = self.size + len(theirs["words"])
        self._grow(end)
        self.words[self.size : end] = theirs["words"]
        self.sentences[self.size : end] = theirs["sentences"] + self.n_sentences
        self.size, self.n_sentences = end, self.n_sentences + int(theirs["n_sentences"])

    def widen(self) -> None:
        """Keep the sums in float64."""
        self.targets.widen()

    def narrow(self) -> None:
        """Go back to float32."""
        self.targets.narrow()

    def subtract(self, other: Accumulator) -> None:
        """Subtract the sums, and remove for each sentence of the other the last one here with the same words."""
        theirs = other.state_dict()
        self.targets.subtract(other)
        mine = self.state_dict()
        keys, wanted = _bag_keys(mine), _bag_keys(theirs)
        taken = np.zeros(self.n_sentences, dtype=bool)
        order = np.argsort(keys, kind="stable")
        distinct, counts = np.unique(wanted, return_counts=True)
        ends = np.searchsorted(keys[order], distinct, side="right")
        if bool((ends - np.searchsorted(keys[order], distinct) < counts).any()):
            raise DataError("sentences would be taken away that are not there")
        taken[order[ranges(ends - counts, counts)]] = True
        kept = ~taken
        pairs = torch.from_numpy(kept)[mine["sentences"].long().cpu()].to(self.words.device)
        number = torch.from_numpy(np.cumsum(kept) - 1).to(self.words.device, torch.int32)
        words, sentences = mine["words"][pairs], number[mine["sentences"][pairs].long()]
        self.size, self.n_sentences = len(words), int(kept.sum())
        self.words[: self.size], self.sentences[: self.size] = words, sentences

    def forget(self, rows: Tensor) -> None:
        """Refuse: sentences would still reveal the text without rare words."""
        raise UsageError("the words of every sentence are kept, from which text can be read")

    def _grow(self, size: int) -> None:
        if size <= len(self.words):
            return
        capacity = max(size, 2 * len(self.words))
        for name in ("words", "sentences"):
            old: Tensor = getattr(self, name)
            new = torch.empty(capacity, dtype=old.dtype, device=old.device)
            new[: len(old)] = old
            setattr(self, name, new)


def _bag_keys(state: dict[str, Tensor]) -> NDArray[np.uint64]:
    """[S] an order-independent hash of the words of each sentence; 0 for a sentence without words."""
    words = state["words"].cpu().numpy().astype(np.uint64) + np.uint64(1)
    # The finalizer of splitmix64, so that sums of hashes are well distributed.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    words ^= words >> np.uint64(31)
    keys = np.zeros(int(state["n_sentences"]), dtype=np.uint64)
    np.add.at(keys, state["sentences"].cpu().numpy(), words)
    return keys


def observe_bags(bags: Bags, states: WordStates, vectors: Tensor, words: int, most_words: int = MOST_WORDS) -> None:
    """Add the sentences of a batch.

    Args:
        bags: Where they are added.
        states: The batch.
        vectors: A vector for each of its sentences [S, width].
        words: Words of the whole text. If there are more than ``most_words``, only every n-th paragraph is used.
        most_words: Maximum number of words to keep.
    """
    known = states.known
    every = -(-words // most_words)
    if every > 1:
        # Chosen by the paragraph's index, so that neither order nor batches matter.
        paragraph = states.to_device(states.batch.source_ids)[states.batch.sentence_text[states.word_sentence[known]]]
        known = known[paragraph % every == 0]
    bags.add(states.word_ids[known], states.word_sentence[known], vectors)


@dataclass(frozen=True)
class SentenceConfig(Config):
    """Settings of `Sentence`, chosen on development halves (experiments/results.md)."""

    layer: int
    """Which layer's states."""
    target: Literal["mean", "first", "last", "own"] = "mean"
    """The teacher's sentence vector: the mean state, or the state of the first or last subword, including special
    tokens; ``own`` is the pooling that the model was trained with, if it declares one."""
    strength: Annotated[float, Range(0, 1e9, above=True)] = 0.01
    """How strongly a word is held near its mean state: less for sentences, more (0.3) for single words."""
    state_prior: Prior = 0.5
    """Weight of the prediction from the isolated word, in occurrences."""
    prior: PriorTable = field(default="states", metadata=ADDED)
    """What words are held near: their mean states, or a table that is fitted to the sentences from mean states and
    isolated words. ``fitted`` is better for sentences if the text is short."""


class Sentence(Method):
    r"""Ridge regression of the teacher's sentence vectors on bags of words.

    With :math:`t_s` the unit vector of sentence s, :math:`x_s` its bag of known words divided by their number,
    and :math:`V_0` the table of mean states, shrunk as in `Still` and scaled to fit:

    .. math:: \min_V \; \sum_s |t_s - V^\top x_s|^2 + \lambda\, |V - V_0|^2

    With ``prior=fitted``, :math:`V_0` is fitted to the sentences from shrunk states and isolated words; see
    `sentence_regression.Features`. Rows keep their lengths, which weight the words of a sentence. A plain mean of rows
    is the sentence vector.

    Paper: none; model2vec's tokenlearn has a similar objective, trained by gradient descent.

    Inputs: running text, and every word of the vocabulary in isolation. Words that never occur get the vector
    predicted from their isolated state. Sentences are those of the text, even if the teacher reads paragraphs.
    Cost: three tables of vocabulary x width float32, 8 bytes for each word of the text, and about 100 sparse
    products at the end; no sentence vector is stored. Exact, mergeable, no random numbers.
    Relations: with an infinite ``strength`` it is `Ase`, shrunk. `Still` has its rows as one block.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["sentence"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "sentence.v2"
    purpose: ClassVar[str] = "sentences as plain means"
    least_sentences: ClassVar[int] = LEAST_SENTENCES
    config_type: ClassVar[type[SentenceConfig]] = SentenceConfig
    config: SentenceConfig

    def __init__(self, config: SentenceConfig, run: RunContext) -> None:
        super().__init__(config, run)
        refuse_unseen("sentence", run)
        if config.target == "own":
            raise UsageError("The teacher says what its own pooling is: pass target=teacher.pooling.")
        rows, width, device = len(run.vocabulary), run.width, run.device
        self.states, self.isolated = RowSums(rows, width, device), RowSums(rows, width, device)
        self.bags = Bags(rows, width, device)
        self.parts = {"states": self.states, "alone": self.isolated, "bags": self.bags}

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    def observe(self, states: WordStates) -> None:
        """Add the states of words and their sentences."""
        known, layer = states.known, self.config.layer
        self.states.add(states.word_ids[known], states.words(layer), known)
        observe_bags(self.bags, states, self._targets(states), self.run.words)

    def observe_isolated(self, states: WordStates) -> None:
        """Keep the states of words."""
        known = states.known
        self.isolated.add(states.word_ids[known], states.words(self.config.layer), known)

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """Solve the regression."""
        frequent = frequent_words(self.states.counts, self.isolated.counts, self.run.width)
        shrunk = shrunk_table(Block(self.states, self.isolated, self.config.state_prior), frequent)
        fitted = self.config.prior == "fitted"
        prior = Features([shrunk, self.isolated.sums], self.states.counts) if fitted else shrunk
        vectors = regress(self.bags, prior, self.config.strength).table
        return self.table(vectors, (self.states.counts > 0) | (self.isolated.counts > 0), provenance)

    def sentence_weights(self, vectors: Tensor) -> Tensor:
        """Their own lengths."""
        lengths: Tensor = torch.linalg.vector_norm(vectors, dim=1)
        return lengths

    def _targets(self, states: WordStates) -> Tensor:
        """[S, width]."""
        if self.config.target == "mean":
            return states.sentences(self.config.layer)
        texts, owner = states.batch.text_offsets, states.batch.sentence_text
        places = texts[owner] if self.config.target == "first" else texts[owner + 1] - 1
        return states.hidden[self.config.layer][places]
