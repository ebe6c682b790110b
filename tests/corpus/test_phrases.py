from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordstill.corpus.phrases import PhraseTable, count_phrases, sentence_ranges

PHRASES = st.dictionaries(
    st.lists(st.integers(0, 4), min_size=2, max_size=5).map(tuple), st.integers(0, 50), max_size=8
)


def slow_find(phrases: dict[tuple[int, ...], int], ids: list[int], sentences: list[int]) -> list[tuple[int, int, int]]:
    return [
        (phrases[tuple(ids[start:end])], start, end)
        for start in range(len(ids))
        for end in range(start + 2, len(ids) + 1)
        if tuple(ids[start:end]) in phrases and len(set(sentences[start:end])) == 1
    ]


@given(PHRASES, st.lists(st.tuples(st.integers(-1, 6), st.booleans()), max_size=60))
def test_found_as_by_looking_everywhere(phrases: dict[tuple[int, ...], int], words: list[tuple[int, bool]]) -> None:
    ids = [word for word, _ in words]
    sentences = np.cumsum([ends for _, ends in words], dtype=np.int64)
    table = PhraseTable(phrases)
    found = table.find(np.array(ids, dtype=np.int32), sentences)
    assert len(table) == len(phrases)
    assert list(zip(*(array.tolist() for array in found))) == slow_find(phrases, ids, sentences.tolist())


def test_no_phrases() -> None:
    found = PhraseTable({}).find(np.array([0, 1, -1], dtype=np.int32), np.zeros(3, dtype=np.int64))
    assert [array.tolist() for array in found] == [[], [], []]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 50))
def test_ranges_cover_all_sentences(lengths: list[int], limit: int) -> None:
    sentences = np.concatenate([[0], np.cumsum(lengths)])
    ranges = list(sentence_ranges(sentences, limit))
    assert [number for first, last in ranges for number in range(first, last)] == list(range(len(lengths)))
    assert all(last == first + 1 or sentences[last] - sentences[first] <= limit for first, last in ranges)


def test_counts_and_spellings(make_corpus) -> None:
    corpus = make_corpus("New York, New York! new\nYork. A NEW York and (New york).\nNew York\n")
    ids = {"new": 0, "york": 1}
    words = []
    for form in range(len(corpus.forms)):
        for slot in range(*corpus.forms.word_offsets[form : form + 2]):
            word = corpus.forms[form][corpus.forms.word_starts[slot] : corpus.forms.word_ends[slot]]
            words.append(ids.get(word.lower(), -1))
    counts = count_phrases(corpus, np.array(words, dtype=np.int32), PhraseTable({(0, 1): 7}), scan_forms=3)
    assert counts == {7: (5, "New York")}
