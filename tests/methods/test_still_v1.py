from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.methods.blocks import COMMON_WORDS, ROWS_AT_ONCE, frequent_words
from wordstill.methods.still_v1 import StillV1 as Still
from wordstill.methods.still_v1 import StillV1Config as StillConfig


def power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    values, directions = np.linalg.eigh(matrix)
    return directions @ np.diag(np.maximum(values, 1e-8 * values.max()) ** exponent) @ directions.T


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def slow_still(text, slow, config: StillConfig, common_words: int) -> np.ndarray:
    """The equations of the method's docstring, word by word and in float64."""
    keys, layer = text.vocabulary.keys, config.layer
    width = slow.sentences[0].shape[1]
    counts = np.array([len(slow.occurrences.get(key, [])) for key in keys])
    alone = np.array([slow.alone(key)[layer].mean(axis=0) for key in keys])
    states, contexts, of_all = np.zeros((len(keys), width)), np.zeros((len(keys), width)), []
    for row, key in enumerate(keys):
        if counts[row]:
            states[row] = np.mean([pieces[layer].mean(axis=0) for pieces in slow.occurrences[key]], axis=0)
            around = [slow.sentences[number][layer] for number in slow.contexts[key]]
            contexts[row] = np.mean(around, axis=0)
            of_all += around
    frequent = counts >= 5
    if frequent.sum() <= width:
        frequent = counts > 0

    inputs = alone[frequent] - alone[frequent].mean(axis=0)
    penalty = 0.01 * inputs.var(axis=0).mean() * len(inputs)

    def shrunk(observed: np.ndarray, prior: float) -> np.ndarray:
        mean = observed[frequent].mean(axis=0)
        gram = inputs.T @ inputs + penalty * np.eye(width)
        weights = np.linalg.solve(gram, inputs.T @ (observed[frequent] - mean))
        expected = mean + (alone - alone[frequent].mean(axis=0)) @ weights
        share = (counts / (counts + prior))[:, None]
        return share * observed + (1 - share) * expected

    def whitened(observed: np.ndarray) -> np.ndarray:
        covariance = np.cov(observed[frequent].T, bias=True)
        deviations = shrunk(observed, config.state_prior) - observed[frequent].mean(axis=0)
        return unit(deviations @ power(covariance, -config.state_exponent))

    context_covariance = np.cov(np.array(of_all).T, bias=True)
    around = (shrunk(contexts, config.context_prior) - np.mean(of_all, axis=0)) @ power(
        context_covariance, -config.context_exponent
    )
    weight = config.context_weight * (counts / (counts + config.context_prior))[:, None]
    joint = np.hstack([whitened(states), weight * unit(around)])
    if config.lower is not None:
        below = np.zeros_like(states)
        for row, key in enumerate(keys):
            if counts[row]:
                pieces = slow.occurrences[key]
                below[row] = np.mean([each[config.lower].mean(axis=0) for each in pieces], axis=0)
        joint = np.hstack([joint, config.lower_weight * whitened(below)])
    common = frequent & (counts >= sorted(counts[frequent])[::-1][:common_words][-1])
    joint -= joint[common].mean(axis=0)
    _, _, directions = np.linalg.svd(joint[common], full_matrices=False)
    return joint @ directions[: config.dim or width].T


SETTINGS = {
    "defaults": {},
    "everything else": {
        "layer": 1, "dim": 20, "context_weight": 1.3, "state_exponent": 0.4, "context_exponent": 0.1,
        "state_prior": 3.0, "context_prior": 0.5,
    },
    "nothing whitened": {"dim": 5, "state_exponent": 0.0, "context_exponent": 0.0},
    "a lower layer": {"lower": 1, "lower_weight": 0.75},
    "the lowest with a weight": {"lower": 0, "lower_weight": 2.0, "state_exponent": 0.3, "dim": 30},
}  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("rows_at_once", [ROWS_AT_ONCE, 7])
def test_it_is_the_equation(text, slow, settings, rows_at_once):
    check_equation(text, slow, settings, rows_at_once)


def test_the_most_common_words_decide_what_is_kept(text, slow):
    least = sorted(text.vocabulary.counts)[::-1][24]
    assert 25 <= (text.vocabulary.counts >= least).sum() < (text.vocabulary.counts >= 5).sum()
    check_equation(text, slow, {"dim": 20}, common_words=25)


def check_equation(text, slow, settings, rows_at_once=ROWS_AT_ONCE, common_words=COMMON_WORDS):
    config = StillConfig(**{"layer": 3} | settings)
    given = ",".join(f"{name}={value}" for name, value in settings.items())
    table = text.run(f"still.v1:{given}").finish(rows_at_once=rows_at_once, common_words=common_words)
    expected = slow_still(text, slow, config, common_words)
    assert table.matrix.shape == expected.shape == (len(text.vocabulary), config.dim or 32)
    signs = np.sign((table.matrix * expected).sum(axis=0))
    np.testing.assert_allclose(table.matrix * signs, expected, atol=2e-4)


def test_all_words_are_fitted_on_where_few_are_frequent():
    counts, isolated = torch.tensor([9, 7, 5, 4, 1, 0, 6]), torch.tensor([1, 1, 1, 1, 1, 1, 0])
    assert frequent_words(counts, isolated, width=2).tolist() == [True, True, True, False, False, False, False]
    assert frequent_words(counts, isolated, width=3).tolist() == [True, True, True, True, True, False, False]


def test_each_direction_has_its_largest_coordinate_positive_so_that_signs_are_settled(text):
    first, second = text.run("still.v1", 30).finish(), text.run("still.v1").finish()
    leading = slice(0, 10)
    np.testing.assert_allclose(first.matrix[:, leading], second.matrix[:, leading], atol=1e-4)


def run(context, batches, isolated, **settings):
    method = Still(StillConfig(layer=0, **settings), context)
    method.observe_isolated(isolated)
    for batch in batches:
        method.observe(batch)
    return method.finish()


def test_words_that_cannot_be_told_apart_get_zeros(hand_made, hand_made_run):
    """All states are the same up to rounding of float32."""
    generator = np.random.default_rng(0)
    direction = generator.normal(size=6)
    noisy = direction * (1 + 3e-8 * generator.normal(size=(12, 1)))
    sentences = [[0, 1, 2], [3, 4, 0], [1, 2, 3], [4, 0, 1]]
    table = run(
        hand_made_run([3, 3, 2, 2, 2, 0], width=6),
        [hand_made(sentences, noisy)],
        hand_made([[number] for number in range(6)], noisy[:6]),
    )
    assert len(table) == 6
    assert np.abs(table.matrix).max() == 0


def test_one_word_only(hand_made, hand_made_run):
    states = np.random.default_rng(0).normal(size=(5, 4))
    table = run(
        hand_made_run([3, 0], width=4), [hand_made([[0, 0], [-1, 0]], states[:4])], hand_made([[0], [1]], states[3:])
    )
    assert table.words == ("word0", "word1")
    np.testing.assert_allclose(table.matrix, 0, atol=1e-12)


def test_fewer_words_than_the_width(hand_made, hand_made_run):
    generator = np.random.default_rng(1)
    states = generator.normal(size=(9, 50)) + 3
    table = run(
        hand_made_run([3, 3, 3, 0], width=50),
        [hand_made([[0, 1], [1, 2], [2, 0, 0, 1, 2]], states)],
        hand_made([[0], [1], [2], [3]], generator.normal(size=(4, 50))),
        dim=100,
    )
    assert np.isfinite(table.matrix).all()
    assert np.linalg.norm(table.matrix[:3], axis=1).min() > 0.1
    # Three words span two directions once their mean is gone; no others are made up for the fourth.
    assert np.abs(table.matrix[:, 2:]).max() < 1e-6


def test_a_word_without_subwords_is_left_out(hand_made, hand_made_run):
    generator = np.random.default_rng(2)
    table = run(
        hand_made_run([3, 3, 3], width=2),
        [hand_made([[0, -2, 2], [0, 2, -2]], generator.normal(size=(4, 2)))],
        hand_made([[0], [-2], [2]], generator.normal(size=(2, 2))),
    )
    assert table.words == ("word0", "word2")
    assert np.isfinite(table.matrix).all() and np.abs(table.matrix).max() > 0.1


def test_a_word_seen_in_the_text_but_not_alone_is_not_fitted_on(hand_made, hand_made_run):
    """Its missing state alone must not count as zeros in the regression."""
    generator = np.random.default_rng(3)
    states, alone = generator.normal(size=(12, 2)), generator.normal(size=(3, 2)) + 10
    sentences = [[0, 1], [1, 2], [2, 0], [0, 1], [1, 2], [2, 3]]
    table = run(hand_made_run([3, 4, 4, 1], width=2), [hand_made(sentences, states)], hand_made([[0], [1], [2]], alone))
    assert table.words == ("word0", "word1", "word2", "word3")
    joint = table.matrix[:3].astype(np.float64)
    np.testing.assert_allclose(joint.mean(axis=0), 0, atol=1e-6)


def test_nothing_is_expected_of_a_word_that_cannot_be_read_alone(hand_made, hand_made_run):
    """It is taken for an average word, as is the third one, which is average alone. Priors hide the text."""
    states = np.random.default_rng(4).normal(size=(12, 2)) + 1
    alone = np.array([[8.0, 10.0], [12.0, 14.0], [10.0, 12.0]])
    sentences = [[0, 1], [1, 2], [2, 0], [0, 1], [1, 2], [2, 3]]
    table = run(
        hand_made_run([3, 4, 4, 1], width=2),
        [hand_made(sentences, states)],
        hand_made([[0], [1], [2]], alone),
        state_prior=1e12,
        context_weight=0.0,
    )
    np.testing.assert_allclose(table.matrix[2], table.matrix[3], atol=1e-6)
    assert np.abs(table.matrix[0] - table.matrix[3]).max() > 0.1


def test_nothing_read_yet(hand_made_run):
    assert len(Still(StillConfig(layer=0), hand_made_run([5, 5], width=3)).finish()) == 0


def test_text_without_any_word_of_the_vocabulary_is_refused(hand_made_run):
    with pytest.raises(UsageError, match=r"none of the 2 words .* use decontextual"):
        Still(StillConfig(layer=0), hand_made_run([0, 0], width=3))


@pytest.mark.parametrize("dim", [0, -1, 7])
def test_sizes_that_cannot_be(hand_made_run, dim):
    with pytest.raises(UsageError, match=f"still.v1:dim must be from 1 to 6.*got {dim}"):
        Still(StillConfig(layer=0, dim=dim), hand_made_run([1], width=3))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("state_prior", 0.0),
        ("context_prior", -1.0),
        ("lower", -1),
        ("lower_weight", -0.5),
        ("context_prior", float("nan")),
        ("state_prior", float("inf")),
        ("state_exponent", -0.1),
        ("context_exponent", 1.5),
        ("context_exponent", float("nan")),
        ("context_weight", -0.1),
        ("context_weight", float("nan")),
    ],
)
def test_settings_out_of_range(setting, value):
    with pytest.raises(UsageError, match=f"{setting} must be .*got {value}"):
        StillConfig(layer=0, **{setting: value})


@pytest.mark.parametrize("lower", [2, 3])
def test_a_lower_layer_must_be_lower(hand_made_run, lower):
    with pytest.raises(UsageError, match=f"still.v1:lower must be below the layer, 2; got {lower}"):
        Still(StillConfig(layer=2, lower=lower), hand_made_run([1], width=3))


def test_a_lower_layer_makes_room_for_more_numbers(hand_made_run):
    method = Still(StillConfig(layer=2, lower=0, dim=9), hand_made_run([1], width=3))
    assert method.layers == (0, 2)
    with pytest.raises(UsageError, match=r"from 1 to 9, 3 times .*got 10"):
        Still(StillConfig(layer=2, lower=0, dim=10), hand_made_run([1], width=3))
