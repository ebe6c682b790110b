from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from wordstill.errors import UsageError  # noqa: E402
from wordstill.evaluate.extrinsic.config import NCRFPP, TaggerConfig  # noqa: E402
from wordstill.evaluate.extrinsic.examples import Examples, Published  # noqa: E402
from wordstill.evaluate.extrinsic.tag_coding import Surfaces, TaggedRows  # noqa: E402
from wordstill.evaluate.extrinsic.tagger import TaggingLearner  # noqa: E402
from wordstill.evaluate.extrinsic.tagging import TaggingTask  # noqa: E402
from wordstill.evaluate.extrinsic.word_table import Sentences  # noqa: E402

QUICK = TaggerConfig(
    hidden=16,
    character_size=4,
    character_filters=6,
    learning_rate=0.03,
    epochs=4,
    batch=8,
    seeds=2,
    device="cpu",
)


def test_spans_are_learnt(span_set, polar_vectors):
    score = TaggingTask(span_set(), QUICK).run(polar_vectors)
    assert score.metric == "span_f1"
    assert score.value > 90
    assert score.interval.low <= score.value <= score.interval.high
    assert score.deviation is not None
    assert [part.name for part in score.parts] == ["seed 0", "seed 1"]
    assert all(1 <= epoch <= 4 for epoch in score.settings["epochs"])


def parts_of_speech(span_set):
    made = span_set()
    train = made.content.train
    return replace(
        made,
        content=Published(
            Examples(train.sentences, tuple(tuple(word[:3] for word in row) for row in train.sentences))
        ),
    )


def test_tags_that_are_no_spans_are_scored_word_by_word(span_set, random_vectors):
    made = parts_of_speech(span_set)
    # Vectors that tell nothing: only the spelling does.
    words = sorted({word for row in made.content.train.sentences for word in row})
    score = TaggingTask(made, QUICK).run(random_vectors(words))
    assert score.metric == "accuracy"
    assert score.value > 90
    test = made.content.train.sentences[-10:]
    assert score.n == sum(map(len, test))


def test_equal_seeds_give_equal_scores(span_set, random_vectors):
    made = span_set()
    quick = replace(QUICK, epochs=1)
    words = sorted({word for row in made.content.train.sentences for word in row})
    first, second, other = (
        TaggingTask(made, quick).run(random_vectors(words), seed=seed) for seed in (0, 0, 5)
    )
    assert first == second
    assert first.parts != other.parts


def test_the_presets_of_ncrfpp_run(span_set, polar_vectors):
    config = replace(NCRFPP, hidden=16, epochs=2, seeds=1, device="cpu")
    score = TaggingTask(span_set(), config).run(polar_vectors)
    assert score.problem is None
    assert score.settings["epochs"][0] in (1, 2)


def test_digits_become_zero_before_the_lookup(span_set, random_vectors):
    made = span_set()
    vectors = random_vectors(["good0", "bad0", "plain0", "good00", "bad00", "plain00"])
    plain, zeros = (
        TaggingTask(made, replace(QUICK, epochs=1, seeds=1, digits_to_zero=digits)).run(vectors).coverage
        for digits in (False, True)
    )
    assert plain.used < zeros.used == zeros.total


def test_problems_are_said(span_set, polar_vectors, random_vectors):
    assert "none of the" in TaggingTask(span_set(), QUICK).run(random_vectors(["other"])).problem
    assert "development part has only 5" in TaggingTask(span_set(50), QUICK).run(polar_vectors).problem


def test_a_set_with_labels_is_refused(polar_set):
    with pytest.raises(UsageError, match="has no tags, which the task 'tagging' needs; it has labels"):
        TaggingTask(polar_set())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hidden": 3}, "hidden must be"),
        ({"optimiser": "adma"}, "Did you mean 'adam'"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(UsageError, match=message):
        TaggerConfig(**wrong)


def test_batch_mates_have_no_influence_on_a_sentence():
    random = np.random.default_rng(0)
    words = ["a", "bb", "ccc", "dddd", "e" * 20]
    surfaces = Surfaces.of(words, range(1, 6), words)
    matrix = random.normal(size=(6, 5)).astype(np.float32)
    learner = TaggingLearner(matrix, surfaces, 4, QUICK, torch.device("cpu"))
    torch.manual_seed(0)
    model = learner.new_model().eval()
    rows = [random.integers(1, 6, size=size).tolist() for size in (3, 9, 1)]
    together = model(torch.from_numpy(Sentences.of(rows).padded(np.arange(3))), torch.tensor([3, 9, 1]))
    for place, row in enumerate(rows):
        alone = model(torch.tensor([row]), torch.tensor([len(row)]))
        torch.testing.assert_close(together[place, : len(row)], alone[0])
    part = TaggedRows(Sentences.of(rows), Sentences.of(rows))
    assert learner.predict(model, part).lengths.tolist() == [3, 9, 1]
