"""Sentences as means of their words: STS, PAWS-Wiki, and the cosines between words of PAWS-Wiki."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluate.readers.sentences import SentencePairs
from wordstill.evaluate.statistics import Floats, pearson
from wordstill.meaning.reading import StateReader, Unit
from wordstill.meaning.tasks.lexical import Figures
from wordstill.meaning.tasks.scores import accuracy, best_threshold
from wordstill.meaning.tasks.vectors import Representations, cosines, sentence_vectors, word_vectors

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
