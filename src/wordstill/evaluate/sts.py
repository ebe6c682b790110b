"""Semantic similarity of sentences that are made of static vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import MissingExtra
from wordstill.evaluate.items import FEWEST_ITEMS, Items
from wordstill.evaluate.loaded import Loaded
from wordstill.evaluate.lookup import Lookup, unit
from wordstill.evaluate.outcome import POINTS, make_score, points
from wordstill.evaluate.protocol import ABSENT, Protocol, resolve
from wordstill.evaluate.readers.sentences import SentencePairs
from wordstill.evaluate.score import Coverage, Part, Score
from wordstill.evaluate.statistics import Floats

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
SIF_WEIGHT = 1e-3
DECIMALS = 12


class StsTask:
    """The mean over sub-corpora of Pearson's correlation between cosines of sentences and human scores.

    A sentence is the mean of the vectors of its words, or SIF of Arora et al. 2017: weights a / (a + p) with
    a = 0.001 and p the word's share of the counts, less the common component of the set's sentences. A table
    without counts is taken to be in the order of frequency, p being proportional to one over the rank.

    Args:
        dataset: The name of a set of the registry, the path of an own file of sentences, or a loaded set.
    """

    kind = "sts"
    metric = "pearson"

    def __init__(self, dataset: str | Path | Loaded[SentencePairs]) -> None:
        self.dataset = Loaded[SentencePairs].load(dataset, self.kind)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.dataset.name

    def words(self) -> tuple[str, ...]:
        """The words of all sentences."""
        content = self.dataset.content
        texts = (*content.first, *content.second)
        return tuple(dict.fromkeys(word for text in texts for word in WORD.findall(text)))

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
        items = Items("pearson", predicted, content.gold, content.corpus, weighted=weighted)
        coverage = Coverage(int((sentences.known[:pairs] & sentences.known[pairs:]).sum()), pairs)
        parts = (*_parts(items, content.corpora), _known_words(sentences))
        origin = self.dataset.origin(self.kind, self.metric, protocol)
        return make_score(origin, items, coverage, _problem(coverage, items), seed, parts)


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
        """Make the vectors of sentences."""
        try:
            from scipy.sparse import csr_matrix
        except ImportError as error:
            raise MissingExtra("scipy", "eval", "Scoring sentences") from error
        tokens = [WORD.findall(text) for text in texts]
        found = Lookup.of((word for words in tokens for word in words), vectors, protocol)
        columns = found.numbers(word for words in tokens for word in words)
        lengths = np.array([len(words) for words in tokens], dtype=np.int64)
        rows = np.repeat(np.arange(len(tokens)), lengths)
        weights = _weights(found, vectors, protocol)
        shape = (len(tokens), len(found.place))
        spread = csr_matrix((weights[columns] * found.usable[columns], (rows, columns)), shape=shape)
        sums = np.asarray(spread @ found.matrix)
        usable = np.bincount(rows, found.usable[columns], len(tokens)) > 0
        known = np.bincount(rows, found.known[columns], len(tokens)) > 0
        # What the sum is divided by changes no cosine, but it does change the common component.
        counted = np.bincount(rows, found.usable[columns], len(tokens))
        matrix = sums / np.maximum(counted, 1)[:, None]
        if protocol.sentence == "sif":
            matrix = _without_common(matrix, usable)
        return cls(matrix, known, usable, int(found.known[columns].sum()), len(columns))


def _weights(found: Lookup, vectors: WordVectors, protocol: Protocol) -> Floats:
    if protocol.sentence == "mean":
        return np.ones(len(found.place))
    rows = protocol.rows(found.place, vectors)
    counts = 1 / np.arange(1, len(vectors) + 1) if vectors.counts is None else vectors.counts
    shares = np.asarray(counts, dtype=np.float64) / max(float(np.sum(counts)), 1e-300)
    # A word that the table lacks is taken to be as rare as its rarest.
    frequency = np.where(rows == ABSENT, shares.min(initial=1.0), shares[np.maximum(rows, 0)])
    weights: Floats = SIF_WEIGHT / (SIF_WEIGHT + frequency)
    return weights


def _without_common(matrix: Floats, usable: NDArray[np.bool_]) -> Floats:
    """Rows less their projection on the first singular direction of the usable ones."""
    if not usable.any():
        return matrix
    _, directions = np.linalg.eigh(matrix[usable].T @ matrix[usable])
    common = directions[:, -1]
    return matrix - np.outer(matrix @ common, common)


def _parts(items: Items, corpora: tuple[str, ...]) -> list[Part]:
    assert items.gold is not None and items.groups is not None
    parts = []
    for number, name in enumerate(corpora):
        chosen = items.groups == number
        predicted = np.where(chosen, items.predicted, np.nan)
        for statistic in ("pearson", "spearman"):
            figure = Items(statistic, predicted, items.gold)
            parts.append(Part(name, statistic, points(figure.value()), int(figure.scored.sum())))
    return parts


def _known_words(sentences: SentenceVectors) -> Part:
    share = sentences.words_known / max(1, sentences.words_total)
    return Part("running words known", "share", POINTS * share, sentences.words_total)


def _problem(coverage: Coverage, items: Items) -> str | None:
    if coverage.used == 0:
        return f"none of the {coverage.total} pairs has a known word in both sentences"
    if np.isnan(items.value()):
        return f"no sub-corpus has {FEWEST_ITEMS} covered pairs, or all cosines or scores of one are the same"
    return None
