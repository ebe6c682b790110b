"""Judging learners between epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordstill.corpus import VocabularyConfig, prepare
from wordstill.distillation.distilling import distill
from wordstill.distillation.early_stopping import Development
from wordstill.distillation.estimate import dry_run
from wordstill.distillation.run import DistillConfig, Run
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.teacher import Teacher, TeacherConfig

WORDS = "river stone house cloud winter apple"
CONFIG = DistillConfig(
    ("x2static:subsample=0,rate=0.3", "ase"),
    vocabulary=VocabularyConfig(min_count=1),
    epochs=5,
    budget=200,
    checkpoint_seconds=0.0,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("development")
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(WORDS.split(), size=6)).capitalize() + "." for _ in range(30)]
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    return prepare(folder / "text.txt", folder / "store", workers=1)


@pytest.fixture(scope="module")
def teacher(tiny_teacher: Callable[..., Teacher]) -> Teacher:
    return tiny_teacher("bert-uncased")


class Judge:
    """Gives scores from a list, and keeps the tables it was shown."""

    def __init__(self, *scores: float, stop_at: int = -1) -> None:
        self.scores, self.stop_at = list(scores), stop_at
        self.tables: list[np.ndarray] = []

    def __call__(self, vectors) -> float:
        if len(self.tables) == self.stop_at:
            raise Interrupted("text", 0, 1)
        self.tables.append(vectors.matrix.copy())
        return self.scores.pop(0)


def test_reading_stops_when_nothing_gets_better_and_the_best_table_is_kept(corpus, teacher):
    judge = Judge(0.5, 0.7, 0.6, 0.65, 0.9)
    tables = Run(teacher, corpus, CONFIG, development=Development(judge, patience=2)).tables()
    assert len(judge.tables) == 4
    label = next(name for name in tables if name.startswith("x2static"))
    assert np.array_equal(tables[label].matrix, judge.tables[1])
    assert not np.array_equal(judge.tables[1], judge.tables[3])


def test_without_a_judge_all_epochs_are_read_and_sums_read_once(corpus, teacher):
    run = Run(teacher, corpus, CONFIG)
    assert [stage.title for stage in run.engine.stages] == [f"text, epoch {n}" for n in range(1, 6)]
    assert [len(stage.methods) for stage in run.engine.stages] == [2, 1, 1, 1, 1]
    once = Run(teacher, corpus, replace(CONFIG, epochs=1)).tables()["ase"]
    assert np.array_equal(run.tables()["ase"].matrix, once.matrix)


def test_a_resumed_run_remembers_the_best_table(corpus, teacher, tmp_path: Path):
    whole = Judge(0.5, 0.7, 0.6, 0.65, 0.6)
    expected = Run(teacher, corpus, CONFIG, tmp_path / "a", Development(whole, 2))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    tables = expected.tables()
    with pytest.raises(Interrupted):
        stopped = Development(Judge(0.5, 0.7, stop_at=2), 2)
        Run(teacher, corpus, CONFIG, tmp_path / "b", stopped).tables()
    rest = Development(Judge(0.6, 0.65, 0.6), 2)
    again = Run(teacher, corpus, CONFIG, tmp_path / "b", rest).tables(resume=True)
    for label, table in tables.items():
        assert table.matrix.tobytes() == again[label].matrix.tobytes()


def test_the_result_says_by_what_it_was_chosen(corpus, teacher):
    judge = Development(Judge(0.5, 0.7, 0.6), 1, {"file": "pairs.tsv", "sha256": "abc"})
    tables = Run(teacher, corpus, CONFIG, development=judge).tables()
    label = next(name for name in tables if name.startswith("x2static"))
    assert tables[label].provenance["development"] == {
        "file": "pairs.tsv",
        "sha256": "abc",
        "patience": 1,
        "kept_epoch": 2,
        "score": 0.7,
    }
    assert tables["ase"].provenance["development"] is None
    plain = Run(teacher, corpus, CONFIG).tables()
    assert all(table.provenance["development"] is None for table in plain.values())


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Development(Judge(), 1, {"sha256": "def"}), r"development\.sha256 was 'abc', now 'def'"),
        (Development(Judge(), 2, {"sha256": "abc"}), r"development\.patience was 1, now 2"),
        (None, r"development was \{.*'abc'.*\}, now None"),
    ],
)
def test_a_run_is_not_resumed_with_another_judge(corpus, teacher, tmp_path, other, message):
    with pytest.raises(Interrupted):
        first = Development(Judge(0.5, stop_at=1), 1, {"sha256": "abc"})
        Run(teacher, corpus, CONFIG, tmp_path, first).tables()
    with pytest.raises(DataError, match=message):
        Run(teacher, corpus, CONFIG, tmp_path, other).tables(resume=True)


@pytest.mark.parametrize(
    ("methods", "epochs", "message"),
    [
        (("still", "ase:layer=all"), 3, "still, ase:layer=all reads the text once.*--development"),
        ((" x2static : rate=1", "ase"), 1, "among epochs, and there is only one. Set --epochs"),
    ],
)
def test_a_judge_with_nothing_to_choose_is_refused(tmp_path, methods, epochs, message):
    (tmp_path / "text.txt").write_text("Some text.", encoding="utf-8")
    config = DistillConfig(methods, TeacherConfig("never loaded"), epochs=epochs)
    judge = Development(lambda vectors: 0.0)
    for start in (distill, dry_run):
        with pytest.raises(UsageError, match=message):
            start([tmp_path / "text.txt"], config=config, development=judge)


def test_a_vocabulary_that_cannot_be_judged_is_refused_before_the_first_batch(corpus, teacher):
    def refuse(words):
        raise DataError(f"no pair of {len(words)} words")

    with pytest.raises(DataError, match="no pair of 7 words"):
        Run(teacher, corpus, CONFIG, development=Development(Judge(), check_words=refuse))


def test_patience_has_a_least_value():
    with pytest.raises(UsageError, match="at least 1 epoch; got 0"):
        Development(lambda vectors: 0.0, 0)
