"""Learners with windows: their pairs, the settings of their papers, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.methods import METHODS, read_specs
from wordstill.methods.learning.objectives import NegativeSampler
from wordstill.methods.learning.window_learner import OBJECTIVES, Windows

NAMES = ("bert-skipgram", "context-to-vec")


def settings(spec: str):
    (found,) = read_specs([spec], METHODS, 0)
    return found.config


@pytest.fixture
def sentence(topics, hand_made):
    """Twenty different words, each with its number as its state."""

    def make(length: int = 20):
        return hand_made([list(range(length))], np.arange(length, dtype=np.float32)[:, None])

    return make


def pairs_of(states, spec: str, words: int = 24) -> list[tuple[int, int, float]]:
    """Centre, neighbour and weight of every filled slot, in the order of the text."""
    found = windows(spec, words)(states, np.random.default_rng(0))
    return sorted(
        (centre, row, weight)
        for centre, rows, weights in zip(found.centers.tolist(), found.rows.tolist(), found.weights.tolist())
        for row, weight in zip(rows, weights)
        if weight
    )


def windows(spec: str, words: int = 24) -> Windows:
    """Finds examples without thinning anything out."""
    host = torch.device("cpu")
    return Windows(settings(spec), NegativeSampler(_Words(words), 1.0, "counts", 0.0, host), host)


class _Words:
    def __init__(self, size: int) -> None:
        self.counts = np.ones(size, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.counts)

    def keep_probability(self, t: float) -> np.ndarray:
        return np.ones(len(self))


class TestPairs:
    def test_windows_are_symmetric_and_end_with_the_sentence(self, sentence):
        found = pairs_of(sentence(5), "bert-skipgram:window=2,self_weight=0")
        assert [(centre, row) for centre, row, _ in found] == [
            (centre, row) for centre in range(5) for row in range(5) if 0 < abs(centre - row) <= 2
        ]
        assert {weight for *_, weight in found} == {1.0}

    def test_the_word_itself_has_its_weight(self, sentence):
        found = pairs_of(sentence(4), "bert-skipgram:window=1,self_weight=2.5")
        assert {weight for centre, row, weight in found if centre == row} == {2.5}
        assert sum(centre == row for centre, row, _ in found) == 4

    def test_sentences_and_unknown_words_are_not_crossed(self, hand_made):
        states = hand_made([[0, 1], [2, -1, 3]], np.zeros((5, 1), dtype=np.float32))
        found = pairs_of(states, "bert-skipgram:window=2,self_weight=0")
        assert [(states.batch.host_word_ids[centre], row) for centre, row, _ in found] == [
            (0, 1),
            (1, 0),
            (2, 3),
            (3, 2),
        ]

    def test_an_empty_slot_names_a_row_of_its_centre(self, sentence):
        found = windows("bert-skipgram:self_weight=0")(sentence(4), np.random.default_rng(0))
        for rows, weights in zip(found.rows.tolist(), found.weights.tolist()):
            filled = {row for row, weight in zip(rows, weights) if weight}
            assert set(rows) == filled


class TestInputs:
    def test_tied_inputs_are_half_the_word_and_half_its_neighbours(self, topics, sentence):
        method = topics.build("context-to-vec:whiten=none,right=4")
        states = sentence(12)
        found = method.inputs(states, torch.tensor([3, 6]))[1, 0]
        assert float(found) == pytest.approx(0.5 * 6 + 0.5 * np.mean([1, 2, 3, 4, 5, 7, 8, 9, 10]))

    def test_the_printed_input_has_two_projections(self, topics, sentence):
        method = topics.build("context-to-vec:preset=paper")
        states = sentence(12)
        found = method.inputs(states, torch.tensor([6]))[0]
        assert found.tolist() == pytest.approx([3.0, 0.5 * np.mean([1, 2, 3, 4, 5, 7, 8, 9, 10, 11])])
        assert method.projection.weights.shape[1] == 2 * topics.width

    @pytest.mark.parametrize(
        ("settings", "phi", "around"),
        [
            ("", lambda value: value, 5),
            ("around=2,", lambda value: value, 2),
            ("nonlinearity=tanh,", np.tanh, 5),
            ("nonlinearity=relu,", lambda value: np.maximum(value, 0), 5),
        ],
    )
    def test_equation_4_divides_by_the_full_window_everywhere(self, topics, hand_made, settings, phi, around):
        """Also at the ends of a sentence, where fewer neighbors are there."""
        values = np.random.default_rng(0).normal(size=12)
        states = hand_made([list(range(12))], values[:, None].astype(np.float32))
        found = topics.build(f"context-to-vec:{settings}preset=paper").inputs(states, torch.arange(12))
        for word in range(12):
            near = sum(values[other] for other in range(12) if 1 <= abs(other - word) <= around)
            expected = [0.5 * values[word], 0.5 * phi(near) / (2 * around)]
            assert found[word].tolist() == pytest.approx(expected, abs=1e-6)

    def test_a_third_projection_has_the_word_alone(self, topics, sentence):
        method = topics.build("context-to-vec:preset=paper,contextualised_by=projection")
        found = method.inputs(sentence(12), torch.tensor([6]))[0]
        assert found.tolist() == pytest.approx([6.0, 3.0, 3.0])
        assert method.projection.weights.shape[1] == 3 * topics.width

    def test_skip_gram_projects_the_word_alone(self, topics, sentence):
        states = sentence(12)
        found = topics.build("bert-skipgram:whiten=none").inputs(states, torch.arange(4, 9))
        assert torch.equal(found, states.words(0)[4:9])


class TestPaper:
    @pytest.mark.parametrize("name", NAMES)
    def test_the_rate_falls_to_nothing_with_the_words(self, topics, name):
        method = topics.build(f"{name}:preset=paper,dim=4", batches=2)
        assert method.scheduled_rate == 0.025
        method.observe(topics.states(0))
        assert method.scheduled_rate == pytest.approx(0.0125)
        method.observe(topics.states(1))
        assert method.scheduled_rate == 0.0

    @pytest.mark.parametrize("name", NAMES)
    def test_a_step_is_as_long_as_the_clip_allows(self, topics, name):
        """Gradients are longer than 5 at the start, so the step is the rate times 5 whatever the batch."""
        method = topics.build(f"{name}:preset=paper")
        before = [table.weights.clone() for table in (method.rows, method.projection)]
        next(method.steps(topics.states(0), torch.Generator().manual_seed(0)))
        moved = [table.weights - old for table, old in zip((method.rows, method.projection), before)]
        length = sum(float(each.square().sum()) for each in moved) ** 0.5
        assert length == pytest.approx(0.025 * 5, rel=1e-4)

    def test_negatives_as_printed_have_no_lower_bound(self, topics):
        """Eq. 7 with its printed sign rewards ever lower scores; the bounded form does not."""
        spec = "context-to-vec:preset=paper,dim=6"
        for printed in ("true", "false"):
            method = topics.build(f"{spec},printed_sign={printed}")
            low = torch.full((1, 3), -1000.0)
            losses = OBJECTIVES[method.config.objective](torch.zeros(1, 2), low, torch.ones(1, 2), torch.ones(1, 3))
            total = float(method.adjust(losses, low, torch.ones(1, 3)).repulsion)
            assert total == pytest.approx(-3000.0 if printed == "true" else 0.0, abs=1e-3)


@pytest.mark.parametrize(
    "spec",
    [
        "bert-skipgram",
        "context-to-vec",
        "bert-skipgram:shared=0",
        "bert-skipgram:self_weight=0,optimiser=adam,balance=0,rate=0.01,batch=64",
        "bert-skipgram:preset=paper-held,rate=0.1",
        "context-to-vec:preset=paper",
        "context-to-vec:preset=paper,contextualised_by=static",
        "context-to-vec:preset=paper,contextualised_by=projection",
        "context-to-vec:preset=paper,normalized=true,rate=1.0",
    ],
)
def test_planted_topics_are_found(spec, topics):
    method = topics.build(spec + (",dim=8" if ":" in spec else ":dim=8"))
    for seed in range(40):
        method.observe(topics.states(seed))
    assert topics.gap(method.vectors()) > 0.1


def test_gradients_through_attention_push_neighbors_away(topics):
    """The printed attention tears topics apart, held constant it finds them; nothing else differs."""
    gaps = {}
    for preset in ("paper", "paper-held"):
        method = topics.build(f"bert-skipgram:preset={preset},rate=0.1,dim=8")
        for seed in range(40):
            method.observe(topics.states(seed))
        gaps[preset] = topics.gap(method.vectors())
    assert gaps["paper"] < 0 < gaps["paper-held"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("window=0", "window must be from 1 to 1,000; got 0"),
        ("self_weight=-1", "self_weight must be from 0 to 1,000,000; got -1.0"),
        ("objective=attended", "set drawn_for=centre"),
        ("objective=summed", "set drawn_for=centre"),
        ("preset=released", "Known: fixed, paper"),
    ],
)
def test_settings_that_cannot_work_are_refused(name, given, message):
    with pytest.raises(UsageError, match=message):
        settings(f"{name}:{given}")
