from __future__ import annotations

from dataclasses import fields
from itertools import islice

import numpy as np
import pytest

import wordstill.teacher.batches as words_module
from wordstill.errors import UsageError
from wordstill.teacher import BatchConfig, WordListBatches

LIMIT = 40
INVISIBLE = "\u200b"
WORDS = ("still", "Still", "new york", "1923", "☃", INVISIBLE, "well-known", "river " * 60, "x")


def test_each_word_alone_without_its_blank(subwords):
    ids = np.arange(len(WORDS)) + 100
    source = WordListBatches(WORDS, ids, subwords, BatchConfig(budget=64, limit=LIMIT))
    marks = {subwords.backend.token_to_id("Ġ"), subwords.backend.token_to_id("▁")}
    room, seen = LIMIT - len(subwords.prefix) - len(subwords.suffix), []
    for batch in read_all(source):
        assert len(batch.lengths) * batch.lengths.max() <= 64 or len(batch.lengths) == 1
        assert batch.running == len(batch.places) == len(batch.word_ids)
        for number, place in enumerate(batch.places.tolist()):
            seen.append(place)
            pieces = subwords.encode([f" {WORDS[place]}"]).ids.tolist()
            text = batch.pieces[batch.texts[number] : batch.texts[number + 1]].tolist()
            assert text == [*subwords.prefix, *pieces[:room], *subwords.suffix]
            bare = [piece for piece in pieces if piece not in marks]
            if len(pieces) > room or not bare:
                assert batch.word_ids[number] == -1
                continue
            assert batch.word_ids[number] == ids[place]
            first, last = batch.word_first[number], batch.word_last[number]
            own = batch.pieces[first:last].tolist()
            assert [piece for piece in own if piece not in marks] == bare
            assert own[0] == bare[0]
            assert own[-1] == bare[-1]
    empty = [place for place, word in enumerate(WORDS) if len(subwords.encode([f" {word}"]).ids) == 0]
    assert sorted(seen + empty) == list(range(len(WORDS)))


def test_reading_from_any_position_gives_the_rest(subwords, unique_words, monkeypatch):
    monkeypatch.setattr(words_module, "WORDS_AT_ONCE", 10)
    words = list(islice(unique_words(), 47))
    source = WordListBatches(words, np.arange(47), subwords, BatchConfig(budget=20, limit=LIMIT))
    everything = list(source.since((0, 0)))
    assert sorted(np.concatenate([batch.places for _, batch in everything])) == list(range(47))
    for number, (position, _) in enumerate(everything):
        rest = [batch for _, batch in everything[number + 1 :]]
        assert_same([batch for _, batch in source.since(position)], rest)


def test_nothing_but_words_that_are_dropped(tiny_teacher):
    subwords = tiny_teacher("bert-uncased").subwords
    assert read_all(WordListBatches([INVISIBLE], np.array([3]), subwords, BatchConfig())) == []
    assert read_all(WordListBatches([], np.array([], dtype=np.int64), subwords, BatchConfig())) == []


def test_a_limit_without_room_for_text(tiny_teacher):
    subwords = tiny_teacher("bert-uncased").subwords
    with pytest.raises(UsageError, match=r"leaves no room for text beside the 2 special tokens"):
        WordListBatches(["x"], np.array([0]), subwords, BatchConfig(100, 2))


def read_all(source):
    return [batch for _, batch in source.since((0, 0))]


def assert_same(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others):
        for field in fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name
