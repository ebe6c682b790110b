"""X2Static: its contexts, its released oddities on examples worked out by hand, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.methods import METHODS, read_specs
from wordstill.methods.learning.contexts import miscounted_sentences, sentence_contexts
from wordstill.methods.x2static import X2StaticConfig
from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.states import WordStates

STOP = 99


def config(spec: str = "x2static:subsample=0", layer: int = 0) -> X2StaticConfig:
    (found,) = read_specs([spec], METHODS, layer)
    assert isinstance(found.config, X2StaticConfig)
    return found.config


def paragraph() -> WordStates:
    """``[CLS] he left the u . s . early . [SEP]  [next sentence] snow fell .`` with states 0, 1, 2, ...

    The first sentence has the word "u.s.", which is four sub-words; the second sentence is "snow fell.".
    """
    pieces = np.array([1, 10, 11, 12, 20, STOP, 21, STOP, 13, STOP, 14, 15, STOP, 2])
    nothing = np.empty(0, dtype=np.int64)
    batch = Batch(
        pieces=pieces,
        texts=np.array([0, len(pieces)]),
        word_ids=np.array([0, 1, 2, 3, 4, 5, 6], dtype=np.int32),
        word_first=np.array([1, 2, 3, 4, 8, 10, 11]),
        word_last=np.array([2, 3, 4, 8, 9, 11, 12]),
        word_sentence=np.array([0, 0, 0, 0, 0, 1, 1]),
        sentence_first=np.array([1, 10]),
        sentence_last=np.array([10, 13]),
        sentence_text=np.array([0, 0]),
        running=7,
        phrase_first=nothing,
        phrase_last=nothing,
        places=np.array([0]),
    )
    return WordStates(batch, {0: torch.arange(len(pieces), dtype=torch.float32)[:, None]})


def contexts(spec: str, word: int) -> float:
    states = paragraph()
    return float(sentence_contexts(states, config(spec), (STOP,))(torch.tensor([word]))[0, 0])


class TestContexts:
    @pytest.mark.parametrize(
        ("settings", "word", "expected"),
        [
            ("", 0, np.mean(range(1, 10))),
            ("", 5, np.mean(range(10, 13))),
            ("averaged=words,", 5, np.mean([10, 11])),
            ("averaged=words,", 3, np.mean([1, 2, 3, np.mean([4, 5, 6, 7]), 8])),
            ("leave_out=true,", 3, np.mean([1, 2, 3, 8, 9])),
            ("averaged=words,leave_out=true,", 5, 11.0),
            ("specials=true,", 5, np.mean(range(14))),
        ],
    )
    def test_means_are_over_the_right_states(self, settings, word, expected):
        assert contexts(f"x2static:{settings}subsample=0", word) == pytest.approx(expected)

    def test_a_word_alone_in_its_sentence_has_nothing_left(self):
        states = paragraph()
        chosen = sentence_contexts(states, config("x2static:leave_out=true"), ())
        assert bool(torch.isfinite(chosen(torch.arange(7))).all())


class TestReleased:
    def test_full_stops_inside_words_move_later_sentences_forward(self):
        """The stretches are "he left the u.", "s.", "early." and "snow fell."; the second is taken."""
        first, last = miscounted_sentences(paragraph().loaded.batch, (STOP,))
        assert first.tolist() == [1, 6]
        assert last.tolist() == [6, 8]
        assert contexts("x2static:preset=released", 5) == pytest.approx(np.mean([6, 7]))
        assert contexts("x2static:preset=released", 0) == pytest.approx(np.mean(range(1, 6)))

    def test_special_tokens_are_in_the_mean_of_a_sentence(self):
        spec = "x2static:preset=released,miscount=false,specials=true"
        assert contexts(spec, 1) == pytest.approx(np.mean(range(14)))

    def test_negatives_come_from_a_pool_that_is_walked_again_and_again(self, topics):
        method = topics.build("x2static:preset=released,noise_pool=8,negatives=3,batch=2,subsample=0")
        generator = torch.Generator()
        drawn = []
        for _ in range(4):
            drawn += next(method._draws([2], generator)).flatten().tolist()
            method.clock.counts[2] += 1
        assert drawn[:8] == drawn[8:16] == drawn[16:24]
        assert len(set(drawn)) > 1

    def test_scores_over_twenty_get_no_gradient(self, topics):
        method = topics.build("x2static:preset=released,subsample=0,miscount=false")
        method.rows.weights.fill_(10.0)
        before = method.rows.weights.clone()
        method.observe(topics.states(0, scale=10.0))
        assert torch.equal(method.rows.weights, before)

    def test_the_target_can_be_its_own_negative(self, topics):
        words = torch.tensor([[3], [4]])
        negatives = torch.tensor([[3, 5], [3, 4]])
        assert topics.build("x2static:preset=released").weights(negatives, words).tolist() == [[1, 1], [1, 1]]
        assert topics.build("x2static:shared=0").weights(negatives, words).tolist() == [[0, 1], [1, 0]]

    def test_the_table_starts_within_one_by_width_of_zero(self, topics):
        weights = topics.build("x2static:preset=released").rows.weights
        bound = 1 / weights.shape[1]
        assert float(weights.abs().max()) <= bound
        assert float(weights.std()) == pytest.approx(bound / 3**0.5, rel=0.2)

    def test_the_rate_stays(self, topics):
        method = topics.build("x2static:preset=released,subsample=0")
        method.observe(topics.states(0))
        assert method.rate == 1e-3
        fixed = topics.build("x2static:subsample=0,final_rate=0.5")
        before = fixed.rate
        fixed.observe(topics.states(0))
        assert fixed.rate < before


@pytest.mark.parametrize(
    "spec",
    [
        "x2static:subsample=0",
        "x2static:subsample=0,shared=0",
        "x2static:preset=paper,batch=64,rate=0.02",
        "x2static:whiten=none,optimiser=adam,balance=0,batch=64,rate=0.02",
    ],
)
def test_planted_topics_are_found(spec, topics):
    method = topics.build(spec)
    for seed in range(40):
        method.observe(topics.states(seed))
    assert topics.gap(method.vectors()) > 0.2


def test_the_loss_falls(topics):
    method = topics.build("x2static:subsample=0,rate=0.5")
    losses = []
    for seed in range(40):
        method.observe(topics.states(seed))
        losses.append(float(method.status().removeprefix("loss ")))
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])
    assert method.status() == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("negatives=0", "from 1 to 10,000; got 0"),
        ("rate=0", "rate must be above 0"),
        ("final_rate=2", "from 0 to 1; got 2"),
        ("subsample=-1", "from 0 to 1; got -1"),
        ("specials=true,miscount=true", "cannot go with miscount"),
        ("preset=paper,miscount=true", "cannot go with leave_out or averaged=words"),
        ("preset=released,leave_out=true", "cannot go with leave_out or averaged=words"),
        ("start=uniform", "whiten=none"),
        ("noise_pool=10", "shared=0"),
        ("preset=papr", "Did you mean.*paper|paper"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        config(f"x2static:{settings}")
