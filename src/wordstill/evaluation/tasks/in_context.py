"""Tasks for words in context, and for sentences made of them: WiC, USim, SCWS, CoSimLex, STS, PAWS.

They score an encoder, not a table. The encoder reads each text once and gives vectors of several representations, which
are the tables of the evaluation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.context_sets import ContextPair, ContextParts, WordInContext
from wordstill.evaluation.data.sentence_sets import ParaphraseParts, SentencePairs
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.score import Coverage, ItemScores, Part, Score, correlation_problem, make_score, points
from wordstill.evaluation.statistics import Floats, pearson, spearman
from wordstill.evaluation.tasks.base import Content, DatasetTask

Unit = Literal["subwords", "words"]
Vectors = Mapping[str, NDArray[np.float32]]
"""Unit vectors [n, dim] by representation; zeros for anything without a subword."""
Mask = NDArray[np.bool_]
Scores = dict[str, dict[str, Score]]
"""By representation, then by the row of the report."""

PAPER_GRID = np.arange(101) / 100
"""The thresholds that Arase & Kajiwara 2021 try."""
PAIRS_AT_ONCE = 512


class ContextEncoder(Interface):
    """Gives vectors of words in context; each text is read once for all representations."""

    @property
    def names(self) -> Sequence[str]:
        """The representations."""
        ...

    def occurrences(self, occurrences: Sequence[WordInContext]) -> tuple[Vectors, Mask]:
        """Vectors of words, and which of them the tokenizer keeps [n]."""
        ...

    def words(self, texts: Sequence[str]) -> tuple[list[list[str]], Vectors, NDArray[np.int64]]:
        """The words of each text that have subwords, the vectors of all, and their offsets [texts + 1]."""
        ...

    def sentences(self, texts: Sequence[str], unit: Unit) -> tuple[Vectors, Mask]:
        """Means over the words or subwords of texts, and which texts have any [n]."""
        ...


@dataclass(frozen=True)
class ContextProtocol(Protocol):
    """How a sentence vector is made, and how many pairs of sentences are read."""

    name: str = "default"
    unit: Unit = "subwords"
    """What is averaged for a sentence: ``subwords``, as in Arase & Kajiwara 2021, or ``words``."""
    max_pairs: int | None = None
    """Maximum pairs of each sentence task, for a quick look; None takes all."""

    covered = "items whose words the tokenizer keeps"

    def describe(self, tasks: object = ()) -> str:
        """The rules in a few sentences."""
        sentences = [
            "Pairs with a word that the tokenizer drops are excluded from correlations and count as different "
            "where a threshold decides.",
            "The threshold is the one that is best on the development part.",
            f"A sentence is the mean of the vectors of its {self.unit}.",
        ]
        if self.max_pairs is not None:
            sentences.append(f"At most {self.max_pairs:,} pairs of each sentence task are read.")
        return " ".join(sentences)


def context_protocol(unit: Unit = "subwords", max_pairs: int | None = None) -> ContextProtocol:
    """The protocol with these rules; its name says which are not the defaults."""
    changed = {"unit": unit, "max_pairs": max_pairs}
    rules = [f"{key}={value}" for key, value in changed.items() if value != getattr(ContextProtocol, key)]
    return ContextProtocol(f"default with {', '.join(rules)}" if rules else "default", unit=unit, max_pairs=max_pairs)


class Row(NamedTuple):
    """The items of one score of a representation."""

    representation: str
    items: ItemScores
    found: Mask
    """Which items are covered."""
    parts: tuple[Part, ...] = ()
    name: str | None = None
    """Of the row in the report, if not that of the set."""


class ContextTask(DatasetTask[Content]):
    """Scores the representations of an encoder on one data set."""

    @abstractmethod
    def rows(self, encoder: ContextEncoder, protocol: ContextProtocol) -> Iterator[Row]:
        """The items of the scores of all representations."""

    def run(self, encoder: ContextEncoder, protocol: ContextProtocol, seed: int = 0) -> Scores:
        """Score all representations; the seed is that of the bootstrap interval."""
        scores: Scores = {name: {} for name in encoder.names}
        for row in self.rows(encoder, protocol):
            scores[row.representation][row.name or self.name] = self._score(row, protocol, seed)
        return scores

    def _score(self, row: Row, protocol: ContextProtocol, seed: int) -> Score:
        items, coverage = row.items, Coverage(int(row.found.sum()), len(row.found))
        problem = None if coverage.used else f"none of the {coverage.total} pairs is covered"
        if items.gold is not None and items.groups is None:
            problem = correlation_problem(coverage, items, protocol)
        metric = items.statistic if items.gold is not None else self.metric
        source = self.source(protocol)._replace(dataset=row.name or self.name, metric=metric)
        return make_score(source, items, coverage, problem, seed, row.parts)


class PairCosines(NamedTuple):
    """Cosines of pairs by representation, human ratings, and which pairs have both sides."""

    cosines: dict[str, Floats]
    gold: Floats
    found: Mask

    @classmethod
    def of(cls, vectors: Vectors, found: Mask, gold: Floats) -> PairCosines:
        """Of the first half of the vectors with the second."""
        half = len(gold)
        cosines = {
            name: np.einsum("nd,nd->n", matrix[:half], matrix[half:]).astype(np.float64)
            for name, matrix in vectors.items()
        }
        return cls(cosines, gold, found[:half] & found[half:])

    def kept(self, name: str, otherwise: float = np.nan) -> Floats:
        """The cosines of a representation, with another value for pairs that lack a side."""
        return np.where(self.found, self.cosines[name], otherwise)


class ContextPairsTask(ContextTask[ContextParts]):
    """Spearman's correlation between cosines of occurrences and human scores (USim, SCWS)."""

    kind = "context-pairs"
    metric = "spearman"
    needs = (ContextParts.holds,)

    def rows(self, encoder: ContextEncoder, protocol: ContextProtocol) -> Iterator[Row]:
        """One row each, over all pairs."""
        pairs = word_cosines(encoder, self.dataset.content.parts["all"])
        for name in encoder.names:
            yield Row(name, ItemScores("spearman", pairs.kept(name), pairs.gold), pairs.found)


class ContextSensesTask(ContextTask[ContextParts]):
    """Accuracy on pairs of one sense or two (WiC), with the threshold that is best on the development part."""

    kind = "context-senses"
    metric = "accuracy"
    needs = (ContextParts.holds,)

    def rows(self, encoder: ContextEncoder, protocol: ContextProtocol) -> Iterator[Row]:
        """One row each, over the test part; ``grid`` takes thresholds of the paper only."""
        dev, test = (word_cosines(encoder, self.dataset.content.parts[part]) for part in ("dev", "test"))
        for name in encoder.names:
            known, asked = dev.kept(name, -1.0), test.kept(name, -1.0)
            right, grid = (
                correct(asked, test.gold, best_threshold(known, dev.gold, tried)) for tried in (None, PAPER_GRID)
            )
            part = Part("grid", self.metric, points(float(grid.mean())), len(grid))
            yield Row(name, ItemScores("mean", right), test.found, (part,))


class ContextChangeTask(ContextTask[ContextParts]):
    """Word pairs in two contexts (CoSimLex): the change of similarity (1), and the similarity in both contexts (2).

    As in Arase & Kajiwara 2021, 1 is Pearson's correlation and 2 is Spearman's over all contexts. The parts
    ``official`` are those of the shared task: the uncentered correlation, and the harmonic mean of Pearson's and
    Spearman's.
    """

    kind = "context-change"
    metric = "pearson"
    needs = (ContextParts.holds,)

    def rows(self, encoder: ContextEncoder, protocol: ContextProtocol) -> Iterator[Row]:
        """Two rows each."""
        parts = self.dataset.content.parts
        one, two = (word_cosines(encoder, parts[part]) for part in ("context1", "context2"))
        both = one.found & two.found
        twice = np.concatenate([both, both])
        for name in encoder.names:
            first, second = one.cosines[name], two.cosines[name]
            change = ItemScores("pearson", np.where(both, second - first, np.nan), two.gold - one.gold)
            official = _official("uncentered pearson", change, uncentered_pearson)
            yield Row(name, change, both, (official,), f"{self.name}-1")
            every = np.where(twice, np.concatenate([first, second]), np.nan)
            stacked = ItemScores("spearman", every, np.concatenate([one.gold, two.gold]))
            official = _official("harmonic mean", stacked, harmonic_correlation)
            yield Row(name, stacked, twice, (official,), f"{self.name}-2")


class ContextStsTask(ContextTask[SentencePairs]):
    """The mean over sub-corpora of Pearson's correlation between cosines of sentences and human scores."""

    kind = "context-sts"
    metric = "pearson"
    needs = (SentencePairs.holds,)

    def rows(self, encoder: ContextEncoder, protocol: ContextProtocol) -> Iterator[Row]:
        """One row each; the part ``weighted`` weights sub-corpora by their pairs."""
        data = thinned(self.dataset.content, protocol.max_pairs)
        pairs = sentence_cosines(encoder, data, protocol.unit)
        for name in encoder.names:
            items = ItemScores("pearson", pairs.kept(name), pairs.gold, data.corpus)
            weighted = replace(items, weighted=True)
            part = Part("weighted", self.metric, points(weighted.value()), len(data))
            yield Row(name, weighted if protocol.average == "pairs" else items, pairs.found, (part,))


class ParaphraseTask(ContextTask[ParaphraseParts]):
    """Accuracy on paraphrases (PAWS), with the threshold that is best on the development part."""

    kind = "paraphrase"
    metric = "accuracy"
    needs = (ParaphraseParts.holds,)

    def rows(self, encoder: ContextEncoder, protocol: ContextProtocol) -> Iterator[Row]:
        """One row each, over the test part; on PAWS-Wiki, saying no to all gives 55.80."""
        parts = self.dataset.content.parts
        dev, test = (
            sentence_cosines(encoder, thinned(parts[part], protocol.max_pairs), protocol.unit)
            for part in ("dev", "test")
        )
        for name in encoder.names:
            threshold = best_threshold(dev.kept(name, -1.0), dev.gold)
            items = ItemScores("mean", correct(test.kept(name, -1.0), test.gold, threshold))
            part = Part("threshold", "cosine", points(threshold), len(dev.gold))
            yield Row(name, items, test.found, (part,))


class WordCosinesTask(ContextTask[ParaphraseParts]):
    """Mean cosines between words of two sentences, as in Table 6 of Arase & Kajiwara 2021.

    ``common`` are pairs of the same word, ``different`` all others; P pairs of sentences are paraphrases, N pairs are
    not. Punctuation is left out. These cosines describe the space, not the quality of vectors.
    """

    kind = "word-cosines"
    metric = "mean cosine"
    needs = (ParaphraseParts.holds,)

    def rows(self, encoder: ContextEncoder, protocol: ContextProtocol) -> Iterator[Row]:
        """Four rows each; the interval is over pairs of sentences."""
        data = thinned(self.dataset.content.parts["test"], protocol.max_pairs)
        blocks = [
            _word_sums(encoder, *(side[start : start + PAIRS_AT_ONCE] for side in (data.first, data.second)))
            for start in range(0, len(data), PAIRS_AT_ONCE)
        ]
        counts = np.concatenate([count for count, _ in blocks])
        for name in encoder.names:
            sums = np.concatenate([total[name] for _, total in blocks])
            for column, words in enumerate(("common", "different")):
                for label, pairs in enumerate("NP"):
                    rows = data.gold == label
                    ratio = np.stack([sums[rows, column], counts[rows, column]], axis=-1)
                    items, found = ItemScores.of_ratio(ratio[None]), ratio[:, 1] > 0
                    yield Row(name, items, found, name=f"cosine-{words}-{pairs}")


def word_cosines(encoder: ContextEncoder, pairs: Sequence[ContextPair]) -> PairCosines:
    """Cosines between the two words of each pair."""
    vectors, found = encoder.occurrences([*(pair.first for pair in pairs), *(pair.second for pair in pairs)])
    return PairCosines.of(vectors, found, np.array([pair.gold for pair in pairs]))


def sentence_cosines(encoder: ContextEncoder, data: SentencePairs, unit: Unit) -> PairCosines:
    """Cosines between the two sentences of each pair."""
    vectors, found = encoder.sentences((*data.first, *data.second), unit)
    return PairCosines.of(vectors, found, data.gold)


def best_threshold(cosines: Floats, gold: Floats, grid: Floats | None = None) -> float:
    """The threshold with the highest accuracy; pairs at or above it count as the same. Ties go to the lowest.

    Args:
        cosines: Of pairs [n].
        gold: 1 for the same, 0 for different [n].
        grid: Thresholds to try; None tries all that make a difference.
    """
    if grid is None:
        values = np.unique(cosines)
        grid = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1] + 1.0]])
    order = np.argsort(cosines, kind="stable")
    # Correct are different pairs below the threshold and equal pairs at or above it.
    different_below = np.concatenate([[0], np.cumsum(gold[order] == 0)])
    same_from = np.concatenate([[0], np.cumsum(gold[order][::-1] == 1)])[::-1]
    below = np.searchsorted(cosines[order], grid, side="left")
    return float(grid[int(np.argmax(different_below[below] + same_from[below]))])


def correct(cosines: Floats, gold: Floats, threshold: float) -> Floats:
    """1 for each pair that a threshold puts on the right side, else 0 [n]."""
    right: Floats = ((cosines >= threshold) == (gold == 1)).astype(np.float64)
    return right


def uncentered_pearson(gold: Floats, predicted: Floats) -> float:
    """Pearson's correlation without subtracting means, which is the cosine of two rows of numbers."""
    scale = float(np.sqrt((gold @ gold) * (predicted @ predicted)))
    return float(gold @ predicted) / scale if scale > 0 else float("nan")


def harmonic_correlation(gold: Floats, predicted: Floats) -> float:
    """The harmonic mean of Pearson's and Spearman's correlation."""
    first, second = pearson(gold, predicted), spearman(gold, predicted)
    return 2 * first * second / (first + second) if first + second else float("nan")


def thinned(data: SentencePairs, limit: int | None) -> SentencePairs:
    """At most ``limit`` pairs, spread evenly, so that every sub-corpus has some."""
    if limit is None or len(data) <= limit:
        return data
    step = -(-len(data) // limit)
    return SentencePairs(data.first[::step], data.second[::step], data.gold[::step], data.corpus[::step], data.corpora)


def _official(metric: str, items: ItemScores, measure: Callable[[Floats, Floats], float]) -> Part:
    assert items.gold is not None
    scored = items.scored
    value = measure(items.gold[scored], items.predicted[scored]) if scored.sum() > 1 else float("nan")
    return Part("official", metric, points(value), int(scored.sum()))


def _word_sums(
    encoder: ContextEncoder, first: Sequence[str], second: Sequence[str]
) -> tuple[Floats, dict[str, Floats]]:
    """[n, 2] pairs of common and of different words in each pair of sentences, and their summed cosines."""
    words, vectors, offsets = encoder.words((*first, *second))
    counts = np.zeros((len(first), 2))
    sums = {name: np.zeros((len(first), 2)) for name in vectors}
    for number in range(len(first)):
        one, two = words[number], words[len(first) + number]
        left, right = (slice(*offsets[row : row + 2]) for row in (number, len(first) + number))
        real = np.outer([word.isalnum() for word in one], [word.isalnum() for word in two])
        same = np.equal.outer(_folded(one), _folded(two))
        for column, mask in enumerate((real & same, real & ~same)):
            counts[number, column] = mask.sum()
            for name, matrix in vectors.items():
                sums[name][number, column] = float((matrix[left] @ matrix[right].T)[mask].sum())
    return counts, sums


def _folded(words: Sequence[str]) -> NDArray[np.object_]:
    return np.array([word.casefold() for word in words], dtype=object)
