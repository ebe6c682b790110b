"""From the subwords of texts to a batch: special tokens around each, over-long ends cut, phrases found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.corpus import Vocabulary
from wordstill.teacher.batch import Batch
from wordstill.teacher.subwords import SubwordTable
from wordstill.teacher.tokenizer import SubwordTokenizer, room_beside_specials


class Assembler:
    """Makes batches for one teacher.

    Args:
        tokenizer: Knows the special tokens.
        limit: Longest text in subwords, special tokens counted.
        vocabulary: Knows the phrases; None where there are none to find.

    Attributes:
        room: Longest text without its special tokens.
        specials: How many special tokens each text gets.

    Raises:
        UsageError: The limit leaves no room beside the special tokens.
    """

    def __init__(self, tokenizer: SubwordTokenizer, limit: int, vocabulary: Vocabulary | None = None) -> None:
        self.room = room_beside_specials(limit, tokenizer)
        self.specials = limit - self.room
        self.vocabulary = vocabulary
        self._prefix = np.array(tokenizer.prefix, dtype=np.int64)
        self._suffix = np.array(tokenizer.suffix, dtype=np.int64)

    def assemble(
        self, table: SubwordTable, sentence_text: Ints, word_ids: NDArray[np.int32], source_ids: Ints
    ) -> Batch:
        """Make a batch.

        Args:
            table: The texts.
            sentence_text: Number of each sentence's text [S].
            word_ids: Vocabulary id of each running word [W].
            source_ids: What each text is [B].
        """
        kept = np.minimum(table.text_lengths, self.room)
        old, texts = offsets_of(table.text_lengths), offsets_of(kept + self.specials)
        shift = texts[:-1] + len(self._prefix) - old[:-1]
        end = texts[1:] - len(self._suffix)
        sentence_end = np.minimum(table.sentence_end + shift[sentence_text], end[sentence_text])
        sentence = owners(table.words_in_sentence)
        text = sentence_text[sentence]
        first, last = table.word_start + shift[text], table.word_end + shift[text]
        lost = (last > end[text]) | (first >= last)
        first, last = np.where(lost, texts[text], first), np.where(lost, texts[text], last)
        known, phrase_start, phrase_end = self._find_phrases(np.where(lost, -1, word_ids), sentence)
        return Batch(
            subwords=self._surrounded(table.ids[ranges(old[:-1], kept)], kept, texts),
            text_offsets=texts,
            word_ids=known,
            word_start=np.concatenate([first, first[phrase_start]]),
            word_end=np.concatenate([last, last[phrase_end - 1]]),
            word_sentence=np.concatenate([sentence, sentence[phrase_start]]),
            sentence_start=np.minimum(table.sentence_start + shift[sentence_text], sentence_end),
            sentence_end=sentence_end,
            sentence_text=sentence_text,
            n_words=len(word_ids),
            phrase_start=phrase_start,
            phrase_end=phrase_end,
            source_ids=source_ids,
            n_truncated=int((table.text_lengths > self.room).sum()),
        )

    def _surrounded(self, ids: Ints, lengths: Ints, texts: Ints) -> Ints:
        subwords = np.empty(int(texts[-1]), dtype=np.int64)
        for tokens, starts in ((self._prefix, texts[:-1]), (self._suffix, texts[1:] - len(self._suffix))):
            subwords[starts[:, None] + np.arange(len(tokens))] = tokens
        subwords[ranges(texts[:-1] + len(self._prefix), lengths)] = ids
        return subwords

    def _find_phrases(self, ids: NDArray[np.int32], sentence: Ints) -> tuple[NDArray[np.int32], Ints, Ints]:
        """Ids of the running words and then of the phrases, and the range of words of each phrase."""
        if self.vocabulary is None:
            nothing = np.empty(0, dtype=np.int64)
            return ids.astype(np.int32), nothing, nothing
        phrases, first, last = self.vocabulary.phrases.find(ids, sentence)
        # Words that occur only in phrases have ids too, beyond the vocabulary.
        words = np.where(ids < len(self.vocabulary), ids, -1)
        return np.concatenate([words, phrases]).astype(np.int32), first, last + 1


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
