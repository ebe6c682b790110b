"""From the sub-words of texts to a batch: special tokens around each, over-long ends cut, phrases found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.corpus import Vocabulary
from wordstill.teacher.batch import Batch
from wordstill.teacher.subwords import TextPieceTable
from wordstill.teacher.tokenizer import Subwords, room_beside_specials


class Assembler:
    """Makes batches for one teacher.

    Args:
        subwords: Knows the special tokens.
        limit: Longest text in sub-words, special tokens counted.
        vocabulary: Knows the phrases; None where there are none to find.

    Attributes:
        room: Longest text without its special tokens.
        specials: How many special tokens each text gets.

    Raises:
        UsageError: The limit leaves no room beside the special tokens.
    """

    def __init__(self, subwords: Subwords, limit: int, vocabulary: Vocabulary | None = None) -> None:
        self.room = room_beside_specials(limit, subwords)
        self.specials = limit - self.room
        self.vocabulary = vocabulary
        self._prefix = np.array(subwords.prefix, dtype=np.int64)
        self._suffix = np.array(subwords.suffix, dtype=np.int64)

    def assemble(
        self, table: TextPieceTable, sentence_text: Ints, word_ids: NDArray[np.int32], places: Ints
    ) -> Batch:
        """Make a batch.

        Args:
            table: The texts.
            sentence_text: Number of each sentence's text [S].
            word_ids: Vocabulary id of each running word [W].
            places: What each text is [B].
        """
        kept = np.minimum(table.text_lengths, self.room)
        old, texts = offsets_of(table.text_lengths), offsets_of(kept + self.specials)
        shift = texts[:-1] + len(self._prefix) - old[:-1]
        end = texts[1:] - len(self._suffix)
        sentence_last = np.minimum(table.sentence_last + shift[sentence_text], end[sentence_text])
        sentence = owners(table.words_in_sentence)
        text = sentence_text[sentence]
        first, last = table.word_first + shift[text], table.word_last + shift[text]
        lost = (last > end[text]) | (first >= last)
        first, last = np.where(lost, texts[text], first), np.where(lost, texts[text], last)
        known, phrase_first, phrase_last = self._find_phrases(np.where(lost, -1, word_ids), sentence)
        return Batch(
            pieces=self._surrounded(table.ids[ranges(old[:-1], kept)], kept, texts),
            texts=texts,
            word_ids=known,
            word_first=np.concatenate([first, first[phrase_first]]),
            word_last=np.concatenate([last, last[phrase_last]]),
            word_sentence=np.concatenate([sentence, sentence[phrase_first]]),
            sentence_first=np.minimum(table.sentence_first + shift[sentence_text], sentence_last),
            sentence_last=sentence_last,
            sentence_text=sentence_text,
            running=len(word_ids),
            phrase_first=phrase_first,
            phrase_last=phrase_last,
            places=places,
            cut=int((table.text_lengths > self.room).sum()),
        )

    def _surrounded(self, ids: Ints, lengths: Ints, texts: Ints) -> Ints:
        pieces = np.empty(int(texts[-1]), dtype=np.int64)
        for tokens, starts in ((self._prefix, texts[:-1]), (self._suffix, texts[1:] - len(self._suffix))):
            pieces[starts[:, None] + np.arange(len(tokens))] = tokens
        pieces[ranges(texts[:-1] + len(self._prefix), lengths)] = ids
        return pieces

    def _find_phrases(self, ids: NDArray[np.int32], sentence: Ints) -> tuple[NDArray[np.int32], Ints, Ints]:
        """Ids of the running words and then of the phrases, and the first and last word of each phrase."""
        if self.vocabulary is None:
            nothing = np.empty(0, dtype=np.int64)
            return ids.astype(np.int32), nothing, nothing
        phrases, first, last = self.vocabulary.phrases.find(ids, sentence)
        # Words that occur only in phrases have ids too, beyond the vocabulary.
        words = np.where(ids < len(self.vocabulary), ids, -1)
        return np.concatenate([words, phrases]).astype(np.int32), first, last


def trial_batch(pieces: Ints, limit: int) -> Batch:
    """Beginnings of a text, of different lengths, together longer than the limit."""
    whole = len(pieces)
    lengths = [max(1, whole - shorter % whole) for shorter in range(limit // whole * 2 + 2)]
    return bare_batch([pieces[:length] for length in lengths])


def bare_batch(texts: Sequence[Ints]) -> Batch:
    """A batch of some texts [n] each, of which no words are known."""
    none = np.empty(0, dtype=np.int64)
    return Batch(
        pieces=np.concatenate(texts),
        texts=offsets_of(np.array([len(text) for text in texts])),
        word_ids=none.astype(np.int32),
        word_first=none,
        word_last=none,
        word_sentence=none,
        sentence_first=none,
        sentence_last=none,
        sentence_text=none,
        running=0,
        phrase_first=none,
        phrase_last=none,
        places=np.arange(len(texts)),
    )
