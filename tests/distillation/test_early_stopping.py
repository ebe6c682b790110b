"""Early stopping: learners are scored between epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordstill.corpus import Corpus, VocabularyConfig, prepare
from wordstill.distillation import DistillConfig, EarlyStopping, distill, distill_from_teacher
from wordstill.distillation.estimate import dry_run
from wordstill.distillation.plan import make_plan
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

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
            raise Interrupted("reading text", 0, 1, "words")
        self.tables.append(vectors.matrix.copy())
        return self.scores.pop(0)


def distilled(
    corpus: Corpus,
    teacher: Teacher,
    early_stopping: EarlyStopping | None,
    work: Path | None = None,
    *,
    resume: bool = False,
) -> dict[str, WordVectors]:
    return distill_from_teacher(teacher, corpus, config=CONFIG, work=work, resume=resume, early_stopping=early_stopping)


def test_reading_stops_when_nothing_gets_better_and_the_best_table_is_kept(corpus, teacher):
    judge = Judge(0.5, 0.7, 0.6, 0.65, 0.9)
    tables = distilled(corpus, teacher, EarlyStopping(judge, patience=2))
    assert len(judge.tables) == 4
    label = next(name for name in tables if name.startswith("x2static"))
    assert np.array_equal(tables[label].matrix, judge.tables[1])
    assert not np.array_equal(judge.tables[1], judge.tables[3])


def test_without_a_judge_all_epochs_are_read_and_sums_read_once(corpus, teacher):
    plan = make_plan(teacher, corpus, CONFIG)
    assert [stage.title for stage in plan.engine.stages] == [f"text, epoch {n}" for n in range(1, 6)]
    assert [len(stage.methods) for stage in plan.engine.stages] == [2, 1, 1, 1, 1]
    once = distill_from_teacher(teacher, corpus, config=replace(CONFIG, epochs=1))["ase"]
    assert np.array_equal(plan.run()["ase"].matrix, once.matrix)


def test_a_resumed_run_remembers_the_best_table(corpus, teacher, tmp_path: Path):
    whole = Judge(0.5, 0.7, 0.6, 0.65, 0.6)
    tables = distilled(corpus, teacher, EarlyStopping(whole, 2))
    with pytest.raises(Interrupted):
        stopped = EarlyStopping(Judge(0.5, 0.7, stop_at=2), 2)
        distilled(corpus, teacher, stopped, tmp_path)
    rest = EarlyStopping(Judge(0.6, 0.65, 0.6), 2)
    again = distilled(corpus, teacher, rest, tmp_path, resume=True)
    for label, table in tables.items():
        assert table.matrix.tobytes() == again[label].matrix.tobytes()


def test_the_result_says_by_what_it_was_chosen(corpus, teacher):
    judge = EarlyStopping(Judge(0.5, 0.7, 0.6), 1, {"file": "pairs.tsv", "sha256": "abc"})
    tables = distilled(corpus, teacher, judge)
    label = next(name for name in tables if name.startswith("x2static"))
    assert tables[label].provenance["development"] == {
        "file": "pairs.tsv",
        "sha256": "abc",
        "patience": 1,
        "kept_epoch": 2,
        "score": 0.7,
        "curve": [(210, 0.5), (420, 0.7), (630, 0.6)],
    }
    assert tables["ase"].provenance["development"] is None
    plain = distilled(corpus, teacher, None)
    assert all(table.provenance["development"] is None for table in plain.values())


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (EarlyStopping(Judge(), 1, {"sha256": "def"}), r"development\.sha256 was 'abc', now 'def'"),
        (EarlyStopping(Judge(), 2, {"sha256": "abc"}), r"development\.patience was 1, now 2"),
        (None, r"development was \{.*'abc'.*\}, now None"),
    ],
)
def test_a_run_is_not_resumed_with_another_judge(corpus, teacher, tmp_path, other, message):
    with pytest.raises(Interrupted):
        first = EarlyStopping(Judge(0.5, stop_at=1), 1, {"sha256": "abc"})
        distilled(corpus, teacher, first, tmp_path)
    with pytest.raises(DataError, match=message):
        distilled(corpus, teacher, other, tmp_path, resume=True)


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
    judge = EarlyStopping(lambda vectors: 0.0)
    for start in (distill, dry_run):
        with pytest.raises(UsageError, match=message):
            start([tmp_path / "text.txt"], config=config, early_stopping=judge)


def test_a_vocabulary_that_cannot_be_judged_is_refused_before_the_first_batch(corpus, teacher):
    def refuse(words):
        raise DataError(f"no pair of {len(words)} words")

    with pytest.raises(DataError, match="no pair of 7 words"):
        distilled(corpus, teacher, EarlyStopping(Judge(), check_words=refuse))


def test_patience_has_a_least_value():
    with pytest.raises(UsageError, match="at least 1 epoch; got 0"):
        EarlyStopping(lambda vectors: 0.0, 0)


def test_scores_during_an_epoch_are_kept_as_a_curve(corpus, teacher, tmp_path):
    config = replace(CONFIG, epochs=2)
    judge = Judge(*(number / 100 for number in range(20)))
    tables = distill_from_teacher(teacher, corpus, config=config, early_stopping=EarlyStopping(judge, 2, every=50))
    label = next(name for name in tables if name.startswith("x2static"))
    curve = tables[label].provenance["development"]["curve"]
    words, scores = [words for words, _ in curve], [score for _, score in curve]
    assert words == sorted(set(words)) and {210, 420} <= set(words) and len(words) > 4
    assert all(after // 50 > before // 50 or after in (210, 420) for before, after in zip([0, *words], words))
    # The last score of an epoch takes the place of one that came after the same words.
    assert scores == sorted(scores) and tables[label].provenance["development"]["kept_epoch"] == 2
    plain = distill_from_teacher(teacher, corpus, config=config, early_stopping=EarlyStopping(Judge(0.1, 0.2), 2))
    assert np.array_equal(plain[label].matrix, tables[label].matrix)


def test_a_resumed_run_remembers_its_curve(corpus, teacher, tmp_path):
    scores = [number / 100 for number in range(40)]

    def curve(judge: Judge, work: Path | None = None, resume: bool = False) -> list[tuple[int, float]]:
        found = distill_from_teacher(
            teacher,
            corpus,
            config=replace(CONFIG, epochs=1),
            work=work,
            resume=resume,
            early_stopping=EarlyStopping(judge, 1, every=30),
        )
        label = next(name for name in found if name.startswith("x2static"))
        return found[label].provenance["development"]["curve"]

    whole = curve(Judge(*scores))
    with pytest.raises(Interrupted):
        curve(Judge(*scores, stop_at=2), tmp_path)
    assert curve(Judge(*scores[2:]), tmp_path, resume=True) == whole


def test_words_between_scores_have_a_least_value():
    with pytest.raises(UsageError, match="at least 1 word; got 0"):
        EarlyStopping(lambda vectors: 0.0, every=0)
