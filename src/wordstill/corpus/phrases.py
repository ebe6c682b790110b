"""Finding phrases in sequences of word ids, for many sentences at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import find_sorted
from wordstill.corpus.store import Corpus

SCAN_FORMS = 1 << 20

Matches = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class PhraseTable:
    """A trie over word ids, in arrays, which all positions of a text descend together.

    Args:
        phrases: The id of each phrase by its word ids, at least two.
    """

    def __init__(self, phrases: Mapping[tuple[int, ...], int]) -> None:
        self._width = 1 + max((max(words) for words in phrases), default=0)
        ends = [-1]
        edges: dict[tuple[int, int], int] = {}
        for words, phrase in phrases.items():
            node = 0
            for word in words:
                child = edges.setdefault((node, word), len(ends))
                if child == len(ends):
                    ends.append(-1)
                node = child
            ends[node] = phrase
        keys = np.array([node * self._width + word for node, word in edges], dtype=np.int64)
        order = np.argsort(keys)
        self._length = len(phrases)
        self._keys = keys[order]
        self._children = np.array(list(edges.values()), dtype=np.int64)[order]
        self._ends = np.array(ends, dtype=np.int64)
        self._starts = np.zeros(self._width, dtype=bool)
        self._starts[[words[0] for words in phrases]] = True

    def __len__(self) -> int:
        return self._length

    def find(self, ids: NDArray[np.int32], sentence_of_word: NDArray[np.int64]) -> Matches:
        """All occurrences of phrases within sentences, including overlapping ones.

        Args:
            ids: Ids of running words, -1 for unknown words [W].
            sentence_of_word: The sentence of each word [W].

        Returns:
            Phrase id, start and exclusive end of each, sorted by start and end [M].
        """
        start = np.flatnonzero(self._can_start(ids))
        nodes, positions = np.zeros(len(start), dtype=np.int64), start
        found: list[Matches] = []
        while len(start):
            child = self._step(nodes, ids[positions].astype(np.int64))
            alive = child >= 0
            start, positions, nodes = start[alive], positions[alive], child[alive]
            phrases = self._ends[nodes]
            ending = phrases >= 0
            found.append((phrases[ending], start[ending], positions[ending] + 1))
            positions = positions + 1
            inside = positions < len(ids)
            start, positions, nodes = start[inside], positions[inside], nodes[inside]
            inside = sentence_of_word[positions] == sentence_of_word[start]
            start, positions, nodes = start[inside], positions[inside], nodes[inside]
        return _ordered(found)

    def _can_start(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        known = (ids >= 0) & (ids < self._width)
        return known & self._starts[np.where(known, ids, 0)]

    def _step(self, nodes: NDArray[np.int64], words: NDArray[np.int64]) -> NDArray[np.int64]:
        """The child of each node for a word; -1 if there is none."""
        keys = nodes * self._width + words
        place, known = find_sorted(self._keys, keys)
        return np.where(known & (words >= 0) & (words < self._width), self._children[place], -1)


def count_phrases(
    corpus: Corpus,
    word_ids: NDArray[np.int32],
    table: PhraseTable,
    scan_forms: int = SCAN_FORMS,
    *,
    sentences: NDArray[np.int64] | None = None,
) -> dict[int, tuple[int, str]]:
    """Count of every phrase that occurs, and its most frequent spelling.

    ``word_ids`` has the id of every word of every form, -1 for unknown words [N]; ``scan_forms`` is how many forms of
    the text are scanned at once; ``sentences`` has the offsets of the sentences to scan, by default all.
    """
    spellings: dict[int, Counter[str]] = {}
    for start, end in sentence_ranges(corpus.sentences if sentences is None else sentences, scan_forms):
        slots, sentence_of_word = corpus.word_slots(start, end)
        phrases, starts, ends = table.find(word_ids[slots], sentence_of_word)
        for length in np.unique(ends - starts):
            same = ends - starts == length
            rows = slots[starts[same][:, None] + np.arange(length)]
            distinct, counts = np.unique(np.column_stack([phrases[same], rows]), axis=0, return_counts=True)
            for (phrase, *words), count in zip(distinct.tolist(), counts.tolist()):
                spellings.setdefault(phrase, Counter())[_spelling(corpus, words)] += count
    return {
        phrase: (counter.total(), min(counter, key=lambda text: (-counter[text], text)))
        for phrase, counter in spellings.items()
    }


def _ordered(found: Sequence[Matches]) -> Matches:
    if not found:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    phrases, start, end = (np.concatenate(parts) for parts in zip(*found))
    order = np.lexsort((end, start))
    return phrases[order], start[order], end[order]


def sentence_ranges(sentences: NDArray[np.int64], forms: int) -> Iterator[tuple[int, int]]:
    """Ranges of sentences with about ``forms`` forms each."""
    start, total = 0, len(sentences) - 1
    while start < total:
        end = int(np.searchsorted(sentences, sentences[start] + forms, side="right")) - 1
        end = min(max(end, start + 1), total)
        yield start, end
        start = end


def _spelling(corpus: Corpus, slots: list[int]) -> str:
    table = corpus.forms
    forms = np.searchsorted(table.word_offsets, slots, side="right") - 1
    return " ".join(
        table[int(form)][int(table.word_starts[slot]) : int(table.word_ends[slot])] for form, slot in zip(forms, slots)
    )
