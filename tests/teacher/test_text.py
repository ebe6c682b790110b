from __future__ import annotations

import random
from dataclasses import fields, replace
from functools import cache
from itertools import islice, pairwise

import numpy as np
import pytest

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.errors import UsageError
from wordstill.teacher import BatchConfig, TextBatches, subword_source

LIMIT, BUDGET = 40, 200
CONFIG = BatchConfig(budget=BUDGET, limit=LIMIT)
INVISIBLE = "\u200b"


@pytest.fixture(scope="module")
def corpus(write_store, unique_words):
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


source_of = cache(subword_source)


def text_batches(corpus, vocabulary, tokenizer, config=CONFIG, **sizes):
    return TextBatches(corpus, vocabulary, source_of(corpus, tokenizer), tokenizer, config, **sizes)


def read_all(source):
    return [batch for _, batch in source.since((0, 0))]


def sentence_texts(corpus):
    """The string of every sentence, with the space before it if there is one."""
    bounds = corpus.sentences.tolist()
    ids = corpus.form_ids.tolist()
    return ["".join(map(corpus.forms.__getitem__, ids[start:end])) for start, end in pairwise(bounds)]


def sentence_keys(corpus, vocabulary):
    """The vocabulary ids of every sentence's words, found one by one."""
    return [
        [vocabulary.id(word.text) for word in sentence.words]
        for paragraph in corpus
        for sentence in paragraph.sentences
    ]


def find_sentence(batch, number, keys):
    """Which sentence of the corpus a sentence of a batch is: its known words are nowhere else."""
    ids = batch.word_ids[: batch.n_words][batch.word_sentence[: batch.n_words] == number]
    return [
        place for place, words in enumerate(keys)
        if len(words) == len(ids) and all(id in (-1, key) for id, key in zip(ids, words))
    ]  # fmt: skip


def located(batch, corpus, keys):
    """For each text of a batch, the numbers of its sentences in the corpus."""
    texts = []
    for number in range(len(batch.source_ids)):
        first, last = (corpus.paragraphs[batch.source_ids[number]], corpus.paragraphs[batch.source_ids[number] + 1])
        mine = np.flatnonzero(batch.sentence_text == number)
        starts = [
            start for start in range(first, last - len(mine) + 1)
            if all(start + step in find_sentence(batch, sentence, keys) for step, sentence in enumerate(mine))
        ]  # fmt: skip
        assert len(starts) == 1
        texts.append(list(range(starts[0], starts[0] + len(mine))))
    return texts


def test_every_word_once_in_order_with_its_id_sentence_and_subwords(corpus, vocabulary, tokenizer):
    keys, strings = sentence_keys(corpus, vocabulary), sentence_texts(corpus)
    room = LIMIT - len(tokenizer.prefix) - len(tokenizer.suffix)
    seen, cut, running = [], 0, 0
    for batch in read_all(text_batches(corpus, vocabulary, tokenizer)):
        for number, sentences in enumerate(located(batch, corpus, keys)):
            text = "".join(strings[sentence] for sentence in sentences)
            subwords = tokenizer.encode([text]).ids
            got = batch.subwords[batch.text_offsets[number] : batch.text_offsets[number + 1]]
            assert got.tolist() == [*tokenizer.prefix, *subwords[:room], *tokenizer.suffix]
            assert len(subwords) <= room or len(sentences) == 1
            cut += len(subwords) > room
            seen += sentences
        running += batch.n_words
    left_out = [text for text in range(len(strings)) if text not in seen]
    assert sorted(seen + left_out) == list(range(len(strings)))
    assert all(len(tokenizer.encode([strings[sentence]]).ids) == 0 for sentence in left_out)
    assert running == corpus.n_words - len(left_out)
    assert cut == sum(len(tokenizer.encode([text]).ids) > room for text in strings) >= 2
    assert cut == sum(batch.n_truncated for batch in read_all(text_batches(corpus, vocabulary, tokenizer)))


def test_only_words_that_were_cut_or_dropped_have_no_id(corpus, vocabulary, tokenizer):
    strings, keys = sentence_texts(corpus), sentence_keys(corpus, vocabulary)
    room = LIMIT - len(tokenizer.prefix) - len(tokenizer.suffix)
    invisible = tokenizer.encode([f" {INVISIBLE}"])
    dropped = set() if (invisible.starts < invisible.ends).any() else {vocabulary.id(INVISIBLE)}
    lost = 0
    for batch in read_all(text_batches(corpus, vocabulary, tokenizer)):
        for number, sentences in enumerate(located(batch, corpus, keys)):
            mine = batch.sentence_text[batch.word_sentence[: batch.n_words]] == number
            ids = batch.word_ids[: batch.n_words][mine]
            expected = [key for sentence in sentences for key in keys[sentence]]
            if len(tokenizer.encode(["".join(strings[sentence] for sentence in sentences)]).ids) > room:
                known = int((ids >= 0).sum())
                assert ids.tolist() == expected[:known] + [-1] * (len(ids) - known)
                assert 0 < known < len(ids)
                lost += 1
                continue
            assert ids.tolist() == [-1 if key in dropped else key for key in expected]
    assert lost >= 2


def test_the_subwords_of_a_word_spell_it(corpus, vocabulary, tiny_teacher):
    """In the lower-casing WordPiece case the subwords are the word's characters."""
    tokenizer = tiny_teacher("bert-uncased").tokenizer
    spelt = 0
    for batch in read_all(text_batches(corpus, vocabulary, tokenizer)):
        for number in np.flatnonzero(batch.word_ids >= 0):
            ids = batch.subwords[batch.word_start[number] : batch.word_end[number]]
            tokens = [tokenizer.backend.id_to_token(subword).removeprefix("##") for subword in ids.tolist()]
            assert "".join(tokens) == vocabulary.keys[batch.word_ids[number]]
            spelt += 1
    assert spelt > 300


def test_ranges_stay_inside_their_sentence_and_text(corpus, vocabulary, tokenizer):
    for batch in read_all(text_batches(corpus, vocabulary, tokenizer)):
        first, last = (batch.text_offsets[:-1] + len(tokenizer.prefix), batch.text_offsets[1:] - len(tokenizer.suffix))
        assert (batch.sentence_start >= first[batch.sentence_text]).all()
        assert (batch.sentence_end <= last[batch.sentence_text]).all()
        assert (batch.sentence_start <= batch.sentence_end).all()
        there = batch.word_start < batch.word_end
        sentence = batch.word_sentence[there]
        assert (batch.word_start[there] >= batch.sentence_start[sentence]).all()
        assert (batch.word_end[there] <= batch.sentence_end[sentence]).all()
        assert (batch.word_ids[~there] == -1).all()
        for number in range(len(batch.source_ids)):
            mine = np.flatnonzero(batch.sentence_text == number)
            assert batch.sentence_start[mine[0]] == first[number]
            assert batch.sentence_end[mine[-1]] == last[number]
            assert np.array_equal(batch.sentence_end[mine][:-1], batch.sentence_start[mine][1:])


@pytest.mark.parametrize("budget", [1, LIMIT, BUDGET, 100_000])
def test_padded_size_stays_within_the_budget(budget, corpus, vocabulary, tokenizer):
    source = text_batches(corpus, vocabulary, tokenizer, BatchConfig(budget, LIMIT))
    for batch in read_all(source):
        assert len(batch.lengths) * batch.lengths.max() <= budget or len(batch.lengths) == 1
        assert batch.lengths.max() <= LIMIT


def test_reading_again_gives_the_same(corpus, vocabulary, tokenizer):
    once, again = (read_all(text_batches(corpus, vocabulary, tokenizer)) for _ in range(2))
    assert_same(once, again)


def test_several_builders_read_the_same(corpus, vocabulary, tokenizer):
    one, several = (text_batches(corpus, vocabulary, tokenizer) for _ in range(2))
    large = text_batches(corpus, vocabulary, tokenizer, BatchConfig(1 << 15, LIMIT))
    several.builders = large.builders
    assert several.builders > one.builders == 1
    assert [after for after, _ in several.since((0, 0))] == [after for after, _ in one.since((0, 0))]
    assert_same(read_all(several), read_all(one))


def test_reading_from_any_position_gives_the_rest(corpus, vocabulary, tokenizer):
    source = text_batches(corpus, vocabulary, tokenizer, window_forms=150)
    everything = list(source.since((0, 0)))
    assert len({start for (start, _), _ in everything}) > 3
    assert everything[-1][0][1] == 0
    for number, (position, _) in enumerate(everything):
        assert_same([batch for _, batch in source.since(position)], [batch for _, batch in everything[number + 1 :]])


def test_a_random_order_reads_the_same_batches_and_resumes(corpus, vocabulary, tokenizer):
    plain, mixed, other = (
        text_batches(corpus, vocabulary, tokenizer, window_forms=150, order=order) for order in (None, 5, 6)
    )

    def places(source):
        return [tuple(batch.source_ids.tolist()) for _, batch in source.since((0, 0))]

    assert sorted(places(mixed)) == sorted(places(plain)) == sorted(places(other))
    assert places(mixed) == places(mixed)
    assert len({tuple(places(source)) for source in (plain, mixed, other)}) == 3
    everything = list(mixed.since((0, 0)))
    for number, (position, _) in enumerate(everything):
        rest = [batch for _, batch in mixed.since(position)]
        assert_same(rest, [batch for _, batch in everything[number + 1 :]])


def test_sentences_can_be_read_one_by_one(corpus, vocabulary, tokenizer):
    whole = text_batches(corpus, vocabulary, tokenizer)
    apart = text_batches(corpus, vocabulary, tokenizer)
    apart.config = replace(apart.config, unit="sentence")
    found = read_all(apart)
    for batch in found:
        heard = batch.sentence_text[batch.sentence_end > batch.sentence_start]
        assert len(np.unique(heard)) == len(heard)
    assert sum(batch.n_words for batch in found) == sum(batch.n_words for batch in read_all(whole))
    assert sum(len(batch.lengths) for batch in found) > sum(len(b.lengths) for b in read_all(whole))


def test_small_windows_read_the_same_texts(corpus, vocabulary, tokenizer):
    def texts(**sizes):
        return sorted(
            (int(place), tuple(batch.subwords[a:b].tolist()))
            for batch in read_all(text_batches(corpus, vocabulary, tokenizer, **sizes))
            for place, a, b in zip(batch.source_ids, batch.text_offsets, batch.text_offsets[1:])
        )

    assert texts(window_forms=10) == texts()


def test_sentences_without_spaces_are_split_at_their_ends_too(write_store, tiny_teacher):
    corpus = write_store("河水流过老房子。" * 20 + "川は静かに流れる。" * 20 + "水。", "水。")
    assert corpus.n_unspaced
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1))
    for kind in ("bert-uncased", "llama2", "xlmr", "gpt2"):
        read = read_all(text_batches(corpus, vocabulary, tiny_teacher(kind).tokenizer))
        assert sum(batch.n_truncated for batch in read) == 0
        assert sum(batch.n_words for batch in read) == corpus.n_words
        assert all((batch.word_ids >= 0).all() for batch in read)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_limit_without_room_for_text(limit, corpus, vocabulary, tiny_teacher):
    tokenizer = tiny_teacher("bert-uncased").tokenizer
    message = rf"A limit of {limit} subwords leaves no room for text next to the 2 special tokens"
    with pytest.raises(UsageError, match=message):
        text_batches(corpus, vocabulary, tokenizer, BatchConfig(BUDGET, limit))


def test_a_budget_of_nothing():
    with pytest.raises(UsageError, match="budget must be 1 or more; got 0"):
        BatchConfig(budget=0)


def assert_same(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others):
        for field in fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name
