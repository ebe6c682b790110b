"""Kept occurrences: the right states at the right places, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
from torch import float16

from wordstill.corpus.dealing import choose_occurrences
from wordstill.errors import DataError, UsageError
from wordstill.methods.occurrence_states import OccurrenceConfig, OccurrenceStates

LAYER = 2


@pytest.fixture(scope="module")
def keeper(text):
    def make(number: int = 6, seed: int = 0, **settings) -> OccurrenceStates:
        config = OccurrenceConfig(number, **{"min_count": 4, "layer": LAYER, **settings}).at_depth(text.teacher.depth)
        ids = config.word_ids(text.vocabulary)
        return OccurrenceStates(
            config, text.context, choose_occurrences(text.corpus, text.vocabulary, ids, number, seed)
        )

    return make


def run(text, method, budget=100):
    for step in text.steps(method, budget):
        step(method)
    return method.sample()


def assert_same(first, second):
    assert first.words == second.words
    for name, array in first.arrays.items():
        if name in ("states", "means"):
            np.testing.assert_allclose(array.astype(np.float64), second.arrays[name].astype(np.float64), atol=2e-3)
        else:
            np.testing.assert_array_equal(array, second.arrays[name])


def test_states_are_those_of_the_occurrences(text, slow, keeper):
    """The reference reads every text by itself and finds words by a pattern."""
    sample = run(text, keeper(number=1000))
    assert {"the", "new york"} <= set(sample.words)
    for word in sample.words:
        uses, states = sample.of(word), slow.occurrences[word]
        assert len(uses) == len(states) == uses.total
        assert uses.sentences.tolist() == slow.contexts[word]
        expected = np.stack([each[LAYER].mean(axis=0) for each in states])
        np.testing.assert_allclose(uses.states, expected, atol=2e-3)
        assert set(uses.sizes.tolist()) == {len(word.split())}


def test_positions_name_the_word(text, keeper):
    sample = run(text, keeper())
    sentences = [sentence for paragraph in text.corpus for sentence in paragraph.sentences]
    for word in sample.words:
        uses = sample.of(word)
        assert len(uses) == min(6, uses.total)
        for sentence, position, size in zip(uses.sentences, uses.positions, uses.sizes):
            words = sentences[sentence].words[position : position + size]
            assert " ".join(each.text for each in words).lower() == word


@pytest.mark.parametrize("budget", [30, 5000])
def test_batches_do_not_matter(text, keeper, budget):
    assert_same(run(text, keeper(), budget), run(text, keeper()))


def test_merged_halves_are_the_whole(text, keeper):
    whole, first, second = keeper(), keeper(), keeper()
    for number, step in enumerate(text.steps(whole)):
        step(whole)
        step(first if number % 2 else second)
    assert len(first.sample()) < len(whole.sample())
    first.merge(second)
    assert_same(first.sample(), whole.sample())
    with pytest.raises(UsageError, match="different texts"):
        first.merge(keeper(seed=5))


def test_a_restored_one_goes_on(text, keeper):
    whole, first, second = keeper(), keeper(), keeper()
    steps = text.steps(whole)
    for step in steps:
        step(whole)
    for step in steps[: len(steps) // 2]:
        step(first)
    second.load_state_dict({name: tensor.clone() for name, tensor in first.state_dict().items()})
    for step in steps[len(steps) // 2 :]:
        step(second)
    assert whole.sample().states.tobytes() == second.sample().states.tobytes()


def test_memory_is_known_before_anything_is_read(text, keeper):
    method = keeper()
    slots = len(method.chosen)
    assert method.memory() == slots * (2 * text.teacher.width + 1) == method.memory_after(10**9)
    assert method.kept.states.dtype == float16


def test_words_by_name(text, keeper):
    assert run(text, keeper(words=("isthmus", "The"))).words == ("the", "isthmus")
    with pytest.warns(UserWarning, match=r"1 of 2 words .* get no vector \('zebra'\)"):
        keeper(words=("zebra", "the"))
    with pytest.raises(UsageError, match=r"1 of 1 words .*--words"):
        keeper(words=("zebra",))


def test_what_cannot_be_kept_is_refused(text, keeper):
    with pytest.raises(UsageError, match="No word occurs 100000 times"):
        keeper(min_count=100_000)
    with pytest.raises(UsageError, match="layer 9, but the teacher's last layer is"):
        keeper(layer=9)
    method = keeper()
    run(text, method)
    method.kept.states[0] = float("inf")
    with pytest.raises(DataError, match="too large for float16"):
        method.sample()
