from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from wordstill.errors import MissingExtra, UsageError
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.score import Coverage
from wordstill.evaluation.trained.classification import ClassificationTask, ProbeTask
from wordstill.evaluation.trained.config import CnnConfig, ProbeConfig
from wordstill.vectors import WordVectors

QUICK = CnnConfig(filters=8, epochs=(3, 5), learning_rates=(1e-3, 2e-2), batch=16, seeds=2, device="cpu")


def tasks(dataset):
    """Both classifiers, quick."""
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    return ClassificationTask(dataset, QUICK), ProbeTask(dataset)


def test_what_can_be_learnt_is_learnt(polar_set, polar_vectors):
    for task in tasks(polar_set()):
        score = task.run(polar_vectors)
        assert score.value > 90
        assert score.interval.low <= score.value <= score.interval.high
        assert score.n == 40
        assert score.coverage == Coverage(*[sum(map(len, task.dataset.content.sentences()))] * 2)
        assert score.parts[0].name == "macro-F1"
        assert score.parts[0].value > 90


def test_vectors_that_tell_nothing_give_the_largest_class(polar_set, polar_vectors):
    same = WordVectors(polar_vectors.words, np.ones_like(polar_vectors.matrix))
    for task in tasks(polar_set()):
        score = task.run(same)
        assert score.value == pytest.approx(100 * 2 / 3, abs=2)
        assert score.parts[0].value == pytest.approx(40, abs=2)


def test_mean_and_deviation_are_over_seeds(polar_set, polar_vectors):
    hard = WordVectors(polar_vectors.words, polar_vectors.matrix * np.float32([0.2] + [1] * 11))
    score = tasks(polar_set())[0].run(hard)
    seeds = [part.value for part in score.parts if part.name.startswith("seed ")]
    assert len(seeds) == 2
    assert score.value == pytest.approx(np.mean(seeds))
    assert score.deviation == pytest.approx(np.std(seeds, ddof=1))
    assert tasks(polar_set())[1].run(hard).deviation is None


def test_equal_seeds_give_equal_scores(polar_set, polar_vectors):
    hard = WordVectors(polar_vectors.words, polar_vectors.matrix * np.float32([0.2] + [1] * 11))
    task = ClassificationTask(polar_set(), replace(QUICK, epochs=(1,), learning_rates=(0.02,)))
    first, second, other = (task.run(hard, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert np.array_equal(first.items.predicted, second.items.predicted)
    assert not np.array_equal(first.items.predicted, other.items.predicted)


def test_the_size_of_the_vectors_does_not_matter(polar_set, polar_vectors):
    # A power of two, so that nothing is rounded.
    large = WordVectors(polar_vectors.words, polar_vectors.matrix * np.float32(64))
    for task in tasks(polar_set()):
        assert task.run(large).value == task.run(polar_vectors).value


def test_the_score_is_plain_data(polar_set, polar_vectors):
    plain = tasks(polar_set())[0].run(polar_vectors).to_dict()
    assert json.loads(json.dumps(plain))["settings"]["epochs"] in QUICK.epochs


def test_a_table_without_any_of_the_words_has_no_score(polar_set, random_vectors):
    for task in tasks(polar_set()):
        score = task.run(random_vectors(["other"]))
        assert score.value is score.interval is score.deviation is None
        assert score.problem.startswith("none of the ")


def test_too_few_sentences_are_refused_before_training(polar_set, polar_vectors):
    for task in tasks(polar_set(30)):
        score = task.run(polar_vectors)
        assert score.value is None
        assert "development part has only 6 sentences" in score.problem


def test_a_limit_takes_fewer_sentences(polar_set, polar_vectors):
    assert ProbeTask(polar_set(), ProbeConfig(limit=30)).run(polar_vectors).n == 30


def test_words_are_those_of_every_part(polar_set):
    whole = polar_set()
    half = whole.content.train.take(range(100))
    parts = replace(whole, content=replace(whole.content, train=half, test=whole.content.train))
    assert set(ProbeTask(parts).words()) == set(ProbeTask(whole).words())


def test_an_own_file(tmp_path, polar_set, polar_vectors):
    made = polar_set().content.train
    path = tmp_path / "own.tsv"
    path.write_text("".join(f"{label}\t{' '.join(words)}\n" for words, label in zip(made.sentences, made.targets)))
    score = ProbeTask(path).run(polar_vectors)
    assert score.value == ProbeTask(polar_set()).run(polar_vectors).value
    assert score.source == f"file:{path}"


def test_a_set_of_another_kind_is_refused(span_set):
    with pytest.raises(UsageError, match="has no labels, which the task 'probe' needs; it has tags"):
        ProbeTask(span_set())
    with pytest.raises(UsageError, match="has no labels, which the task 'classification' needs"):
        ClassificationTask(LoadedDataset("pairs", object(), "test", ""))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": ()}, "epochs must be one or more numbers; got none"),
        ({"epochs": (0, 3)}, "every number of epochs must be 1 or more; got 0"),
        ({"learning_rates": (0.0,)}, "learning_rates must be"),
        ({"seeds": 0}, "seeds must be"),
        ({"batch": 0}, "batch must be"),
        ({"width": 2}, "width must be odd; got 2"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"limit": 0}, "limit must be"),
        ({"scale": "big"}, "Unknown value of scale 'big'"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(UsageError, match=message):
        CnnConfig(**wrong)


def test_a_package_that_is_lacking_is_named(monkeypatch, polar_set, polar_vectors):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"'torch'.*wordstill\[distill\]"):
        ClassificationTask(polar_set(), QUICK).run(polar_vectors)
