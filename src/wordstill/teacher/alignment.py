"""Which subwords make up a word: decided by character spans alone.

A word owns every subword whose span overlaps its own by at least one character. Spans never come from
matching strings or counting punctuation, so a subword that covers two words (``."`` in byte-level BPE)
belongs to both, and the several byte subwords of one emoji all belong to the word that holds it. A subword
without any character of the text, such as a lone space mark, has an empty span and overlaps nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from wordstill.core.ragged import Ints


def align(
    subword_starts: ArrayLike, subword_ends: ArrayLike, word_starts: ArrayLike, word_ends: ArrayLike
) -> tuple[Ints, Ints]:
    """Half-open ranges of subwords, one for each word; empty where the tokenizer dropped the word.

    All spans are in one character coordinate, subwords in reading order (several texts are laid end to end by
    adding each text's start). Cost: one binary search per word.

    >>> first, last = align([0, 3, 4], [3, 4, 8], [0, 3], [4, 8])
    >>> first.tolist(), last.tolist()
    ([0, 1], [2, 3])
    """
    starts, ends = np.asarray(subword_starts, dtype=np.int64), np.asarray(subword_ends, dtype=np.int64)
    real = np.flatnonzero(starts < ends)
    low = np.searchsorted(np.maximum.accumulate(ends[real]), word_starts, side="right")
    high = np.searchsorted(np.maximum.accumulate(starts[real]), word_ends, side="left")
    numbers = np.append(real, len(starts))
    nowhere = np.searchsorted(np.maximum.accumulate(ends), word_starts, side="right")
    first = np.where(low < high, numbers[low], nowhere)
    last = np.where(low < high, numbers[high - 1] + 1, nowhere)
    return first.astype(np.int64), last.astype(np.int64)
