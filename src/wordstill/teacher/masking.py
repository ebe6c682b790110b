"""Texts with one word masked, for contexts that do not show the word that they are the context of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import ranges
from wordstill.teacher.batch import Batch


@dataclass(frozen=True, eq=False)
class Masking:
    """Masks one word of every text in a batch; each of several rounds takes another word of the text.

    Words are drawn after frequent ones are thinned out. A text without a word left is read as it is.
    """

    mask_id: int
    """The subword that takes the place of each one of the word."""
    keep: NDArray[np.float32]
    """Probability that an occurrence of each word of the vocabulary can be drawn [V]."""
    number: int
    """Number of the round, from 0."""
    seed: tuple[int, ...]

    def __call__(self, batch: Batch, place: int) -> Batch:
        """The batch with masks. ``place`` is the same for the same batch in every round."""
        rng = np.random.default_rng([*self.seed, place])
        can_be, order = rng.random((2, len(batch.word_ids)))
        usable = (batch.word_ids >= 0) & (batch.word_end > batch.word_start)
        words = np.flatnonzero(usable & (can_be < self.keep[np.where(usable, batch.word_ids, 0)]))
        text = batch.sentence_text[batch.word_sentence[words]]
        sequence = np.lexsort((order[words], text))
        words, text = words[sequence], text[sequence]
        rank = np.arange(len(words)) - np.searchsorted(text, text)
        masked = np.sort(words[rank == self.number])
        subwords = batch.subwords.copy()
        starts = batch.word_start[masked]
        subwords[ranges(starts, batch.word_end[masked] - starts)] = self.mask_id
        return replace(batch, subwords=subwords, masked=masked)
