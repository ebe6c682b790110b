"""Figures of merit that are not in every library: thresholds, uncentred correlation, harmonic mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.core.ragged import Ints
from wordstill.corpus.segment import word_spans
from wordstill.evaluation.data.context_sets import ContextPair, ContextParts
from wordstill.evaluation.data.sentence_sets import SentencePairs
from wordstill.evaluation.statistics import Floats, pearson, spearman
from wordstill.meaning.distiller import Representation
from wordstill.teacher.spans import Spans, StateReader, TextSpan, Unit
from wordstill.vectors.search import unit_rows

PAPER_GRID = np.arange(101) / 100
"""Thresholds that paper 002 tries."""


def best_threshold(cosines: Floats, gold: Floats, grid: Floats | None = None) -> float:
    """The threshold from which on pairs count as the same, with the highest accuracy; of equals the lowest.

    Args:
        cosines: Of pairs [n].
        gold: 1 for the same, 0 for different [n].
        grid: Thresholds to try; None tries every one that makes a difference.
    """
    if grid is None:
        values = np.unique(cosines)
        grid = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1] + 1.0]])
    order = np.argsort(cosines, kind="stable")
    # Right are the pairs below the threshold that are different, and those from it on that are the same.
    different_below = np.concatenate([[0], np.cumsum(gold[order] == 0)])
    same_from = np.concatenate([[0], np.cumsum(gold[order][::-1] == 1)])[::-1]
    below = np.searchsorted(cosines[order], grid, side="left")
    return float(grid[int(np.argmax(different_below[below] + same_from[below]))])


def accuracy(cosines: Floats, gold: Floats, threshold: float) -> float:
    """Part of the pairs that a threshold puts on the right side."""
    return float(np.mean((cosines >= threshold) == (gold == 1)))


def uncentred_pearson(gold: Floats, predicted: Floats) -> float:
    """The cosine of two rows of numbers: Pearson's correlation without taking means away."""
    scale = float(np.sqrt((gold @ gold) * (predicted @ predicted)))
    return float(gold @ predicted) / scale if scale > 0 else float("nan")


def harmonic_correlation(gold: Floats, predicted: Floats) -> float:
    """The harmonic mean of Pearson's and Spearman's correlation."""
    first, second = pearson(gold, predicted), spearman(gold, predicted)
    return 2 * first * second / (first + second) if first + second else float("nan")


Representations = Mapping[str, Representation]
Vectors = dict[str, NDArray[np.float32]]


def occurrence_vectors(
    reader: StateReader, representations: Representations, occurrences: Sequence[TextSpan]
) -> tuple[Vectors, NDArray[np.bool_]]:
    """[N, width] unit vectors of occurrences for each representation, and which were found."""
    distinct = list(dict.fromkeys(occurrences))
    spans = Spans.of([[(occurrence.start, occurrence.end)] for occurrence in distinct])
    vectors, found = _collected(reader, representations, [occurrence.text for occurrence in distinct], spans)
    row = {occurrence: number for number, occurrence in enumerate(distinct)}
    rows = np.array([row[occurrence] for occurrence in occurrences], dtype=np.int64)
    return {name: unit_rows(matrix)[rows] for name, matrix in vectors.items()}, found[rows]


def word_vectors(
    reader: StateReader, representations: Representations, texts: Sequence[str]
) -> tuple[list[list[str]], Vectors, Ints]:
    """Words of texts that have sub-words, their unit vectors, and where each text's begin [texts + 1]."""
    spans = [word_spans(text) for text in texts]
    by_text = Spans.of(spans)
    vectors, found = _collected(reader, representations, texts, by_text)
    bounds = np.searchsorted(by_text.text[found], np.arange(len(texts) + 1))
    kept = iter(found.tolist())
    words = [[text[slice(*span)] for span in of_text if next(kept)] for text, of_text in zip(texts, spans)]
    return words, {name: unit_rows(matrix[found]) for name, matrix in vectors.items()}, bounds


def sentence_vectors(
    reader: StateReader, representations: Representations, texts: Sequence[str], unit: Unit
) -> Vectors:
    """[N, width] unit means over the words or sub-words of texts, for each representation."""
    distinct = list(dict.fromkeys(texts))
    device = reader.teacher.device
    sums = {name: torch.zeros(len(distinct), reader.shape[1], device=device) for name in representations}
    for numbers, states in reader.read_units(distinct, unit):
        rows = torch.from_numpy(numbers).to(device)
        for name, represent in representations.items():
            sums[name].index_add_(0, rows, represent(states))
    row = {text: number for number, text in enumerate(distinct)}
    rows_of_texts = np.array([row[text] for text in texts], dtype=np.int64)
    # A mean and a sum have the same direction.
    return {name: unit_rows(total.cpu().numpy())[rows_of_texts] for name, total in sums.items()}


def cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> Floats:
    """Of the rows of two matrices of unit rows."""
    result: Floats = np.einsum("nd,nd->n", first, second).astype(np.float64)
    return result


def _collected(
    reader: StateReader, representations: Representations, texts: Sequence[str], spans: Spans
) -> tuple[Vectors, NDArray[np.bool_]]:
    width = reader.shape[1]
    vectors = {name: np.zeros((len(spans), width), dtype=np.float32) for name in representations}
    found = np.zeros(len(spans), dtype=np.bool_)
    for numbers, states in reader.read(texts, spans):
        found[numbers] = True
        for name, represent in representations.items():
            vectors[name][numbers] = represent(states).float().cpu().numpy()
    return vectors, found


Figures = dict[str, dict[str, float]]
"""For each representation, the value of each metric."""


class Predicted(NamedTuple):
    """Cosines of pairs for each representation, what people said, and which pairs have both words."""

    cosines: dict[str, Floats]
    gold: Floats
    found: NDArray[np.bool_]


def usim(reader: StateReader, representations: Representations, data: ContextParts) -> Figures:
    """Rank correlation over all pairs of occurrences of one word."""
    predicted = predict(reader, representations, data.parts["all"])
    return {name: {"usim": _spearman(values, predicted)} for name, values in predicted.cosines.items()}


def scws(reader: StateReader, representations: Representations, data: ContextParts) -> Figures:
    """Rank correlation over pairs of words, each in a paragraph of its own."""
    predicted = predict(reader, representations, data.parts["all"])
    return {name: {"scws": _spearman(values, predicted)} for name, values in predicted.cosines.items()}


def wic(reader: StateReader, representations: Representations, data: ContextParts) -> Figures:
    """Accuracy on the test part with the threshold that is best on dev; ``wic-grid`` as paper 002 tries them.

    A pair of which a word is lost counts as different.
    """
    dev, test = (predict(reader, representations, data.parts[part]) for part in ("dev", "test"))
    figures: Figures = {}
    for name in representations:
        known, asked = (np.where(part.found, part.cosines[name], -1.0) for part in (dev, test))
        figures[name] = {
            metric: accuracy(asked, test.gold, best_threshold(known, dev.gold, grid))
            for metric, grid in (("wic", None), ("wic-grid", PAPER_GRID))
        }
    return figures


def cosimlex(reader: StateReader, representations: Representations, data: ContextParts) -> Figures:
    """The change of a pair's similarity between two contexts (I), and the similarity in each (II).

    Paper 002 takes Pearson's correlation for I and Spearman's over all contexts for II. The official task
    takes the uncentred correlation for I, and the harmonic mean of Pearson's and Spearman's for II.
    """
    one, two = (predict(reader, representations, data.parts[part]) for part in ("context1", "context2"))
    both = one.found & two.found
    change, stacked = (two.gold - one.gold)[both], np.concatenate([one.gold[both], two.gold[both]])
    figures: Figures = {}
    for name in representations:
        first, second = one.cosines[name][both], two.cosines[name][both]
        together = np.concatenate([first, second])
        figures[name] = {
            "cosimlex-1": pearson(change, second - first),
            "cosimlex-1-official": uncentred_pearson(change, second - first),
            "cosimlex-2": spearman(stacked, together),
            "cosimlex-2-official": harmonic_correlation(stacked, together),
        }
    return figures


def predict(reader: StateReader, representations: Representations, pairs: Sequence[ContextPair]) -> Predicted:
    """Cosines between the two words of each pair."""
    words = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    vectors, found = occurrence_vectors(reader, representations, words)
    half = len(pairs)
    return Predicted(
        {name: cosines(matrix[:half], matrix[half:]) for name, matrix in vectors.items()},
        np.array([pair.gold for pair in pairs]),
        found[:half] & found[half:],
    )


def _spearman(values: Floats, predicted: Predicted) -> float:
    return spearman(predicted.gold[predicted.found], values[predicted.found])


PAIRS_AT_ONCE = 512
GROUPS = ("common-N", "common-P", "different-N", "different-P")


def sts(
    reader: StateReader, representations: Representations, data: SentencePairs, name: str, unit: Unit
) -> Figures:
    """The mean over sub-corpora of Pearson's correlation; ``-weighted`` with the number of their pairs."""
    predicted = _pair_cosines(reader, representations, data, unit)
    sizes = np.bincount(data.corpus)
    figures: Figures = {}
    for kind, values in predicted.items():
        parts = [pearson(data.gold[rows], values[rows]) for rows in _rows(data.corpus)]
        figures[kind] = {
            name: float(np.mean(parts)),
            f"{name}-weighted": float(np.average(parts, weights=sizes)),
        }
    return figures


def paws(
    reader: StateReader, representations: Representations, data: dict[str, SentencePairs], unit: Unit
) -> Figures:
    """Accuracy on the test part with the threshold that is best on dev; saying no to all gives 55.80."""
    dev, test = (_pair_cosines(reader, representations, data[part], unit) for part in ("dev", "test"))
    figures: Figures = {}
    for name in representations:
        threshold = best_threshold(dev[name], data["dev"].gold)
        figures[name] = {
            "paws-wiki": accuracy(test[name], data["test"].gold, threshold),
            "paws-wiki-threshold": threshold,
        }
    return figures


def paws_words(reader: StateReader, representations: Representations, data: SentencePairs) -> Figures:
    """Mean cosine between words of the two sentences of a pair, as in Table 6 of paper 002.

    ``common`` are words of the same letters, ``different`` all others; N pairs are no paraphrases, P pairs
    are. Marks are left out.
    """
    sums = {name: np.zeros(len(GROUPS)) for name in representations}
    counts = np.zeros(len(GROUPS))
    for start in range(0, len(data), PAIRS_AT_ONCE):
        rows = slice(start, start + PAIRS_AT_ONCE)
        counts += _add_block(reader, representations, data, rows, sums)
    return {
        name: {f"cosine-{group}": float(value) for group, value in zip(GROUPS, total / np.maximum(counts, 1))}
        for name, total in sums.items()
    }


def _add_block(
    reader: StateReader,
    representations: Representations,
    data: SentencePairs,
    rows: slice,
    sums: dict[str, NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Add the sums of cosines of some pairs by group, and give how many there were."""
    first, second = data.first[rows], data.second[rows]
    words, vectors, bounds = word_vectors(reader, representations, (*first, *second))
    counts = np.zeros(len(GROUPS))
    for number, gold in enumerate(data.gold[rows].tolist()):
        left, right = (slice(*bounds[row : row + 2]) for row in (number, len(first) + number))
        one, two = words[number], words[len(first) + number]
        real = np.outer([word.isalnum() for word in one], [word.isalnum() for word in two])
        same = np.array([[word.casefold() == other.casefold() for other in two] for word in one]).reshape(
            real.shape
        )
        for group, mask in ((int(gold), real & same), (2 + int(gold), real & ~same)):
            counts[group] += mask.sum()
            for name, matrix in vectors.items():
                sums[name][group] += float((matrix[left] @ matrix[right].T)[mask].sum())
    return counts


def _pair_cosines(
    reader: StateReader, representations: Representations, data: SentencePairs, unit: Unit
) -> dict[str, Floats]:
    vectors = sentence_vectors(reader, representations, (*data.first, *data.second), unit)
    return {name: cosines(matrix[: len(data)], matrix[len(data) :]) for name, matrix in vectors.items()}


def _rows(corpus: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(corpus == number) for number in range(int(corpus.max()) + 1)]
