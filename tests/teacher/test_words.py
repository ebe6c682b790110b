from __future__ import annotations

from dataclasses import fields
from itertools import islice

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.teacher import BatchConfig, WordListBatches

LIMIT = 40
INVISIBLE = "\u200b"
WORDS = ("still", "Still", "new york", "1923", "☃", INVISIBLE, "well-known", "river " * 60, "x")


def test_each_word_alone_without_its_space(tokenizer):
    ids = np.arange(len(WORDS)) + 100
    source = WordListBatches(WORDS, ids, tokenizer, BatchConfig(budget=64, limit=LIMIT))
    marks = {tokenizer.backend.token_to_id("Ġ"), tokenizer.backend.token_to_id("▁")}
    room, seen = LIMIT - len(tokenizer.prefix) - len(tokenizer.suffix), []
    for batch in read_all(source):
        assert len(batch.lengths) * batch.lengths.max() <= 64 or len(batch.lengths) == 1
        assert batch.n_words == len(batch.source_ids) == len(batch.word_ids)
        for number, place in enumerate(batch.source_ids.tolist()):
            seen.append(place)
            subwords = tokenizer.encode([f" {WORDS[place]}"]).ids.tolist()
            text = batch.subwords[batch.text_offsets[number] : batch.text_offsets[number + 1]].tolist()
            assert text == [*tokenizer.prefix, *subwords[:room], *tokenizer.suffix]
            bare = [subword for subword in subwords if subword not in marks]
            if len(subwords) > room or not bare:
                assert batch.word_ids[number] == -1
                continue
            assert batch.word_ids[number] == ids[place]
            first, last = batch.word_start[number], batch.word_end[number]
            own = batch.subwords[first:last].tolist()
            assert [subword for subword in own if subword not in marks] == bare
            assert own[0] == bare[0]
            assert own[-1] == bare[-1]
    empty = [place for place, word in enumerate(WORDS) if len(tokenizer.encode([f" {word}"]).ids) == 0]
    assert sorted(seen + empty) == list(range(len(WORDS)))


def test_reading_from_any_position_gives_the_rest(tokenizer, unique_words):
    words = list(islice(unique_words(), 47))
    config = BatchConfig(budget=20, limit=LIMIT)
    source = WordListBatches(words, np.arange(47), tokenizer, config, window_words=20)
    everything = list(source.since((0, 0)))
    assert sorted(np.concatenate([batch.source_ids for _, batch in everything])) == list(range(47))
    for number, (position, _) in enumerate(everything):
        rest = [batch for _, batch in everything[number + 1 :]]
        assert_same([batch for _, batch in source.since(position)], rest)


def test_nothing_but_words_that_are_dropped(tiny_teacher):
    tokenizer = tiny_teacher("bert-uncased").tokenizer
    assert read_all(WordListBatches([INVISIBLE], np.array([3]), tokenizer, BatchConfig())) == []
    assert read_all(WordListBatches([], np.array([], dtype=np.int64), tokenizer, BatchConfig())) == []


def test_a_limit_without_room_for_text(tiny_teacher):
    tokenizer = tiny_teacher("bert-uncased").tokenizer
    with pytest.raises(UsageError, match=r"leaves no room for text next to the 2 special tokens"):
        WordListBatches(["x"], np.array([0]), tokenizer, BatchConfig(100, 2))


def read_all(source):
    return [batch for _, batch in source.since((0, 0))]


def assert_same(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others):
        for field in fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name
