from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.teacher import Batch, BatchConfig, TextBatches, WordStates, subword_source

WIDTH = 5


@st.composite
def batches_of_words(draw):
    """A batch with made-up ranges: words of no, one or several subwords, some shared, and phrases."""
    first, last, sentence, sentence_ranges = [], [], [], []
    position = 1
    for number in range(draw(st.integers(1, 4))):
        start = position
        for _ in range(draw(st.integers(0, 6))):
            size = draw(st.integers(0, 3))
            shared = draw(st.booleans()) and position > start and size > 0
            begin = position - shared
            first.append(begin if size else 0)
            last.append(begin + size if size else 0)
            sentence.append(number)
            position = max(position, begin + size)
        sentence_ranges.append((start, position))
    running = len(first)
    ids = [draw(st.integers(-1, 9)) if low < high else -1 for low, high in zip(first, last)]
    there = [number for number in range(running) if first[number] < last[number]]
    pairs = [(a, b) for a in there for b in there if a < b and sentence[a] == sentence[b]]
    phrases = draw(st.lists(st.sampled_from(pairs), max_size=4)) if pairs else []
    return Batch(
        subwords=np.arange(position + 1),
        text_offsets=np.array([0, position + 1]),
        word_ids=np.array(ids + [20] * len(phrases), dtype=np.int32),
        word_start=np.array(first + [first[a] for a, _ in phrases], dtype=np.int64),
        word_end=np.array(last + [last[b] for _, b in phrases], dtype=np.int64),
        word_sentence=np.array(sentence + [sentence[a] for a, _ in phrases], dtype=np.int64),
        sentence_start=np.array([a for a, _ in sentence_ranges], dtype=np.int64),
        sentence_end=np.array([b for _, b in sentence_ranges], dtype=np.int64),
        sentence_text=np.zeros(len(sentence_ranges), dtype=np.int64),
        n_words=running,
        phrase_start=np.array([a for a, _ in phrases], dtype=np.int64),
        phrase_end=np.array([b + 1 for _, b in phrases], dtype=np.int64),
        source_ids=np.array([0]),
    )


def made_up_states(batch, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {
        layer: torch.randn(len(batch.subwords), WIDTH, generator=generator, dtype=torch.float32) for layer in (0, 3)
    }


def assert_rows(got, expected):
    assert got.dtype == torch.float32
    wanted = torch.stack(expected) if expected else torch.zeros(0, WIDTH)
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)


def slow_word(hidden, low, high, pooling="mean"):
    rows = [hidden[subword] for subword in range(low, high)]
    if not rows:
        return torch.zeros(WIDTH)
    stack = torch.stack(rows)
    return {"mean": stack.mean(0), "max": stack.max(0).values, "min": stack.min(0).values}[pooling]


def slow_window(batch, words, number, left, right, include_self):
    """Walk the words of the sentence one by one."""
    if number < batch.n_words:
        inside = [number]
    else:
        phrase = number - batch.n_words
        inside = list(range(batch.phrase_start[phrase], batch.phrase_end[phrase]))
    chosen = []
    for other in range(batch.n_words):
        same = batch.word_sentence[other] == batch.word_sentence[number]
        near = inside[0] - left <= other <= inside[-1] + right
        present = batch.word_start[other] < batch.word_end[other]
        if same and near and present and (include_self or other not in inside):
            chosen.append(words[other])
    return torch.stack(chosen).mean(0) if chosen else torch.zeros_like(words[number])


@given(batches_of_words())
@settings(max_examples=60, deadline=None)
def test_words_and_sentences_against_loops(batch):
    hidden = made_up_states(batch)
    states = WordStates(batch, hidden)
    spans = list(zip(batch.word_start.tolist(), batch.word_end.tolist()))
    for layer in (3, 0, 3):
        for pooling in ("mean", "max", "min"):
            expected = [slow_word(hidden[layer], low, high, pooling) for low, high in spans]
            assert_rows(states.words(layer, pooling), expected)
        ends = zip(batch.sentence_start.tolist(), batch.sentence_end.tolist())
        assert_rows(states.sentences(layer), [slow_word(hidden[layer], low, high) for low, high in ends])


@given(batches_of_words(), st.integers(0, 7), st.integers(0, 7), st.booleans())
@settings(max_examples=120, deadline=None)
def test_windows_against_loops(batch, left, right, include_self):
    hidden = made_up_states(batch)
    states = WordStates(batch, hidden)
    words = [slow_word(hidden[3], low, high) for low, high in zip(batch.word_start.tolist(), batch.word_end.tolist())]
    expected = [slow_window(batch, words, number, left, right, include_self) for number in range(len(batch.word_ids))]
    assert_rows(states.windows(3, left, right, include_self=include_self), expected)
    some = torch.arange(len(expected)).flip(0)[::3]
    found = states.windows(3, left, right, include_self=include_self, chosen=some)
    assert_rows(found, [expected[number] for number in some.tolist()])


@given(batches_of_words())
@settings(max_examples=20, deadline=None)
def test_what_is_known_of_words(batch):
    states = WordStates(batch, made_up_states(batch))
    assert states.width == WIDTH
    assert states.word_ids.tolist() == batch.word_ids.tolist()
    assert states.word_sentence.tolist() == batch.word_sentence.tolist()
    assert states.known.tolist() == [number for number, id in enumerate(batch.word_ids) if id >= 0]


def one_word(subwords, first):
    """A batch of one text with one word, from a subword on to the end."""
    nothing = np.array([], dtype=np.int64)
    return Batch(
        subwords=np.arange(subwords), text_offsets=np.array([0, subwords]),
        word_ids=np.zeros(1, dtype=np.int32),
        word_start=np.array([first]), word_end=np.array([subwords]), word_sentence=np.array([0]),
        sentence_start=np.array([0]), sentence_end=np.array([subwords]), sentence_text=np.array([0]),
        n_words=1, phrase_start=nothing, phrase_end=nothing, source_ids=np.array([0]),
    )  # fmt: skip


def test_means_of_many_rows_keep_their_precision():
    """Sums over the whole batch are subtracted from each other; float32 would lose the small numbers."""
    hidden = torch.full((20_000, 2), 1000.0)
    hidden[-2:] = 0.001
    words = WordStates(one_word(20_000, 19_998), {1: hidden}).words(1)
    torch.testing.assert_close(words, torch.full((1, 2), 0.001), rtol=1e-4, atol=0)


def test_the_same_mean_is_calculated_once():
    states = WordStates(one_word(2, 0), {layer: torch.ones(2, 3) * layer for layer in (1, 2)})
    one = states.words(1)
    assert states.sentences(2).eq(2).all()
    assert states.words(1) is one
    assert states.words(1, "max") is not one
    assert states.sentences(2) is states.sentences(2)


@pytest.mark.parametrize("kind", ["bert-uncased", "gpt2", "t5"])
def test_real_text_with_phrases_and_dropped_words(kind, write_store, tiny_teacher):
    """The means over a real batch are those over each word's own subwords, found again by their ranges."""
    teacher = tiny_teacher(kind)
    corpus = write_store("The old still \u200b stands here. It drips \u200b!", "Nobody knows the old still.")
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1, words=("old still", "still stands")))
    source = subword_source(corpus, teacher.tokenizer)
    reading = TextBatches(corpus, vocabulary, source, teacher.tokenizer, BatchConfig(512, teacher.limit))
    [(_, batch)] = reading.since((0, 0))
    states = teacher.encode(batch, (1, 3))
    assert len(batch.phrase_start) == 2
    for layer in (1, 3):
        hidden, words = states.hidden[layer], states.words(layer)
        for number, (low, high) in enumerate(zip(batch.word_start, batch.word_end)):
            expected = hidden[low:high].mean(0) if low < high else torch.zeros(teacher.width)
            torch.testing.assert_close(words[number], expected)
        windows = states.windows(layer, 2, 2, include_self=False)
        for number in range(len(batch.word_ids)):
            expected = slow_window(batch, words, number, 2, 2, include_self=False)
            torch.testing.assert_close(windows[number], expected)
