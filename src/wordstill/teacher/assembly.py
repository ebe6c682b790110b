"""From the subwords of texts to a batch: special tokens around each, over-long ends cut, phrases found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wordstill.core.ragged import Ints, offsets_of
from wordstill.corpus import Vocabulary
from wordstill.teacher.batch import Batch
from wordstill.teacher.gathering import HOST, Array, HostArrays, SubwordTable
from wordstill.teacher.tokenizer import SubwordTokenizer, room_beside_specials


class Assembler:
    """Makes batches for one teacher.

    Args:
        tokenizer: Knows the special tokens.
        limit: Longest text in subwords, special tokens counted.
        vocabulary: Knows the phrases, which are found on the host only; None where there are none to find.
        arrays: The kind of the arrays of tables and batches.

    Attributes:
        room: Longest text without its special tokens.
        specials: How many special tokens each text gets.

    Raises:
        UsageError: The limit leaves no room beside the special tokens.
    """

    def __init__(
        self, tokenizer: SubwordTokenizer, limit: int, vocabulary: Vocabulary | None = None, arrays: HostArrays = HOST
    ) -> None:
        self.room = room_beside_specials(limit, tokenizer)
        self.specials = limit - self.room
        self.vocabulary, self.arrays = vocabulary, arrays
        with arrays.aside():
            self._prefix, self._suffix = (
                *arrays.send(np.array(tokenizer.prefix, dtype=np.int64)),
                *arrays.send(np.array(tokenizer.suffix, dtype=np.int64)),
            )

    def assemble(self, table: SubwordTable, word_ids: Array, source_ids: Ints) -> Batch:
        """A batch of the texts of a table, with the vocabulary id of each word [W] and what each text is [B]."""
        xp = self.arrays.xp
        lengths = np.minimum(table.text_lengths, self.room) + self.specials
        before, sizes, offsets = self.arrays.send(offsets_of(table.text_lengths)[:-1], lengths, offsets_of(lengths))
        shift = offsets[:-1] + len(self._prefix) - before
        text_end = offsets[1:] - len(self._suffix)
        shift_of_sentence, end_of_sentence = shift[table.sentence_text], text_end[table.sentence_text]
        sentence_end = xp.minimum(table.sentence_end + shift_of_sentence, end_of_sentence)
        text = table.sentence_text[table.word_sentence]
        shift_of_word = shift[text]
        start, end = table.word_start + shift_of_word, table.word_end + shift_of_word
        lost = (end > text_end[text]) | (start >= end)
        nowhere = offsets[text]
        batch = Batch(
            subwords=self._surrounded(table.ids, before, sizes, offsets, int(lengths.sum())),
            text_offsets=offsets,
            word_ids=xp.where(lost, -1, word_ids),
            word_start=xp.where(lost, nowhere, start),
            word_end=xp.where(lost, nowhere, end),
            word_sentence=table.word_sentence,
            sentence_start=xp.minimum(table.sentence_start + shift_of_sentence, sentence_end),
            sentence_end=sentence_end,
            sentence_text=table.sentence_text,
            n_words=len(word_ids),
            phrase_start=table.sentence_text[:0],
            phrase_end=table.sentence_text[:0],
            source_ids=source_ids,
            n_truncated=int((table.text_lengths > self.room).sum()),
        )
        return batch if self.vocabulary is None else _with_phrases(batch, self.vocabulary)

    def _surrounded(self, ids: Array, before: Array, sizes: Array, offsets: Array, total: int) -> Array:
        """[P] subwords with the special tokens of each text, over-long ends cut."""
        # Special tokens first get a neighbor's subword, wherever it is.
        places = self.arrays.ranges(before - len(self._prefix), sizes, total)
        subwords = self.arrays.long(ids[self.arrays.xp.clip(places, 0, len(ids) - 1)])
        for tokens, starts in ((self._prefix, offsets[:-1]), (self._suffix, offsets[1:] - len(self._suffix))):
            subwords[starts[:, None] + self.arrays.arange(len(tokens))] = tokens
        return subwords


def _with_phrases(batch: Batch, vocabulary: Vocabulary) -> Batch:
    """The batch, on the host, with the phrases behind its words."""
    phrases, first, last = vocabulary.phrases.find(batch.word_ids, batch.word_sentence)
    # Words that occur only in phrases have ids too, beyond the vocabulary.
    words = np.where(batch.word_ids < len(vocabulary), batch.word_ids, -1)
    return replace(
        batch,
        word_ids=np.concatenate([words, phrases]).astype(np.int32),
        word_start=np.concatenate([batch.word_start, batch.word_start[first]]),
        word_end=np.concatenate([batch.word_end, batch.word_end[last]]),
        word_sentence=np.concatenate([batch.word_sentence, batch.word_sentence[first]]),
        phrase_start=first,
        phrase_end=last + 1,
    )


def trial_batch(subwords: Ints, limit: int) -> Batch:
    """Beginnings of a text, of different lengths, together longer than the limit."""
    whole = len(subwords)
    lengths = [max(1, whole - shorter % whole) for shorter in range(limit // whole * 2 + 2)]
    return bare_batch([subwords[:length] for length in lengths])


def bare_batch(texts: Sequence[Ints]) -> Batch:
    """A batch of some texts [n] each, of which no words are known."""
    none = np.empty(0, dtype=np.int64)
    return Batch(
        subwords=np.concatenate(texts),
        text_offsets=offsets_of(np.array([len(text) for text in texts])),
        word_ids=none.astype(np.int32),
        word_start=none,
        word_end=none,
        word_sentence=none,
        sentence_start=none,
        sentence_end=none,
        sentence_text=none,
        n_words=0,
        phrase_start=none,
        phrase_end=none,
        source_ids=np.arange(len(texts)),
    )
