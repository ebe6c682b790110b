"""Words in context: USim, WiC, CoSimLex and SCWS, each target taken where the data say that it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluate.readers.context import ContextPair, ContextParts
from wordstill.evaluate.statistics import Floats, pearson, spearman
from wordstill.meaning.reading import StateReader
from wordstill.meaning.tasks.scores import (
    PAPER_GRID,
    accuracy,
    best_threshold,
    harmonic_correlation,
    uncentred_pearson,
)
from wordstill.meaning.tasks.vectors import Representations, cosines, use_vectors
from wordstill.meaning.use import Use

Figures = dict[str, dict[str, float]]
"""For each representation, the value of each metric."""


class Predicted(NamedTuple):
    """Cosines of pairs for each representation, what people said, and which pairs have both words."""

    cosines: dict[str, Floats]
    gold: Floats
    found: NDArray[np.bool_]


def usim(reader: StateReader, representations: Representations, data: ContextParts) -> Figures:
    """Rank correlation over all pairs of uses of one word."""
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
    places = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    uses = [Use(place.text, place.start, place.end) for place in places]
    vectors, found = use_vectors(reader, representations, uses)
    half = len(pairs)
    return Predicted(
        {name: cosines(matrix[:half], matrix[half:]) for name, matrix in vectors.items()},
        np.array([pair.gold for pair in pairs]),
        found[:half] & found[half:],
    )


def _spearman(values: Floats, predicted: Predicted) -> float:
    return spearman(predicted.gold[predicted.found], values[predicted.found])
