"""Static tables beside representations in context: the rows of word vectors in tests of words in context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import Ints
from wordstill.corpus.segment import word_spans
from wordstill.meaning.context_encoder import Mask, StateEncoder, Vectors
from wordstill.teacher.spans import TextSpan, Unit
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows


class WithTables:
    """A ``ContextEncoder`` with further rows: a word has the same vector in every sentence.

    A word is looked up as it is written, then in lower case. One that the table lacks has zeros, so that its cosine
    with any other is 0; a sentence is the mean over its words, whatever the unit.
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
    """[n, dim] vectors of words, zeros for those that the table lacks."""
    found = np.zeros((len(words), table.dim), dtype=np.float32)
    for number, word in enumerate(words):
        key = word if word in table else word.lower()
        if key in table:
            found[number] = table[key]
    return found
