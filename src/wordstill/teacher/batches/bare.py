"""Batches of texts of which no words are known, for trials of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.ragged import Ints, offsets_of


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
