from __future__ import annotations

import random
from dataclasses import fields
from itertools import islice

import numpy as np
import pytest

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.errors import UsageError
from wordstill.teacher import BatchConfig, TextBatches, WordListBatches, batches, piece_source

KINDS = ["bert-uncased", "roberta", "gpt2", "llama3", "llama2", "xlmr", "t5"]
LIMIT, BUDGET = 40, 200
CONFIG = BatchConfig(budget=BUDGET, limit=LIMIT)
INVISIBLE = "\u200b"


def unique_words():
    """Words that never repeat, in letters that every tiny tokenizer knows."""
    letters = "aeinorst"
    number = len(letters)
    while True:
        number += 1
        digits, rest = "", number
        while rest:
            rest, digit = divmod(rest, len(letters))
            digits += letters[digit]
        yield digits


@pytest.fixture(scope="module")
def corpus(write_store):
    """Short and long paragraphs, sentences over the limit, words and whole paragraphs that BERT drops."""
    words, rng = unique_words(), random.Random(0)

    def sentence(size):
        return " ".join(islice(words, size)).capitalize() + rng.choice([".", "!", "...", ",", ""])

    lines = []
    for sentences in [1, 2, 3, 30, 1, 4, 12, 2, 1, 1, 20, 3, 1]:
        lines += [sentence(rng.choice([1, 2, 3, 4, 6])) for _ in range(sentences)] + [""]
    lines += [sentence(60), sentence(3), sentence(80), ""]
    lines += [sentence(2), INVISIBLE, f"{sentence(2)} {INVISIBLE} {sentence(3)}", "", INVISIBLE, "", sentence(4)]
    return write_store(*lines, sentences_per_line=True)


@pytest.fixture(scope="module")
def vocabulary(corpus):
    return Vocabulary.build(corpus, VocabularyConfig(min_count=1))


@pytest.fixture(params=KINDS)
def subwords(request, tiny_teacher):
    return tiny_teacher(request.param).subwords


def text_batches(corpus, vocabulary, subwords, config=CONFIG):
    return TextBatches(corpus, vocabulary, piece_source(corpus, subwords), subwords, config)


def read_all(source):
    return [batch for _, batch in source.since((0, 0))]


def sentence_texts(corpus):
    """The string of every sentence, with the blank before it if there is one."""
    bounds = corpus.sentences.tolist()
    return ["".join(map(corpus.forms.__getitem__, corpus.tokens[a:b].tolist())) for a, b in zip(bounds, bounds[1:])]


def sentence_keys(corpus, vocabulary):
    """The vocabulary ids of every sentence's words, found one by one."""
    return [
        [vocabulary.id(word.text) for word in sentence.words]
        for paragraph in corpus
        for sentence in paragraph.sentences
    ]


def find_sentence(batch, number, keys):
    """Which sentence of the corpus a sentence of a batch is: its known words are nowhere else."""
    ids = batch.word_ids[: batch.running][batch.word_sentence[: batch.running] == number]
    return [
        place for place, words in enumerate(keys)
        if len(words) == len(ids) and all(id in (-1, key) for id, key in zip(ids, words))
    ]  # fmt: skip


def located(batch, corpus, keys):
    """For each text of a batch, the numbers of its sentences in the corpus."""
    texts = []
    for number in range(len(batch.places)):
        first, last = corpus.paragraphs[batch.places[number]], corpus.paragraphs[batch.places[number] + 1]
        mine = np.flatnonzero(batch.sentence_text == number)
        starts = [
            start for start in range(first, last - len(mine) + 1)
            if all(start + step in find_sentence(batch, sentence, keys) for step, sentence in enumerate(mine))
        ]  # fmt: skip
        assert len(starts) == 1
        texts.append(list(range(starts[0], starts[0] + len(mine))))
    return texts


def test_every_word_once_in_order_with_its_id_sentence_and_pieces(corpus, vocabulary, subwords):
    keys, strings = sentence_keys(corpus, vocabulary), sentence_texts(corpus)
    room = LIMIT - len(subwords.prefix) - len(subwords.suffix)
    seen, cut, running = [], 0, 0
    for batch in read_all(text_batches(corpus, vocabulary, subwords)):
        for number, sentences in enumerate(located(batch, corpus, keys)):
            text = "".join(strings[sentence] for sentence in sentences)
            pieces = subwords.encode([text]).ids
            got = batch.pieces[batch.texts[number] : batch.texts[number + 1]]
            assert got.tolist() == [*subwords.prefix, *pieces[:room], *subwords.suffix]
            assert len(pieces) <= room or len(sentences) == 1
            cut += len(pieces) > room
            seen += sentences
        running += batch.running
    left_out = [text for text in range(len(strings)) if text not in seen]
    assert sorted(seen + left_out) == list(range(len(strings)))
    assert all(len(subwords.encode([strings[sentence]]).ids) == 0 for sentence in left_out)
    assert running == corpus.n_words - len(left_out)
    assert cut == sum(len(subwords.encode([text]).ids) > room for text in strings) >= 2
    assert cut == sum(batch.cut for batch in read_all(text_batches(corpus, vocabulary, subwords)))


def test_only_words_that_were_cut_or_dropped_have_no_id(corpus, vocabulary, subwords):
    strings, keys = sentence_texts(corpus), sentence_keys(corpus, vocabulary)
    room = LIMIT - len(subwords.prefix) - len(subwords.suffix)
    invisible = subwords.encode([f" {INVISIBLE}"])
    dropped = set() if (invisible.starts < invisible.ends).any() else {vocabulary.id(INVISIBLE)}
    lost = 0
    for batch in read_all(text_batches(corpus, vocabulary, subwords)):
        for number, sentences in enumerate(located(batch, corpus, keys)):
            mine = batch.sentence_text[batch.word_sentence[: batch.running]] == number
            ids = batch.word_ids[: batch.running][mine]
            expected = [key for sentence in sentences for key in keys[sentence]]
            if len(subwords.encode(["".join(strings[sentence] for sentence in sentences)]).ids) > room:
                known = int((ids >= 0).sum())
                assert ids.tolist() == expected[:known] + [-1] * (len(ids) - known)
                assert 0 < known < len(ids)
                lost += 1
                continue
            assert ids.tolist() == [-1 if key in dropped else key for key in expected]
    assert lost >= 2


def test_the_pieces_of_a_word_spell_it(corpus, vocabulary, tiny_teacher):
    """In the lower-casing WordPiece case the pieces are the word's characters."""
    subwords = tiny_teacher("bert-uncased").subwords
    spelt = 0
    for batch in read_all(text_batches(corpus, vocabulary, subwords)):
        for number in np.flatnonzero(batch.word_ids >= 0):
            ids = batch.pieces[batch.word_first[number] : batch.word_last[number]]
            tokens = [subwords.backend.id_to_token(piece).removeprefix("##") for piece in ids.tolist()]
            assert "".join(tokens) == vocabulary.keys[batch.word_ids[number]]
            spelt += 1
    assert spelt > 300


def test_ranges_stay_inside_their_sentence_and_text(corpus, vocabulary, subwords):
    for batch in read_all(text_batches(corpus, vocabulary, subwords)):
        first, last = batch.texts[:-1] + len(subwords.prefix), batch.texts[1:] - len(subwords.suffix)
        assert (batch.sentence_first >= first[batch.sentence_text]).all()
        assert (batch.sentence_last <= last[batch.sentence_text]).all()
        assert (batch.sentence_first <= batch.sentence_last).all()
        there = batch.word_first < batch.word_last
        sentence = batch.word_sentence[there]
        assert (batch.word_first[there] >= batch.sentence_first[sentence]).all()
        assert (batch.word_last[there] <= batch.sentence_last[sentence]).all()
        assert (batch.word_ids[~there] == -1).all()
        for number in range(len(batch.places)):
            mine = np.flatnonzero(batch.sentence_text == number)
            assert batch.sentence_first[mine[0]] == first[number]
            assert batch.sentence_last[mine[-1]] == last[number]
            assert np.array_equal(batch.sentence_last[mine][:-1], batch.sentence_first[mine][1:])


@pytest.mark.parametrize("budget", [1, LIMIT, BUDGET, 100_000])
def test_padded_size_stays_within_the_budget(budget, corpus, vocabulary, subwords):
    source = text_batches(corpus, vocabulary, subwords, BatchConfig(budget, LIMIT))
    for batch in read_all(source):
        assert len(batch.lengths) * batch.lengths.max() <= budget or len(batch.lengths) == 1
        assert batch.lengths.max() <= LIMIT


def test_reading_again_gives_the_same(corpus, vocabulary, subwords):
    once, again = (read_all(text_batches(corpus, vocabulary, subwords)) for _ in range(2))
    assert_same(once, again)


def test_reading_from_any_position_gives_the_rest(corpus, vocabulary, subwords, monkeypatch):
    monkeypatch.setattr(batches, "WINDOW_FORMS", 150)
    source = text_batches(corpus, vocabulary, subwords)
    everything = list(source.since((0, 0)))
    assert len({start for (start, _), _ in everything}) > 3
    for number, (position, _) in enumerate(everything):
        assert_same([batch for _, batch in source.since(position)], [batch for _, batch in everything[number + 1 :]])


def test_small_windows_read_the_same_texts(corpus, vocabulary, subwords, monkeypatch):
    def texts():
        return sorted(
            (int(place), tuple(batch.pieces[a:b].tolist()))
            for batch in read_all(text_batches(corpus, vocabulary, subwords))
            for place, a, b in zip(batch.places, batch.texts, batch.texts[1:])
        )

    whole = texts()
    monkeypatch.setattr(batches, "WINDOW_FORMS", 10)
    assert texts() == whole


def test_sentences_without_blanks_are_split_at_their_ends_too(write_store, tiny_teacher):
    corpus = write_store("河水流过老房子。" * 20 + "川は静かに流れる。" * 20 + "水。", "水。")
    assert corpus.glued
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1))
    for kind in ("bert-uncased", "llama2", "xlmr", "gpt2"):
        read = read_all(text_batches(corpus, vocabulary, tiny_teacher(kind).subwords))
        assert sum(batch.cut for batch in read) == 0
        assert sum(batch.running for batch in read) == corpus.n_words
        assert all((batch.word_ids >= 0).all() for batch in read)


class TestPhrases:
    TEXT = (
        "The old still stands here. Still old, the old still, the OLD still!",
        "Nobody moved the old. Still it drips. New York-based: new york, old still stands in New York",
    )
    PHRASES = ("old still", "the old still", "still stands", "new york", "absent phrase")

    @pytest.fixture
    def corpus(self, write_store):
        return write_store(*self.TEXT)

    @pytest.fixture
    def vocabulary(self, corpus):
        return Vocabulary.build(corpus, VocabularyConfig(min_count=4, words=self.PHRASES))

    def test_phrases_are_found_with_the_pieces_of_their_words(self, corpus, vocabulary, subwords):
        expected = self.slow_search(corpus)
        found = []
        for batch in read_all(text_batches(corpus, vocabulary, subwords, BatchConfig())):
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

    def test_words_that_occur_only_in_phrases_are_not_known(self, corpus, vocabulary, subwords):
        assert "new" not in vocabulary.keys
        for batch in read_all(text_batches(corpus, vocabulary, subwords)):
            assert batch.word_ids.max() < len(vocabulary)

    def slow_search(self, corpus):
        found = []
        for paragraph in corpus:
            for sentence in paragraph.sentences:
                words = [word.text.lower() for word in sentence.words]
                for phrase in self.PHRASES:
                    parts = phrase.split()
                    found += [
                        phrase for start in range(len(words)) if words[start : start + len(parts)] == parts
                    ]
        assert {"old still", "the old still", "still stands", "new york"} == set(found)
        return found


class TestWordLists:
    WORDS = ("still", "Still", "new york", "1923", "☃", INVISIBLE, "well-known", "river " * 60, "x")

    def test_each_word_alone_without_its_blank(self, subwords):
        ids = np.arange(len(self.WORDS)) + 100
        source = WordListBatches(self.WORDS, ids, subwords, BatchConfig(budget=64, limit=LIMIT))
        marks = {subwords.backend.token_to_id("Ġ"), subwords.backend.token_to_id("▁")}
        room, seen = LIMIT - len(subwords.prefix) - len(subwords.suffix), []
        for batch in read_all(source):
            assert len(batch.lengths) * batch.lengths.max() <= 64 or len(batch.lengths) == 1
            assert batch.running == len(batch.places) == len(batch.word_ids)
            for number, place in enumerate(batch.places.tolist()):
                seen.append(place)
                pieces = subwords.encode([f" {self.WORDS[place]}"]).ids.tolist()
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
        empty = [
            place for place, word in enumerate(self.WORDS) if len(subwords.encode([f" {word}"]).ids) == 0
        ]
        assert sorted(seen + empty) == list(range(len(self.WORDS)))

    def test_reading_from_any_position_gives_the_rest(self, subwords, monkeypatch):
        monkeypatch.setattr(batches, "WORDS_AT_ONCE", 10)
        words = list(islice(unique_words(), 47))
        source = WordListBatches(words, np.arange(47), subwords, BatchConfig(budget=20, limit=LIMIT))
        everything = list(source.since((0, 0)))
        assert sorted(np.concatenate([batch.places for _, batch in everything])) == list(range(47))
        for number, (position, _) in enumerate(everything):
            rest = [batch for _, batch in everything[number + 1 :]]
            assert_same([batch for _, batch in source.since(position)], rest)

    def test_nothing_but_words_that_are_dropped(self, tiny_teacher):
        subwords = tiny_teacher("bert-uncased").subwords
        assert read_all(WordListBatches([INVISIBLE], np.array([3]), subwords, CONFIG)) == []
        assert read_all(WordListBatches([], np.array([], dtype=np.int64), subwords, CONFIG)) == []


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_limit_without_room_for_text(limit, corpus, vocabulary, tiny_teacher):
    subwords = tiny_teacher("bert-uncased").subwords
    message = rf"A limit of {limit} sub-words leaves no room for text beside the 2 special tokens"
    with pytest.raises(UsageError, match=message):
        text_batches(corpus, vocabulary, subwords, BatchConfig(BUDGET, limit))
    with pytest.raises(UsageError, match=message):
        WordListBatches(["x"], np.array([0]), subwords, BatchConfig(BUDGET, limit))


def test_a_budget_of_nothing():
    with pytest.raises(UsageError, match=r"A budget of 0 sub-words"):
        BatchConfig(budget=0)


def assert_same(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others):
        for field in fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name
