"""Counts of the words of a corpus, from the counts of its forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus.keys import KeyRule, key_of
from wordstill.corpus.spill import SpillCounter
from wordstill.corpus.store import Corpus

FORM_CHUNK = 1 << 15
# No byte of UTF-8 text is 0xff.
SEPARATOR = b"\xff"


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its count and its most frequent spelling."""

    key: str
    count: int
    surface: str


def count_words(corpus: Corpus, rule: KeyRule, counter: SpillCounter) -> None:
    """Count every word under its key, and its spelling with it."""
    for start, words, form_of_word in _form_words(corpus):
        counts = corpus.forms.counts[start:][form_of_word].tolist()
        for word, count in zip(words, counts):
            counter.add(key_of(word, rule).encode() + SEPARATOR + word.encode(), count)


def sum_spellings(counter: SpillCounter) -> Iterator[Entry]:
    """Sums over the spellings of each key, which stand together in the counter because they begin with it."""
    split = ((pair.split(SEPARATOR), count) for pair, count in counter)
    for key, group in groupby(split, key=lambda item: item[0][0]):
        spellings = [(-count, surface) for (_, surface), count in group]
        total = -sum(count for count, _ in spellings)
        yield Entry(key.decode(), total, min(spellings)[1].decode())


def lookup(corpus: Corpus, ids: Mapping[str, int], rule: KeyRule) -> NDArray[np.int32]:
    """The id of every word of every form, -1 where its key has none [N]."""
    found = np.empty(len(corpus.forms.word_starts), dtype=np.int32)
    position = 0
    for _, words, _ in _form_words(corpus):
        numbers = [ids.get(key_of(word, rule), -1) for word in words]
        found[position : position + len(numbers)] = numbers
        position += len(numbers)
    return found


def _form_words(corpus: Corpus) -> Iterator[tuple[int, list[str], NDArray[np.int64]]]:
    """The words of all forms in chunks: number of the first form, the words, the form of each from there."""
    table = corpus.forms
    for start in range(0, len(table), FORM_CHUNK):
        stop = min(start + FORM_CHUNK, len(table))
        forms = table.slice(start, stop)
        offsets = table.word_offsets[start : stop + 1]
        span = slice(int(offsets[0]), int(offsets[-1]))
        form_of_word = np.repeat(np.arange(stop - start), np.diff(offsets))
        places = zip(form_of_word.tolist(), table.word_starts[span].tolist(), table.word_ends[span].tolist())
        yield start, [forms[form][begin:end] for form, begin, end in places], form_of_word
