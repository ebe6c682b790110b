"""``sentence``: word vectors whose plain mean is the teacher's vector of the sentence, in closed form."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import ranges
from wordstill.core.settings import Config, Range
from wordstill.errors import DataError, UsageError
from wordstill.methods.base import Method, RunContext, refuse_unseen
from wordstill.methods.blocks import Block, Prior, frequent_words, shrunk_table
from wordstill.methods.sums import Accumulator, RowSums, occurrences
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors

COLUMNS_AT_ONCE = 32
"""Columns are solved side by side, a block at a time, so that memory grows with sentences x 32, not x width."""
TOLERANCE = 1e-6
"""With steps left to go, conjugate gradients amplify the rounding of sums ten thousandfold; the solution does not."""
MOST_STEPS = 200
TOGETHER = 512
"""So many of the most frequent words stand beside each other in nearly every sentence."""
JITTER = 1e-10
FIRST_CAPACITY = 1 << 16
LEAST_SENTENCES = 20
"""Of a text for a regression."""
BYTES_PER_WORD = 8
BYTES_TO_SORT = 88
"""For each word: eleven arrays of eight bytes are there at once in `_design`."""
MOST_WORDS = 1 << 27
"""Words whose sentences are kept; a regression on more gains nothing that a paragraph in n does not show."""


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
        """Make room for a saved state, which may hold more or less text."""
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
        """Bytes of the pairs in both orders while the second is sorted, and of the room that they leave free."""
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
        """Take away the sums, and for each sentence of the other one the last one here with the same words."""
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
        """Refuse: the words of sentences cannot be made a secret by leaving rare ones out."""
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
    """[S] a number for the words of each sentence, whatever their order; 0 for a sentence without any."""
    words = state["words"].cpu().numpy().astype(np.uint64) + np.uint64(1)
    # The finalizer of splitmix64, so that a sum of numbers is as good as random.
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
        words: Words of the whole text. Of one with more than ``most_words`` every n-th paragraph is taken.
        most_words: Words that are kept at most.
    """
    known = states.known
    every = -(-words // most_words)
    if every > 1:
        # Chosen by the paragraph's number, so that neither order nor batches matter.
        paragraph = states.to_device(states.batch.source_ids)[states.batch.sentence_text[states.word_sentence[known]]]
        known = known[paragraph % every == 0]
    bags.add(states.word_ids[known], states.word_sentence[known], vectors)


@dataclass(frozen=True)
class Solution:
    """Rows of a regression, and how well they do."""

    table: Tensor
    """[V, width]."""
    steps: int
    residual: float
    """Norm of the last residual over that of the first."""


def regress(
    bags: Bags,
    start: Tensor,
    strength: float,
    *,
    columns_at_once: int = COLUMNS_AT_ONCE,
    together: int = TOGETHER,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> Solution:
    r"""Rows V that minimize :math:`\sum_s |t_s - V^\top x_s|^2 + \lambda |V - a V_0|^2`.

    Conjugate gradients on the normal equations, preconditioned by the diagonal and the Gram matrix of the most frequent
    words; every column is a system of its own. In float64 and nearly to the end, or the same text read in another order
    would give another table.
    :math:`a` scales the prior table so that its means fit best.

    Args:
        bags: What was observed.
        start: The prior table :math:`V_0` [V, width].
        strength: :math:`\lambda`. A word of few occurrences stays near its prior row.
        columns_at_once: Columns that are solved side by side.
        together: How many of the most frequent words are solved for together before every step.
        tolerance: Stop when the residual is so small a part of the first.
        most_steps: Stop after so many steps anyway.
    """
    design = _design(bags, len(start))
    blocks = [slice(at, at + columns_at_once) for at in range(0, start.shape[1], columns_at_once)]
    scale = _best_scale(design, bags, start, blocks)
    condition = _Condition(design, strength, together, columns_at_once)
    table, steps, worst = torch.empty_like(start, dtype=torch.float32), 0, 0.0
    for columns in blocks:
        targets, prior = bags.targets.sums[:, columns].double(), scale * start[:, columns].double()
        rows, taken, residual = _solve(design, condition, targets, prior, strength, tolerance, most_steps)
        table[:, columns] = rows.float()
        steps, worst = max(steps, taken), max(worst, residual)
    return Solution(table, steps, worst)


class _Design(NamedTuple):
    """X, its transpose, and the diagonal of its Gram matrix."""

    words_of: Tensor
    sentences_of: Tensor
    diagonal: Tensor

    def gram(self, rows: Tensor) -> Tensor:
        """[V, c] the rows times X'X."""
        return self.sentences_of @ (self.words_of @ rows)


def _design(bags: Bags, rows: int) -> _Design:
    words, sentences = bags.words[: bags.size].long(), bags.sentences[: bags.size].long()
    lengths = occurrences(sentences, bags.n_sentences).clamp(min=1)
    share = 1.0 / lengths.double()
    diagonal = torch.zeros(rows, dtype=torch.float64, device=words.device).index_add_(0, words, share[sentences] ** 2)
    by_sentence, by_word = torch.argsort(sentences, stable=True), torch.argsort(words, stable=True)
    return _Design(
        _sparse(sentences[by_sentence], words[by_sentence], share[sentences[by_sentence]], bags.n_sentences, rows),
        _sparse(words[by_word], sentences[by_word], share[sentences[by_word]], rows, bags.n_sentences),
        diagonal,
    )


def _sparse(rows: Tensor, columns: Tensor, values: Tensor, height: int, width: int) -> Tensor:
    """A matrix of numbers whose rows are sorted; a number that stands twice counts twice."""
    starts = torch.zeros(height + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(occurrences(rows, height), dim=0, out=starts[1:])
    with warnings.catch_warnings():
        # torch says of every such matrix that they are new.
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(starts, columns, values, (height, width))


def _best_scale(design: _Design, bags: Bags, start: Tensor, blocks: list[slice]) -> float:
    fitted = squared = 0.0
    for columns in blocks:
        rows = start[:, columns].double()
        means = design.words_of @ rows
        fitted += float((rows * bags.targets.sums[:, columns].double()).sum())
        squared += float((means * means).sum())
    return fitted / squared if squared > 0 else 1.0


class _Condition:
    r"""Solves :math:`X'X + \lambda` as if only the most frequent words stood beside each other."""

    def __init__(self, design: _Design, strength: float, together: int, columns_at_once: int) -> None:
        self.inverse = 1 / (design.diagonal + strength)[:, None]
        self.words = torch.topk(design.diagonal, min(together, len(design.diagonal))).indices
        count, device = len(self.words), design.diagonal.device
        gram = strength * torch.eye(count, dtype=torch.float64, device=device)
        for start in range(0, count, columns_at_once):
            words = self.words[start : start + columns_at_once]
            alone = torch.zeros(len(design.diagonal), len(words), dtype=torch.float64, device=device)
            alone[words, torch.arange(len(words), device=device)] = 1
            gram[:, start : start + len(words)] += design.gram(alone)[self.words]
        # With little strength, words that only stand together would make it singular to rounding.
        gram.diagonal().mul_(1 + JITTER)
        self.factor = torch.linalg.cholesky(gram)

    def __call__(self, rows: Tensor) -> Tensor:
        """[V, c] of the same."""
        solved = self.inverse * rows
        solved[self.words] = torch.cholesky_solve(rows[self.words], self.factor)
        return solved


def _solve(
    design: _Design,
    condition: Callable[[Tensor], Tensor],
    targets: Tensor,
    prior: Tensor,
    strength: float,
    tolerance: float,
    most_steps: int,
) -> tuple[Tensor, int, float]:
    table = prior.clone()
    residual = targets - design.gram(table)
    towards = condition(residual)
    direction, product = towards.clone(), (residual * towards).sum(dim=0)
    first = left = float(product.sum())
    steps = 0
    while steps < most_steps and left > first * tolerance**2:
        image = design.gram(direction) + strength * direction
        length = product / (direction * image).sum(dim=0).clamp(min=1e-30)
        table += length * direction
        residual -= length * image
        towards = condition(residual)
        after = (residual * towards).sum(dim=0)
        direction = towards + after / product.clamp(min=1e-30) * direction
        product, left, steps = after, float(after.sum()), steps + 1
    return table, steps, (left / first) ** 0.5 if first > 0 else 0.0


@dataclass(frozen=True)
class SentenceConfig(Config):
    """Settings of `Sentence`, chosen on development halves (experiments/results.md)."""

    layer: int
    """Which layer's states."""
    target: Literal["mean", "first", "last", "own"] = "mean"
    """What of the teacher is the sentence's vector: the mean of its states, or the state of the first or the
    last subword, special tokens included; ``own`` is what the model was trained to pool, if it says so."""
    strength: Annotated[float, Range(0, 1e9, above=True)] = 0.01
    """How strongly a word is held near its mean state: less for sentences, more (0.3) for single words."""
    state_prior: Prior = 0.5
    """How many occurrences the guess from the isolated word counts for."""


class Sentence(Method):
    r"""Ridge regression of the teacher's sentence vectors on bags of words.

    With :math:`t_s` the unit vector of sentence s, :math:`x_s` its bag of known words divided by their number,
    and :math:`V_0` the table of mean states, shrunk as in `Still` and scaled to fit:

    .. math:: \min_V \; \sum_s |t_s - V^\top x_s|^2 + \lambda\, |V - V_0|^2

    Rows keep their lengths: they say how much a word matters in a sentence. A plain mean of rows is the
    sentence vector.

    Paper: none; model2vec's tokenlearn trains towards a like objective step by step.

    Inputs: running text, and every word of the vocabulary in isolation. Words that never occur get what their
    isolated state lets one expect. Sentences are what the teacher reads as sentences, whatever the unit.
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
        """Add the states of words, and the sentences they stand in."""
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
        prior = shrunk_table(Block(self.states, self.isolated, self.config.state_prior), frequent)
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
