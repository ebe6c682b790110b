"""X2Static: its contexts, the settings of its paper, and what it learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.methods import METHODS, read_specs
from wordstill.methods.x2static import X2StaticConfig, sentence_contexts
from wordstill.teacher.batch import Batch
from wordstill.teacher.states import WordStates


def config(spec: str = "x2static:subsample=0", layer: int = 0) -> X2StaticConfig:
    (found,) = read_specs([spec], METHODS, layer)
    assert isinstance(found.config, X2StaticConfig)
    return found.config


def paragraph() -> WordStates:
    """``[CLS] he left the u . s . early . [SEP]  [next sentence] snow fell .`` with states 0, 1, 2, ...

    The first sentence has the word "u.s.", which is four subwords; the second sentence is "snow fell.".
    """
    subwords = np.array([1, 10, 11, 12, 20, 99, 21, 99, 13, 99, 14, 15, 99, 2])
    nothing = np.empty(0, dtype=np.int64)
    batch = Batch(
        subwords=subwords,
        text_offsets=np.array([0, len(subwords)]),
        word_ids=np.array([0, 1, 2, 3, 4, 5, 6], dtype=np.int32),
        word_start=np.array([1, 2, 3, 4, 8, 10, 11]),
        word_end=np.array([2, 3, 4, 8, 9, 11, 12]),
        word_sentence=np.array([0, 0, 0, 0, 0, 1, 1]),
        sentence_start=np.array([1, 10]),
        sentence_end=np.array([10, 13]),
        sentence_text=np.array([0, 0]),
        n_words=7,
        phrase_start=nothing,
        phrase_end=nothing,
        source_ids=np.array([0]),
    )
    return WordStates(batch, {0: torch.arange(len(subwords), dtype=torch.float32)[:, None]})


def contexts(states: WordStates, spec: str, words: list[int]) -> list[float]:
    settings = config(spec)
    found = sentence_contexts(
        states, torch.tensor(words), settings.layer, settings.averaged, leave_out=settings.leave_out
    )
    return found[:, 0].tolist()


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
        ],
    )
    def test_means_are_over_the_right_states(self, settings, word, expected):
        assert contexts(paragraph(), f"x2static:{settings}subsample=0", [word]) == pytest.approx([expected])

    def test_a_word_alone_in_its_sentence_has_nothing_left(self, hand_made):
        states = hand_made([[0], [1, 2]], np.array([[5.0], [6.0], [7.0]], dtype=np.float32))
        assert contexts(states, "x2static:leave_out=true", [0, 1, 2]) == [0.0, 7.0, 6.0]


class TestPaper:
    def test_the_target_can_be_its_own_negative(self, topics):
        words = torch.tensor([[3], [4]])
        negatives = torch.tensor([[3, 5], [3, 4]])
        paper, fixed = topics.build("x2static:preset=paper"), topics.build("x2static:shared=0")
        assert paper.negative_weights(negatives, words).tolist() == [[1, 1], [1, 1]]
        assert fixed.negative_weights(negatives, words).tolist() == [[0, 1], [1, 0]]

    def test_the_table_starts_within_one_by_width_of_zero(self, topics):
        weights = topics.build("x2static:preset=paper").rows.weights
        bound = 1 / weights.shape[1]
        assert float(weights.abs().max()) <= bound
        assert float(weights.std()) == pytest.approx(bound / 3**0.5, rel=0.2)

    def test_a_step_has_the_targets_of_so_many_texts(self, text):
        """Without subsampling, each word is one; one that holds all of a batch takes it in one step."""
        words, texts = int(text.vocabulary.counts.sum()), sum(map(len, text.lines))
        states = next(iter(text.states(False, 10_000, (text.teacher.depth,))))
        generator = torch.Generator().manual_seed(0)
        for batch, expected in ((2, round(2 * words / texts)), (10_000, int((states.word_ids >= 0).sum()))):
            context = replace(text.context, texts=texts)
            (spec,) = read_specs([f"x2static:preset=paper,subsample=0,batch={batch}"], METHODS, text.teacher.depth)
            assert next(spec.build(context).steps(states, generator)) == expected

    def test_the_rate_stays(self, topics):
        method = topics.build("x2static:preset=paper,subsample=0")
        method.observe(topics.states(0))
        assert method.scheduled_rate == 1e-3
        fixed = topics.build("x2static:subsample=0,final_rate=0.5")
        before = fixed.scheduled_rate
        fixed.observe(topics.states(0))
        assert fixed.scheduled_rate < before


@pytest.mark.parametrize(
    "spec",
    [
        "x2static:subsample=0",
        "x2static:subsample=0,shared=0",
        "x2static:preset=paper,batch=64,batch_of=targets,rate=0.02",
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
        ("start=uniform", "whiten=none"),
        ("preset=papr", "Did you mean.*paper|paper"),
        ("preset=released", r"Unknown preset of x2static 'released'\. Known: fixed, paper\."),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        config(f"x2static:{settings}")
