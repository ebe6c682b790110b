"""What the teacher reads at one time: sub-words of several texts, unpadded, and where their words are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordstill.teacher.ragged import Ints


@dataclass(frozen=True)
class Batch:
    """Texts packed end to end. P sub-words, B texts, S sentences, W words.

    All ranges are half-open and count sub-words from the start of the batch, special tokens included. The
    first ``running`` words are the running text in reading order; the rest are occurrences of multi-word
    phrases, whose words are ``phrase_first`` to ``phrase_last`` (inclusive).
    """

    pieces: Ints
    """[P] sub-word ids with each text's special tokens."""
    texts: Ints
    """[B + 1] where each text begins."""
    word_ids: NDArray[np.int32]
    """[W] vocabulary id, -1 outside the vocabulary or without any sub-word."""
    word_first: Ints
    word_last: Ints
    word_sentence: Ints
    """[W] number of the word's sentence in this batch."""
    sentence_first: Ints
    sentence_last: Ints
    sentence_text: Ints
    """[S] number of the sentence's text (its paragraph, or a part of one) in this batch."""
    running: int
    phrase_first: Ints
    phrase_last: Ints
    places: Ints
    """[B] what each text is: the number of its paragraph in the corpus, or of its word in the word list."""
    cut: int = 0
    """How many sentences were longer than the teacher's limit and lost their end."""

    @property
    def lengths(self) -> Ints:
        """[B] sub-words of each text."""
        return np.diff(self.texts)
