from __future__ import annotations

import pytest

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.teacher import BatchConfig, TextBatches, subword_source

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


def test_phrases_are_found_with_the_subwords_of_their_words(corpus, vocabulary, tokenizer):
    expected = slow_search(corpus)
    found = []
    for batch in read(corpus, vocabulary, tokenizer):
        running = batch.n_words
        assert len(batch.word_ids) == running + len(batch.phrase_start)
        for number, start, end in zip(
            range(running, len(batch.word_ids)), batch.phrase_start, batch.phrase_end, strict=True
        ):
            found.append(vocabulary.keys[batch.word_ids[number]])
            assert batch.word_start[number] == batch.word_start[start]
            assert batch.word_end[number] == batch.word_end[end - 1]
            assert batch.word_sentence[number] == batch.word_sentence[start] == batch.word_sentence[end - 1]
            assert end - start == len(found[-1].split())
    assert sorted(found) == sorted(expected)


def test_words_that_occur_only_in_phrases_are_not_known(corpus, vocabulary, tokenizer):
    assert "new" not in vocabulary.keys
    for batch in read(corpus, vocabulary, tokenizer):
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


def read(corpus, vocabulary, tokenizer):
    source = subword_source(corpus, tokenizer)
    reading = TextBatches(corpus, vocabulary, source, tokenizer, BatchConfig())
    return [batch for _, batch in reading.since((0, 0))]
