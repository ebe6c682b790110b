"""Which sub-words make up a word: decided by character spans alone.

A word owns every sub-word whose span overlaps its own by at least one character. Spans never come from
matching strings or counting punctuation, so a sub-word that covers two words (``."`` in byte-level BPE)
belongs to both, and the several byte pieces of one emoji all belong to the word that holds it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from wordstill.teacher.ragged import Ints


def align(
    piece_starts: ArrayLike, piece_ends: ArrayLike, word_starts: ArrayLike, word_ends: ArrayLike
) -> tuple[Ints, Ints]:
    """Half-open ranges of sub-words, one for each word; empty where the tokenizer dropped the word.

    All spans are in one character coordinate, pieces in reading order (several texts are laid end to end by
    adding each text's start). Cost: one binary search per word.

    >>> first, last = align([0, 3, 4], [3, 4, 8], [0, 3], [4, 8])
    >>> first.tolist(), last.tolist()
    ([0, 1], [2, 3])
    """
    starts, ends = monotone_spans(piece_starts, piece_ends)
    first = np.searchsorted(ends, word_starts, side="right")
    last = np.searchsorted(starts, word_ends, side="left")
    return first.astype(np.int64), np.maximum(first, last).astype(np.int64)


def monotone_spans(piece_starts: ArrayLike, piece_ends: ArrayLike) -> tuple[Ints, Ints]:
    """Spans made fit for binary search.

    Tokenizers give pieces without any character of the text an empty span, sometimes ``(0, 0)``. Such a piece
    is moved to the end of what was read before it; between two words it then belongs to neither.
    """
    starts = np.asarray(piece_starts, dtype=np.int64)
    ends = np.asarray(piece_ends, dtype=np.int64)
    read_so_far = np.maximum.accumulate(ends)
    starts = np.where(starts == ends, read_so_far, starts)
    return np.maximum.accumulate(starts), read_so_far
