from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from wordstill.methods.ase import Ase, AseConfig

POOLINGS = ("mean", "max", "min")


def pooled(values: np.ndarray, how: str, axis: int) -> np.ndarray:
    return {"mean": np.mean, "max": np.max, "min": np.min}[how](values, axis=axis)


@pytest.mark.parametrize("layer", [1, 3])
@pytest.mark.parametrize(("subword", "context"), [*product(POOLINGS, POOLINGS)])
def test_every_pooling_is_what_plain_loops_give(text, slow, subword, context, layer):
    table = text.run(f"ase:subword={subword},context={context},layer={layer}").finish()
    for word in table:
        occurrences = slow.occurrences.get(word) or [slow.alone(word)]
        states = np.stack([pooled(states[layer], subword, axis=0) for states in occurrences])
        np.testing.assert_allclose(table[word], pooled(states, context, axis=0), atol=2e-6, err_msg=word)


def test_the_loops_count_what_the_vocabulary_counts(text, slow):
    counts = {word: len(states) for word, states in slow.occurrences.items()}
    for word, count in zip(text.vocabulary.keys, text.vocabulary.counts.tolist()):
        assert counts.get(word, 0) == count


def test_only_unseen_words_are_read_alone(text):
    method = text.build("ase")
    assert {text.vocabulary.keys[number] for number in method.isolated_words()} == {"vapourless", "grey monday river"}


def test_a_word_that_was_lost_has_no_vector_whoever_reads_it_alone(hand_made, hand_made_run):
    """Its own occurrences may all be cut off; then it must not matter that another method reads it alone."""
    method = Ase(AseConfig(layer=0), hand_made_run([2, 1, 0], width=4))
    method.observe_isolated(hand_made([[0], [1], [2]], np.eye(3, 4)))
    method.observe(hand_made([[0, -1, 0]], np.array([[1, 0, 0, 0], [9, 9, 9, 9], [3, 0, 0, 0]])))
    table = method.finish()
    assert table.words == ("word0", "word2")
    assert table.matrix.tolist() == [[2, 0, 0, 0], [0, 0, 1, 0]]


def test_a_batch_without_known_words(hand_made, hand_made_run):
    for context in POOLINGS:
        method = Ase(AseConfig(layer=0, context=context), hand_made_run([1], width=2))
        method.observe(hand_made([[-1, -1]], np.ones((2, 2))))
        assert len(method.finish()) == 0
        method.observe(hand_made([[0]], np.full((1, 2), -5.0)))
        assert method.finish().matrix.tolist() == [[-5, -5]]
