"""Vectors of several representations from one reading, so that the teacher reads each text once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.evaluate.statistics import Floats
from wordstill.meaning.reading import Places, StateReader, Unit
from wordstill.meaning.representation import Representation
from wordstill.meaning.use import Use, word_spans
from wordstill.neighbours import unit_rows
from wordstill.teacher.ragged import Ints

Representations = Mapping[str, Representation]
Vectors = dict[str, NDArray[np.float32]]


def use_vectors(
    reader: StateReader, representations: Representations, uses: Sequence[Use]
) -> tuple[Vectors, NDArray[np.bool_]]:
    """[N, width] unit vectors of uses for each representation, and which uses the tokenizer did not drop."""
    distinct = list(dict.fromkeys(uses))
    places = Places.of([[(use.start, use.end)] for use in distinct])
    vectors, found = _collected(reader, representations, [use.text for use in distinct], places)
    row = {use: number for number, use in enumerate(distinct)}
    rows = np.array([row[use] for use in uses], dtype=np.int64)
    return {name: unit_rows(matrix)[rows] for name, matrix in vectors.items()}, found[rows]


def word_vectors(
    reader: StateReader, representations: Representations, texts: Sequence[str]
) -> tuple[list[list[str]], Vectors, Ints]:
    """Words of texts that have sub-words, their unit vectors, and where each text's begin [texts + 1]."""
    spans = [word_spans(text) for text in texts]
    places = Places.of(spans)
    vectors, found = _collected(reader, representations, texts, places)
    bounds = np.searchsorted(places.text[found], np.arange(len(texts) + 1))
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
    reader: StateReader, representations: Representations, texts: Sequence[str], places: Places
) -> tuple[Vectors, NDArray[np.bool_]]:
    width = reader.shape[1]
    vectors = {name: np.zeros((len(places), width), dtype=np.float32) for name in representations}
    found = np.zeros(len(places), dtype=np.bool_)
    for numbers, states in reader.read(texts, places):
        found[numbers] = True
        for name, represent in representations.items():
            vectors[name][numbers] = represent(states).float().cpu().numpy()
    return vectors, found
