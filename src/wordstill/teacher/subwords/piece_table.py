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

    def followed_by(self, other: TextPieceTable) -> TextPieceTable:
        """The texts of this table and then those of another."""
        pieces = len(self.ids)
        return TextPieceTable(
            ids=np.concatenate([self.ids, other.ids]),
            text_lengths=np.concatenate([self.text_lengths, other.text_lengths]),
            word_slots=np.concatenate([self.word_slots, other.word_slots]),
            word_first=np.concatenate([self.word_first, other.word_first + pieces]),
            word_last=np.concatenate([self.word_last, other.word_last + pieces]),
            words_in_sentence=np.concatenate([self.words_in_sentence, other.words_in_sentence]),
            sentence_first=np.concatenate([self.sentence_first, other.sentence_first + pieces]),
            sentence_last=np.concatenate([self.sentence_last, other.sentence_last + pieces]),
        )

    def ordered(self, order: Ints, sentences_of_text: Ints) -> TextPieceTable:
        """The same texts in another order: first number ``order[0]``, and so on."""
        start_of_text, length = offsets_of(self.text_lengths)[order], self.text_lengths[order]
        sentences = ranges(offsets_of(sentences_of_text)[order], sentences_of_text[order])
        words_in_sentence = self.words_in_sentence[sentences]
        words = ranges(offsets_of(self.words_in_sentence)[sentences], words_in_sentence)
        shift = offsets_of(length)[:-1] - start_of_text
        shift_of_sentence = np.repeat(shift, sentences_of_text[order])
        shift_of_word = np.repeat(shift_of_sentence, words_in_sentence)
        return TextPieceTable(
            ids=self.ids[ranges(start_of_text, length)],
            text_lengths=length,
            word_slots=self.word_slots[words],
            word_first=self.word_first[words] + shift_of_word,
            word_last=self.word_last[words] + shift_of_word,
            words_in_sentence=words_in_sentence,
            sentence_first=self.sentence_first[sentences] + shift_of_sentence,
            sentence_last=self.sentence_last[sentences] + shift_of_sentence,
        )


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
