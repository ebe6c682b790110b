"""Vectors of words in context for evaluation: of several representations in one pass, and of static tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.core.ragged import Ints
from wordstill.corpus.segment import word_spans
from wordstill.meaning.distiller import Representation
from wordstill.teacher.spans import Spans, StateReader, TextSpan, Unit
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows

Vectors = dict[str, NDArray[np.float32]]
Mask = NDArray[np.bool_]


class StateEncoder:
    """A ``ContextEncoder`` for evaluation that reads texts once for all representations."""

    def __init__(self, reader: StateReader, representations: Mapping[str, Representation]) -> None:
        self.reader, self.representations = reader, representations

    @property
    def names(self) -> tuple[str, ...]:
        """The representations."""
        return tuple(self.representations)

    def occurrences(self, occurrences: Sequence[TextSpan]) -> tuple[Vectors, Mask]:
        """[n, dim] unit vectors of words, and which of them the tokenizer keeps."""
        distinct, rows = _distinct(occurrences)
        spans = Spans.of([[(one.start, one.end)] for one in distinct])
        vectors, found = span_vectors(self.reader, [one.text for one in distinct], spans, self.representations)
        return {name: unit_rows(matrix)[rows] for name, matrix in vectors.items()}, found[rows]

    def words(self, texts: Sequence[str]) -> tuple[list[list[str]], Vectors, Ints]:
        """Words of texts that have subwords, their unit vectors, and their offsets [texts + 1]."""
        spans = [word_spans(text) for text in texts]
        by_text = Spans.of(spans)
        vectors, found = span_vectors(self.reader, texts, by_text, self.representations)
        offsets = np.searchsorted(by_text.text[found], np.arange(len(texts) + 1))
        kept = iter(found.tolist())
        words = [[text[slice(*span)] for span in of_text if next(kept)] for text, of_text in zip(texts, spans)]
        return words, {name: unit_rows(matrix[found]) for name, matrix in vectors.items()}, offsets

    def sentences(self, texts: Sequence[str], unit: Unit) -> tuple[Vectors, Mask]:
        """[n, dim] unit means over the words or subwords of texts, and which texts have any."""
        distinct, rows = _distinct(texts)
        width, device = self.reader.shape[1], self.reader.teacher.device
        sums: dict[str, torch.Tensor] = {}
        found = np.zeros(len(distinct), dtype=np.bool_)
        for numbers, states in self.reader.read_units(distinct, unit):
            found[numbers] = True
            places = torch.from_numpy(numbers).to(device)
            for name, represent in self.representations.items():
                part = represent(states)
                if name not in sums:
                    sums[name] = torch.zeros(len(distinct), part.shape[1], device=device)
                sums[name].index_add_(0, places, part)
        nothing = torch.zeros(len(distinct), width)
        totals = {name: sums.get(name, nothing).cpu().numpy() for name in self.representations}
        # A mean and a sum have the same direction.
        return {name: unit_rows(total)[rows] for name, total in totals.items()}, found[rows]


def span_vectors(
    reader: StateReader, texts: Sequence[str], spans: Spans, representations: Mapping[str, Representation]
) -> tuple[Vectors, Mask]:
    """[n, width] vectors of spans by name, zeros for dropped spans, and which spans the tokenizer keeps."""
    vectors: Vectors = {}
    found = np.zeros(len(spans), dtype=np.bool_)
    for numbers, states in reader.read(texts, spans):
        found[numbers] = True
        for name, represent in representations.items():
            part = represent(states).float().cpu().numpy()
            if name not in vectors:
                vectors[name] = np.zeros((len(spans), part.shape[1]), dtype=np.float32)
            vectors[name][numbers] = part
    nothing = np.zeros((len(spans), reader.shape[1]), dtype=np.float32)
    return {name: vectors.get(name, nothing) for name in representations}, found


def _distinct(things: Sequence[Any]) -> tuple[list[Any], Ints]:
    """The distinct items, and the index of each item among them."""
    row = {thing: number for number, thing in enumerate(dict.fromkeys(things))}
    return list(row), np.array([row[thing] for thing in things], dtype=np.int64)


class WithTables:
    """A ``ContextEncoder`` with additional static tables, in which a word has the same vector in every sentence.

    A word is looked up as written, then in lower case. The vector of an unknown word is zeros, so that its cosine with
    any other is 0; a sentence is the mean over its words, whatever the unit.
    """

    def __init__(self, encoder: StateEncoder, tables: Mapping[str, WordVectors]) -> None:
        self.encoder, self.tables = encoder, tables

    @property
    def names(self) -> tuple[str, ...]:
        """The representations, then the tables."""
        return (*self.encoder.names, *self.tables)

    def occurrences(self, occurrences: Sequence[TextSpan]) -> tuple[Vectors, Mask]:
        """[n, dim] unit vectors of words, and which of them the tokenizer keeps."""
        vectors, found = self.encoder.occurrences(occurrences)
        words = [one.text[one.start : one.end] for one in occurrences]
        return vectors | {name: unit_rows(_rows(table, words)) for name, table in self.tables.items()}, found

    def words(self, texts: Sequence[str]) -> tuple[list[list[str]], Vectors, Ints]:
        """Words of texts that have subwords, their unit vectors, and their offsets [texts + 1]."""
        words, vectors, offsets = self.encoder.words(texts)
        running = [word for text in words for word in text]
        return words, vectors | {name: unit_rows(_rows(table, running)) for name, table in self.tables.items()}, offsets

    def sentences(self, texts: Sequence[str], unit: Unit) -> tuple[Vectors, Mask]:
        """[n, dim] unit means over the words or subwords of texts, and which texts have any."""
        vectors, found = self.encoder.sentences(texts, unit)
        for name, table in self.tables.items():
            sums = [_rows(table, [text[slice(*span)] for span in word_spans(text)]).sum(axis=0) for text in texts]
            vectors[name] = unit_rows(np.stack(sums)) if sums else np.zeros((0, table.dim), dtype=np.float32)
        return vectors, found


def _rows(table: WordVectors, words: Sequence[str]) -> NDArray[np.float32]:
    """[n, dim] vectors of words, zeros for unknown words."""
    found = np.zeros((len(words), table.dim), dtype=np.float32)
    for number, word in enumerate(words):
        key = word if word in table else word.lower()
        if key in table:
            found[number] = table[key]
    return found
