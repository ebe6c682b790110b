"""Similarity of words and of sentences (STS): correlations of cosines with human scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.sentence_sets import SentencePairs, read_own_sentences
from wordstill.evaluation.data.similarity_sets import WordPairs, read_own_pairs
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.score import (
    FEWEST_ITEMS,
    POINTS,
    Coverage,
    ItemScores,
    Part,
    Score,
    correlation_problem,
    make_score,
    points,
)
from wordstill.evaluation.statistics import Floats
from wordstill.evaluation.tasks.base import Task
from wordstill.vectors.search import unit
from wordstill.vectors.sentences import (
    WordTokenizer,
    common_directions,
    sentence_means,
    sif_weights,
    without_directions,
    word_frequencies,
)

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

DECIMALS = 12
SIF_WEIGHT = 1e-3


class SimilarityTask(Task[WordPairs]):
    """Spearman's correlation between cosines and human scores."""

    kind = "similarity"
    metric = "spearman"
    needs = (WordPairs.holds,)
    own_reader = staticmethod(read_own_pairs)

    def words(self) -> tuple[str, ...]:
        """The words of all pairs."""
        return (*self.dataset.content.first, *self.dataset.content.second)

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; the seed is that of the bootstrap interval."""
        protocol = resolve(protocol)
        found = self._lookup(vectors, protocol)
        pairs = self.dataset.content
        keys = tuple("\t".join(sorted((a.lower(), b.lower()))) for a, b in zip(pairs.first, pairs.second))
        items = ItemScores("spearman", self._cosines(found, protocol), pairs.gold, keys=keys)
        coverage = Coverage(int(self._both(found, found.known).sum()), len(self.dataset.content))
        return make_score(self.source(protocol), items, coverage, correlation_problem(coverage, items, protocol), seed)

    def similarities(self, vectors: WordVectors, protocol: str | Protocol = "default") -> Floats:
        """The cosine of every pair of the set, NaN for skipped pairs, shape (pairs,)."""
        protocol = resolve(protocol)
        return self._cosines(self._lookup(vectors, protocol), protocol)

    def _lookup(self, vectors: WordVectors, protocol: Protocol) -> Lookup:
        return Lookup.of(self.words(), vectors, protocol, split=True)

    def _both(self, found: Lookup, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which pairs have two marked words, shape (pairs,)."""
        pairs = self.dataset.content
        both: NDArray[np.bool_] = marked[found.numbers(pairs.first)] & marked[found.numbers(pairs.second)]
        return both

    def _cosines(self, found: Lookup, protocol: Protocol) -> Floats:
        pairs, unit = self.dataset.content, found.unit()
        first, second = unit[found.numbers(pairs.first)], unit[found.numbers(pairs.second)]
        # Rounded so that cosines that differ in the last bit are ties.
        cosines: Floats = np.round(np.einsum("pd,pd->p", first, second), DECIMALS)
        left_out = 0.0 if protocol.oov == "zero" else np.nan
        return np.where(self._both(found, found.usable), cosines, left_out)


class StsTask(Task[SentencePairs]):
    """The mean over sub-corpora of Pearson's correlation between cosines of sentences and human scores.

    Sentences are split and averaged as by `wordstill.vectors.sentences.SentenceEncoder`: the mean of the word vectors,
    or SIF with a = 0.001, minus the common component of the set's sentences.
    """

    kind = "sts"
    metric = "pearson"
    needs = (SentencePairs.holds,)
    own_reader = staticmethod(read_own_sentences)

    def words(self) -> tuple[str, ...]:
        """The words of all sentences."""
        content = self.dataset.content
        texts = (*content.first, *content.second)
        return tuple(dict.fromkeys(word for text in texts for word in WordTokenizer().tokenize(text)))

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; the seed is that of the bootstrap interval, which is over pairs of sentences."""
        protocol = resolve(protocol)
        content = self.dataset.content
        sentences = SentenceVectors.of((*content.first, *content.second), vectors, protocol)
        unit_rows, pairs = unit(sentences.matrix), len(content)
        cosines = np.round(np.einsum("pd,pd->p", unit_rows[:pairs], unit_rows[pairs:]), DECIMALS)
        both = sentences.usable[:pairs] & sentences.usable[pairs:]
        predicted = np.where(both, cosines, 0.0 if protocol.oov == "zero" else np.nan)
        weighted = protocol.average == "pairs"
        items = ItemScores("pearson", predicted, content.gold, content.corpus, weighted=weighted)
        coverage = Coverage(int((sentences.known[:pairs] & sentences.known[pairs:]).sum()), pairs)
        parts = (*_parts(items, content.corpora), _known_words(sentences))
        return make_score(self.source(protocol), items, coverage, _problem(coverage, items), seed, parts)


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """Vectors of sentences."""

    matrix: Floats
    """Shape (sentences, dim)."""
    known: NDArray[np.bool_]
    """Whether the table has any word of a sentence."""
    usable: NDArray[np.bool_]
    """Whether any word of a sentence has a vector under the protocol."""
    words_known: int
    """Running words that the table has."""
    words_total: int

    @classmethod
    def of(cls, texts: Sequence[str], vectors: WordVectors, protocol: Protocol) -> SentenceVectors:
        """The vectors of some sentences."""
        split, protocol = splitting(vectors, protocol)
        tokens = [split(text) for text in texts]
        found = Lookup.of((word for words in tokens for word in words), vectors, protocol)
        weights = np.ones(len(found.place))
        if protocol.sentence == "sif":
            weights = sif_weights(word_frequencies(vectors), protocol.rows(found.place, vectors), SIF_WEIGHT)
        means = sentence_means(tokens, found.place, found.matrix, weights, found.usable)
        usable, matrix = means.used > 0, means.matrix
        if protocol.sentence == "sif":
            matrix = without_directions(matrix, common_directions(matrix[usable], 1))
        columns = found.numbers(word for words in tokens for word in words)
        sentences = np.repeat(np.arange(len(tokens)), means.words)
        known = np.bincount(sentences, found.known[columns], len(tokens)) > 0
        return cls(matrix, known, usable, int(found.known[columns].sum()), len(columns))


def splitting(vectors: WordVectors, protocol: Protocol) -> tuple[Callable[[str], Sequence[str]], Protocol]:
    """The function that splits sentences for a table, and the protocol for looking their words up.

    Tokens of a table's own tokenizer are looked up as they are, whatever the protocol says about case.
    """
    if vectors.tokenizer is not None:
        return vectors.tokenizer.tokenize, replace(protocol, case="exact")
    return WordTokenizer(vectors.words[: protocol.limit(vectors)], protocol.forms).tokenize, protocol


def _parts(items: ItemScores, corpora: tuple[str, ...]) -> list[Part]:
    assert items.gold is not None and items.groups is not None
    parts = []
    for number, name in enumerate(corpora):
        chosen = items.groups == number
        predicted = np.where(chosen, items.predicted, np.nan)
        for statistic in ("pearson", "spearman"):
            part = ItemScores(statistic, predicted, items.gold)
            parts.append(Part(name, statistic, points(part.value()), int(part.scored.sum())))
    return parts


def _known_words(sentences: SentenceVectors) -> Part:
    share = sentences.words_known / max(1, sentences.words_total)
    return Part("running words known", "share", POINTS * share, sentences.words_total)


def _problem(coverage: Coverage, items: ItemScores) -> str | None:
    if coverage.used == 0:
        return f"none of the {coverage.total} pairs has a known word in both sentences"
    if np.isnan(items.value()):
        return f"no sub-corpus has {FEWEST_ITEMS} covered pairs, or all cosines or scores of one are the same"
    return None
