from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.methods.principal import Principal, PrincipalConfig, RowSketches

WIDTH = 24
CPU = torch.device("cpu")


def exact(states: np.ndarray) -> np.ndarray:
    """The first right singular vector, on the side of the mean."""
    direction = np.linalg.svd(states.astype(np.float64), full_matrices=False)[2][0]
    return direction * np.sign(direction @ states.mean(axis=0))


def sine(first: np.ndarray, second: np.ndarray) -> float:
    """Of the angle between two vectors of length one; the difference keeps small angles exact."""
    return float(np.linalg.norm(first - second * np.sign(first @ second)))


def occurrences(count: int, seed: int, spread: float = 0.6) -> np.ndarray:
    """States like a teacher's: a common direction, and variation that decays over the others."""
    generator = np.random.default_rng(seed)
    variation = generator.normal(size=(count, WIDTH)) * np.linspace(1, 0.1, WIDTH)
    return (spread * variation + generator.normal(size=WIDTH)).astype(np.float32)


def sketched(words: list[np.ndarray], rank: int, batch: int, order: np.ndarray | None = None) -> RowSketches:
    """Sketches of the occurrences of several words, all mixed."""
    rows = np.repeat(np.arange(len(words)), [len(states) for states in words])
    values = np.concatenate(words)
    if order is None:
        order = np.random.default_rng(0).permutation(len(rows))
    sketches = RowSketches(len(words), rank, WIDTH, CPU)
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        sketches.add(torch.from_numpy(rows[part]), torch.from_numpy(values[part]))
    return sketches


def directions(sketches: RowSketches) -> np.ndarray:
    strongest = sketches.strongest(slice(None)).double().numpy()
    return strongest / np.linalg.norm(strongest, axis=1, keepdims=True)


COUNTS = (1, 2, 4, 5, 9, 40, 300, 2000)


@pytest.mark.parametrize("batch", [1, 7, 100, 5000])
def test_near_the_exact_component(batch):
    words = [occurrences(count, seed=number) for number, count in enumerate(COUNTS)]
    if batch == 1:
        words = words[:6]
    found = directions(sketched(words, rank=4, batch=batch))
    for states, direction in zip(words, found):
        assert sine(direction, exact(states)) < (1e-5 if len(states) <= 4 else 0.02)


def test_more_rank_is_more_exact_and_full_rank_is_exact():
    words = [occurrences(300, seed=number, spread=2.5) for number in range(6)]
    errors = []
    for rank in (1, 4, 12, WIDTH):
        found = directions(sketched(words, rank, batch=50))
        errors.append(max(sine(direction, exact(states)) for direction, states in zip(found, words)))
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 2 * errors[1] > 0.01
    assert errors[-1] < 1e-5


def test_order_and_batches_matter_little():
    words = [occurrences(count, seed=number) for number, count in enumerate(COUNTS)]
    total = sum(COUNTS)
    reference = directions(sketched(words, 4, batch=64))
    for seed, batch in ((1, 64), (2, 500), (3, 5000)):
        order = np.random.default_rng(seed).permutation(total)
        other = directions(sketched(words, 4, batch, order))
        assert max(sine(*pair) for pair in zip(other, reference)) < 0.02


def test_merged_halves_are_near_the_whole():
    words = [occurrences(count, seed=number) for number, count in enumerate(COUNTS)]
    first = sketched([states[::2] for states in words], 4, batch=100)
    second = sketched([states[1::2] for states in words], 4, batch=100)
    first.merge(second)
    for direction, states in zip(directions(first), words):
        assert sine(direction, exact(states)) < (1e-5 if len(states) <= 4 else 0.02)


def test_products_are_kept_without_loss_up_to_the_rank():
    states = occurrences(4, seed=3)
    kept = sketched([states], rank=4, batch=1).sketches[0].numpy()
    np.testing.assert_allclose(kept.T @ kept, states.T @ states, atol=1e-4)


def test_many_batches_do_not_drift():
    """Rotating a sketch thousands of times must not change its length."""
    state = occurrences(1, seed=5)
    sketches = RowSketches(1, 4, WIDTH, CPU)
    for _ in range(3000):
        sketches.add(torch.zeros(1, dtype=torch.int64), torch.from_numpy(state))
    length = float(sketches.sketches.norm())
    assert length == pytest.approx(np.sqrt(3000) * np.linalg.norm(state), rel=1e-3)


def test_no_observations_change_nothing():
    sketches = RowSketches(3, 2, WIDTH, CPU)
    sketches.add(torch.zeros(0, dtype=torch.int64), torch.zeros(0, WIDTH))
    assert not sketches.sketches.any()


@pytest.mark.parametrize("layer", [1, 3])
def test_every_word_is_near_what_plain_loops_give(text, slow, layer):
    method = Principal(PrincipalConfig(layer), text.context)
    for step in text.steps(method):
        step(method)
    table = method.finish()
    assert list(table.words) == text.vocabulary.keys
    for word in table:
        occurred = slow.occurrences.get(word) or [slow.alone(word)]
        states = np.stack([states[layer].mean(axis=0) for states in occurred])
        found = table[word].astype(np.float64)
        assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
        assert found @ states.mean(axis=0) > 0
        assert sine(found, exact(states)) < (2e-5 if len(states) <= 4 else 0.02), word


def test_the_direction_is_on_the_side_of_the_mean(hand_made, hand_made_run):
    method = Principal(PrincipalConfig(layer=0, rank=2), hand_made_run([3], width=2))
    method.observe(hand_made([[0, 0, 0]], np.array([[-2, 0.5], [-2, -0.5], [-2, 0]])))
    np.testing.assert_allclose(method.finish()["word0"], [-1, 0], atol=1e-6)


def test_opposite_states_do_not_cancel(hand_made, hand_made_run):
    """The mean of these says nothing, their common axis does."""
    method = Principal(PrincipalConfig(layer=0, rank=2), hand_made_run([4], width=2))
    method.observe(hand_made([[0, 0, 0, 0]], np.array([[3, 0.1], [-3, 0.1], [3, 0.1], [-3.1, 0.1]])))
    assert abs(method.finish()["word0"][0]) > 0.99


def test_a_word_that_was_lost_has_no_vector_whoever_reads_it_alone(hand_made, hand_made_run):
    method = Principal(PrincipalConfig(layer=0), hand_made_run([2, 1, 0], width=4))
    method.observe_isolated(hand_made([[0], [1], [2]], np.eye(3, 4)))
    method.observe(hand_made([[0, -1, 0]], np.array([[1, 0, 0, 0], [9, 9, 9, 9], [3, 0, 0, 0]])))
    table = method.finish()
    assert table.words == ("word0", "word2")
    np.testing.assert_allclose(table.matrix, [[1, 0, 0, 0], [0, 0, 1, 0]], atol=1e-6)


def test_bad_ranks_are_refused(text):
    with pytest.raises(UsageError, match="rank must be 1 or more; got 0"):
        PrincipalConfig(layer=0, rank=0)
    with pytest.raises(UsageError, match="from 1 to 32, the teacher's width; got 33"):
        Principal(PrincipalConfig(layer=0, rank=33), text.context)


def test_a_restored_method_goes_on_bit_for_bit(text):
    whole, first, second = (Principal(PrincipalConfig(layer=3), text.context) for _ in range(3))
    steps = text.steps(whole)
    for step in steps:
        step(whole)
    for step in steps[: len(steps) // 2]:
        step(first)
    second.load_state_dict({name: tensor.clone() for name, tensor in first.state_dict().items()})
    for step in steps[len(steps) // 2 :]:
        step(second)
    assert whole.finish().matrix.tobytes() == second.finish().matrix.tobytes()
