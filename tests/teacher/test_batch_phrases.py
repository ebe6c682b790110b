from __future__ import annotations

import pytest

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.teacher import BatchConfig, TextBatches, piece_source

TEXT = (
    "The old still stands here. Still old, the old still, the OLD still!",
    "Nobody moved the old. Still it drips. New York-based: new york, old still stands in New York",
)
PHRASES = ("old still", "the old still", "still stands", "new york", "absent phrase")


@pytest.fixture
def corpus(write_store):
    return write_store(*TEXT)


@pytest.fixture
def vocabulary(corpus):
    return Vocabulary.build(corpus, VocabularyConfig(min_count=4, words=PHRASES))


def test_phrases_are_found_with_the_pieces_of_their_words(corpus, vocabulary, subwords):
    expected = slow_search(corpus)
    found = []
    for batch in read(corpus, vocabulary, subwords):
        running = batch.running
        assert len(batch.word_ids) == running + len(batch.phrase_first)
        for number, first, last in zip(
            range(running, len(batch.word_ids)), batch.phrase_first, batch.phrase_last, strict=True
        ):
            found.append(vocabulary.keys[batch.word_ids[number]])
            assert batch.word_first[number] == batch.word_first[first]
            assert batch.word_last[number] == batch.word_last[last]
            assert batch.word_sentence[number] == batch.word_sentence[first] == batch.word_sentence[last]
            assert last - first + 1 == len(found[-1].split())
    assert sorted(found) == sorted(expected)


def test_words_that_occur_only_in_phrases_are_not_known(corpus, vocabulary, subwords):
    assert "new" not in vocabulary.keys
    for batch in read(corpus, vocabulary, subwords):
        assert batch.word_ids.max() < len(vocabulary)


def slow_search(corpus):
    found = []
    for paragraph in corpus:
        for sentence in paragraph.sentences:
            words = [word.text.lower() for word in sentence.words]
            for phrase in PHRASES:
                parts = phrase.split()
                found += [phrase for start in range(len(words)) if words[start : start + len(parts)] == parts]
    assert {"old still", "the old still", "still stands", "new york"} == set(found)
    return found


def read(corpus, vocabulary, subwords):
    source = piece_source(corpus, subwords)
    reading = TextBatches(corpus, vocabulary, source, subwords, BatchConfig())
    return [batch for _, batch in reading.since((0, 0))]
