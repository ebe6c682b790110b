"""Which occurrences of a word are kept: a bounded sample, chosen before the text is read.

Every occurrence has a hash of the seed and its place; of each word those with the smallest hashes are kept
(bottom-k sampling). So the sample depends on the text, the words and the seed only, not on batches, order or the
number of machines, and what it needs is known before the teacher has read a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import Ints, offsets_of
from wordstill.corpus.phrases import sentence_ranges
from wordstill.corpus.store import Corpus
from wordstill.corpus.vocabulary import Vocabulary

POSITION_BITS, SIZE_BITS = 16, 8
SCAN_FORMS = 1 << 20
MOST_WAITING = 1 << 22
"""Occurrences that are held before those with larger hashes are dropped."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class ChosenOccurrences:
    """Places of the occurrences that are kept, word by word. R words, T occurrences."""

    words: Ints
    """[R] ids in the vocabulary, ascending."""
    offsets: Ints
    """[R + 1] where the occurrences of each word begin."""
    codes: Ints
    """[T] `place_code` of each, ascending inside a word."""

    def __len__(self) -> int:
        return len(self.codes)


def place_code(sentence: Any, position: Any, size: Any) -> Any:
    """One number for each place, in reading order: sentence of the corpus, word of the sentence, words of a phrase.

    Arrays and tensors will do.
    """
    return (sentence * (1 << POSITION_BITS) + position) * (1 << SIZE_BITS) + size


def places(codes: Ints) -> tuple[Ints, Ints, Ints]:
    """Sentence, position and size of codes."""
    position = (codes >> SIZE_BITS) & ((1 << POSITION_BITS) - 1)
    return codes >> (POSITION_BITS + SIZE_BITS), position, codes & ((1 << SIZE_BITS) - 1)


def choose_occurrences(
    corpus: Corpus,
    vocabulary: Vocabulary,
    words: Ints,
    number: int,
    seed: int = 0,
    *,
    scan_forms: int = SCAN_FORMS,
    most_waiting: int = MOST_WAITING,
) -> ChosenOccurrences:
    """At most ``number`` occurrences of each of the words, given by their ids.

    Words behind the first 65,536 of a sentence, and phrases of more than 255 words, are never chosen.
    """
    words = np.unique(words)
    row_of = np.full(len(vocabulary), -1, dtype=np.int64)
    row_of[words] = np.arange(len(words))
    largest = np.full(len(words), np.iinfo(np.uint64).max, dtype=np.uint64)
    rows, codes, hashes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    for found_rows, found_codes in _occurrences(corpus, vocabulary, row_of, scan_forms):
        found = place_hashes(found_codes, seed)
        low = found <= largest[found_rows]
        rows = np.concatenate([rows, found_rows[low]])
        codes, hashes = np.concatenate([codes, found_codes[low]]), np.concatenate([hashes, found[low]])
        if len(rows) > most_waiting:
            kept = _smallest(rows, hashes, number)
            rows, codes, hashes = rows[kept], codes[kept], hashes[kept]
            full = np.bincount(rows, minlength=len(words)) == number
            last = np.zeros(len(words), dtype=np.uint64)
            np.maximum.at(last, rows, hashes)
            largest[full] = last[full]
    kept = _smallest(rows, hashes, number)
    rows, codes = rows[kept], codes[kept]
    order = np.lexsort((codes, rows))
    return ChosenOccurrences(words, offsets_of(np.bincount(rows, minlength=len(words))), codes[order])


def place_hashes(codes: Ints, seed: int) -> Hashes:
    """Evenly spread hashes of codes, by the finalizer of splitmix64."""
    mixed = codes.astype(np.uint64) + _mix(np.array([seed], dtype=np.uint64))
    return _mix(mixed)


def _mix(values: Hashes) -> Hashes:
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _smallest(rows: Ints, hashes: Hashes, number: int) -> Ints:
    """Numbers of the ``number`` smallest hashes of each row; of equal ones the first in the text."""
    order = np.lexsort((hashes, rows))
    ordered = rows[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return np.sort(order[rank < number])


def _occurrences(corpus: Corpus, vocabulary: Vocabulary, row_of: Ints, scan_forms: int) -> Iterator[tuple[Ints, Ints]]:
    """Row and code of every occurrence of the words, a part of the text at a time, in reading order."""
    ids_of_slots = vocabulary.word_ids(corpus)
    for first, last in sentence_ranges(corpus.sentences, scan_forms):
        slots, sentence = corpus.word_slots(first, last)
        ids = ids_of_slots[slots]
        position = np.arange(len(ids)) - np.searchsorted(sentence, sentence)
        start, size = np.arange(len(ids)), np.ones(len(ids), dtype=np.int64)
        known = np.where(ids < len(vocabulary), ids, -1).astype(np.int64)
        if len(vocabulary.phrases):
            phrases, begin, end = vocabulary.phrases.find(ids, sentence)
            known, start = np.concatenate([known, phrases]), np.concatenate([start, begin])
            size = np.concatenate([size, end - begin + 1])
        rows = np.where(known >= 0, row_of[known], -1)
        fits = (rows >= 0) & (position[start] < 1 << POSITION_BITS) & (size < 1 << SIZE_BITS)
        start = start[fits]
        yield rows[fits], place_code(sentence[start], position[start], size[fits])
