"""The sub-words of some texts of a corpus, as arrays, and what gives them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from wordstill.corpus import Corpus
from wordstill.teacher.ragged import Ints, offsets_of, ranges


@dataclass(frozen=True)
class TextPieceTable:
    """Sub-words of some texts without special tokens; a text is a run of sentences of one paragraph.

    Word and sentence ranges are half-open and count sub-words from the first text's first. ``word_slots``
    points into the store's list of words of forms, so that a vocabulary can name each word.
    """

    ids: Ints
    text_lengths: Ints
    word_slots: Ints
    word_first: Ints
    word_last: Ints
    words_in_sentence: Ints
    sentence_first: Ints
    sentence_last: Ints


class PieceSource(Protocol):
    """Gives sub-words of runs of sentences of the corpus."""

    def sentence_lengths(self, first: int, last: int) -> Ints:
        """Sub-words of each of the sentences ``first`` to ``last`` (exclusive); whole paragraphs only."""
        ...

    def read(self, texts: Ints) -> TextPieceTable:
        """Sub-words of texts given as rows (first sentence, sentence after the last)."""
        ...


class SentenceRuns:
    """Forms and words of some texts in reading order, and the bounds of texts and sentences among the forms.

    Args:
        corpus: The text.
        texts: Rows (first sentence, sentence after the last).
    """

    def __init__(self, corpus: Corpus, texts: Ints) -> None:
        self.corpus = corpus
        sentences_of_text = texts[:, 1] - texts[:, 0]
        sentences = ranges(texts[:, 0], sentences_of_text)
        starts, stops = corpus.sentences[sentences], corpus.sentences[sentences + 1]
        self.forms: Ints = corpus.tokens[ranges(starts, stops - starts)].astype(np.int64)
        self.sentence_bounds = offsets_of(stops - starts)
        self.text_bounds: Ints = self.sentence_bounds[offsets_of(sentences_of_text)]
        first_slot = corpus.forms.word_offsets[self.forms]
        self.words_of_form: Ints = corpus.forms.word_offsets[self.forms + 1] - first_slot
        self.word_slots = ranges(first_slot, self.words_of_form)

    @property
    def words_in_sentence(self) -> Ints:
        """Number of words of each sentence."""
        return np.diff(offsets_of(self.words_of_form)[self.sentence_bounds])

    def strings(self) -> list[str]:
        """The texts themselves."""
        table = self.corpus.forms
        return [
            "".join(map(table.__getitem__, self.forms[first:last].tolist()))
            for first, last in pairwise(self.text_bounds.tolist())
        ]
