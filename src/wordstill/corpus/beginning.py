"""The beginning of a prepared text: where so many words end, and how often each word occurs before there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus.phrases import count_phrases
from wordstill.corpus.store import Corpus
from wordstill.corpus.vocabulary import Vocabulary

PARAGRAPHS_AT_ONCE, FORMS_AT_ONCE = 1 << 16, 1 << 24


class Beginning:
    """The first paragraphs of a text that hold at least so many words; all of them if there are fewer.

    Attributes:
        paragraphs: How many they are.
        words: How many words they hold.
    """

    def __init__(self, corpus: Corpus, words: int) -> None:
        self.corpus, self.paragraphs, self.words = corpus, 0, 0
        per_form = np.diff(corpus.forms.word_offsets)
        while self.words < words and self.paragraphs < len(corpus):
            stop = min(self.paragraphs + PARAGRAPHS_AT_ONCE, len(corpus))
            ends = corpus.sentences[corpus.paragraphs[self.paragraphs : stop + 1]]
            held = np.concatenate([[0], np.cumsum(per_form[corpus.form_ids[ends[0] : ends[-1]]])])[ends - ends[0]]
            taken = min(int(np.searchsorted(held, words - self.words)), len(held) - 1)
            self.paragraphs, self.words = self.paragraphs + taken, self.words + int(held[taken])

    def counts(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """How often each word of a vocabulary of the whole text occurs in it [V]."""
        corpus, ids = self.corpus, vocabulary.word_ids(self.corpus)
        sentences = corpus.sentences[: corpus.paragraphs[self.paragraphs] + 1]
        forms = np.zeros(len(corpus.forms), dtype=np.int64)
        for start in range(0, int(sentences[-1]), FORMS_AT_ONCE):
            stop = min(start + FORMS_AT_ONCE, int(sentences[-1]))
            forms += np.bincount(corpus.form_ids[start:stop], minlength=len(forms))
        uses = np.repeat(forms, np.diff(corpus.forms.word_offsets))
        known = (ids >= 0) & (ids < len(vocabulary))
        counts = np.bincount(ids[known], weights=uses[known], minlength=len(vocabulary)).astype(np.int64)
        if len(vocabulary.phrases):
            found = count_phrases(corpus, ids, vocabulary.phrases, sentences=sentences)
            for phrase, (count, _) in found.items():
                counts[phrase] = count
        return counts
