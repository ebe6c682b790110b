"""The library call: what it writes, what it leaves, and how it goes on."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordstill.core.resume import CHECKPOINT, CheckpointFile
from wordstill.corpus import Corpus, VocabularyConfig, preparation, prepare
from wordstill.corpus.preparation import STORE
from wordstill.distillation import DistillConfig, distill, distill_from_teacher
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.formats.artifact import write_artifacts
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

pytestmark = pytest.mark.usefixtures("models_read_once")

ALL = ("still", "ase:layer=0,2", "decontextual")
LABELS = ["still", "ase-layer-0", "ase-layer-2", "decontextual"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distillation")


@pytest.fixture(scope="module")
def store(folder: Path, short_text: Path) -> Path:
    prepare(short_text, folder / "store", workers=1)
    return folder / "store"


@pytest.fixture(scope="module")
def config(saved_teacher: Path) -> DistillConfig:
    return DistillConfig(
        ALL,
        TeacherConfig(str(saved_teacher), device="cpu", dtype="float32"),
        VocabularyConfig(min_count=3, words=("never seen",)),
        budget=30,
        occurrences=OccurrenceConfig(4, min_count=5),
    )


@pytest.fixture(scope="module")
def undisturbed(folder: Path, short_text: Path, config: DistillConfig) -> dict[str, bytes]:
    distill(short_text, folder / "undisturbed", config=config)
    return contents(folder / "undisturbed")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts what the teacher reads: one entry for each batch."""
    calls: list[int] = []
    real = Teacher.encode

    def encode(self: Teacher, batch: Any, layers: tuple[int, ...]) -> Any:
        calls.append(len(layers))
        return real(self, batch, layers)

    monkeypatch.setattr(Teacher, "encode", encode)
    return calls


@pytest.fixture
def before_batch(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Does something when the teacher is given its n-th batch."""

    def arrange(number: int, act: Callable[[], object]) -> None:
        real, calls = Teacher.encode, []

        def encode(self: Teacher, batch: Any, layers: tuple[int, ...]) -> Any:
            calls.append(0)
            if len(calls) == number:
                act()
            return real(self, batch, layers)

        monkeypatch.setattr(Teacher, "encode", encode)

    return arrange


@pytest.fixture
def no_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cheap to find out must be found out before a teacher is loaded."""

    def load(*_: object) -> None:
        raise AssertionError("the teacher was loaded")

    monkeypatch.setattr(Teacher, "from_config", load)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def fail() -> None:
    raise RuntimeError("the GPU is gone")


def test_text_in_artifact_out(short_text, saved_teacher, tmp_path):
    tables = distill(short_text, tmp_path / "vectors", teacher=saved_teacher)
    assert list(tables) == ["still"]
    assert names(tmp_path) == ["vectors"]
    saved = WordVectors.load(tmp_path / "vectors")
    assert saved.words == tables["still"].words
    assert np.array_equal(saved.matrix, tables["still"].matrix)
    assert saved.provenance["method"]["name"] == "still.v5"


def test_a_store_gives_what_its_text_gives(store, config, undisturbed, tmp_path):
    before = contents(store)
    distill([str(store)], tmp_path / "vectors", config=config)
    assert contents(tmp_path / "vectors") == undisturbed
    assert contents(store) == before
    assert names(tmp_path) == ["vectors"]


def test_without_output_nothing_is_written(short_text, config, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(CheckpointFile, "save", lambda *_: pytest.fail("a checkpoint was written"))
    monkeypatch.chdir(tmp_path)
    tables = distill([short_text], config=config)
    assert list(tables) == LABELS
    assert not any(tmp_path.iterdir())
    with pytest.raises(UsageError, match="cannot be resumed"):
        distill([short_text], config=config, resume=True)


def test_one_method_may_be_given_as_it_is(store, saved_teacher):
    assert list(distill(store, methods="decontextual", teacher=saved_teacher)) == ["decontextual"]


def test_a_loaded_teacher_gives_what_its_name_gives(store, config, undisturbed, tmp_path):
    teacher, corpus = Teacher.from_config(config.teacher), Corpus.open(store)
    tables = distill_from_teacher(teacher, corpus, config=config)
    write_artifacts(tables, tmp_path / "out")
    assert contents(tmp_path / "out") == undisturbed
    assert list(distill_from_teacher(teacher, corpus, "ase")) == ["ase"]
    assert list(distill_from_teacher(teacher, corpus)) == ["still"]


@pytest.mark.usefixtures("no_teacher")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"methods": "still"}, "methods= cannot be combined with config="),
        ({"teacher": "bert"}, "teacher= cannot be combined with config="),
        ({"methods": ["ase"], "teacher": "bert"}, "methods= and teacher= cannot"),
    ],
)
def test_settings_that_are_given_twice_are_refused(short_text, config, given, message):
    with pytest.raises(UsageError, match=message):
        distill(short_text, config=config, **given)


def test_a_loaded_teacher_beside_the_name_of_another_is_refused(store, config):
    teacher, corpus = Teacher.from_config(config.teacher), Corpus.open(store)
    with pytest.raises(UsageError, match="methods= cannot be combined with config="):
        distill_from_teacher(teacher, corpus, "ase", config=config)
    with pytest.raises(UsageError, match=r"but config names .*another"):
        distill_from_teacher(teacher, corpus, config=DistillConfig(teacher=TeacherConfig("another")))


@pytest.mark.usefixtures("no_teacher")
@pytest.mark.parametrize("resume", [False, True])
def test_an_existing_output_is_refused_at_once(short_text, tmp_path, resume):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.json").touch()
    with pytest.raises(UsageError, match="exists already"):
        distill(short_text, tmp_path / "out", resume=resume)


def test_a_finished_run_is_accepted_only_from_the_same_text_and_settings(short_text, config, tmp_path, caplog):
    out, other = tmp_path / "out", tmp_path / "other.txt"
    other.write_text(f"{short_text.read_text()}One more line of text.\n")
    made = distill(short_text, out, config=config)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    with caplog.at_level("INFO", "wordstill"):
        again = distill(short_text, out, config=config, resume=True)
    assert "is complete already" in caplog.text
    assert list(again) == list(made)
    for label, table in made.items():
        assert np.array_equal(again[label].matrix, table.matrix)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    with pytest.raises(UsageError, match=r"exists already, and is not the result of .*seed was 0, now 1"):
        distill(short_text, out, config=replace(config, seed=1), resume=True)
    with pytest.raises(UsageError, match=r"corpus\.hash was"):
        distill(other, out, config=config, resume=True)
    assert names(tmp_path) == ["other.txt", "out"]


@pytest.mark.usefixtures("no_teacher")
def test_what_is_not_ours_is_never_overwritten(short_text, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"holds other files \(thesis.tex\)"):
        distill(short_text, tmp_path / "home", overwrite=True)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="is a file"):
        distill(short_text, tmp_path / "notes.txt", overwrite=True)
    monkeypatch.chdir(tmp_path / "home")
    with pytest.raises(UsageError, match="is not a new folder"):
        distill(short_text, ".", overwrite=True)
    assert names(tmp_path) == ["home", "notes.txt"]


def test_a_vocabulary_that_is_empty_leaves_nothing(short_text, config, tmp_path):
    rare = DistillConfig(teacher=config.teacher, vocabulary=VocabularyConfig(min_count=10_000))
    with pytest.raises(DataError, match=r"No word of .* occurs 10,000 times"):
        distill(short_text, tmp_path / "out", config=rare)
    assert names(tmp_path) == []


def test_overwriting(store, saved_teacher, tmp_path):
    out = tmp_path / "out"
    for methods in (["ase"], ["ase", "decontextual"], ["still"], ["decontextual"]):
        distill(store, out, methods=methods, teacher=saved_teacher, overwrite=True)
        assert "vectors.safetensors" in names(out) if len(methods) == 1 else names(out) == methods
        # Left by an evaluation, and out of date now.
        (out / "evaluation.json").touch()
    assert names(tmp_path) == ["out"]
    distill(store, out, methods=["ase"], teacher=saved_teacher, overwrite=True)
    assert "evaluation.json" not in names(out)


@pytest.mark.parametrize("name", ["vectors.v2", "vectors.txt", "vectors.bin"])
def test_an_output_is_a_folder_whatever_its_name(store, saved_teacher, tmp_path, name):
    distill(store, tmp_path / name, methods=["decontextual"], teacher=saved_teacher)
    assert (tmp_path / name / "config.json").is_file()


def test_labels_with_a_point_are_folders_too(store, saved_teacher, tmp_path):
    methods = ["still:window_weight=0.5", "ase"]
    distill(store, tmp_path / "out", methods=methods, teacher=saved_teacher)
    assert names(tmp_path / "out") == ["ase", "still-window_weight-0.5"]
    assert (tmp_path / "out" / "still-window_weight-0.5" / "config.json").is_file()


@pytest.mark.parametrize("batch", [1, 5, 15])
def test_a_stopped_run_goes_on_to_the_same_bytes(
    short_text, config, undisturbed, tmp_path, before_batch, monkeypatch, batch
):
    out = tmp_path / "out"
    before_batch(batch, interrupt)
    with pytest.raises(Interrupted):
        distill(short_text, out, config=config)
    assert names(tmp_path) == ["out.partial"]
    assert set(names(tmp_path / "out.partial")) >= {CHECKPOINT, STORE}
    monkeypatch.setattr(preparation, "prepare", lambda *_, **__: pytest.fail("the text was prepared again"))
    tables = distill(short_text, out, config=config)
    assert contents(out) == undisturbed
    assert list(tables) == LABELS
    assert names(tmp_path) == ["out"]


def test_a_stopped_run_can_be_thrown_away(short_text, config, undisturbed, tmp_path, before_batch, encoded):
    before_batch(12, interrupt)
    with pytest.raises(Interrupted):
        distill(short_text, tmp_path / "out", config=config)
    read = len(encoded)
    encoded.clear()
    distill(short_text, tmp_path / "out", config=config, overwrite=True)
    assert len(encoded) > read
    assert contents(tmp_path / "out") == undisturbed
    assert names(tmp_path) == ["out"]


@pytest.fixture
def stopped(short_text: Path, config: DistillConfig, tmp_path: Path, before_batch: Any) -> Path:
    before_batch(12, interrupt)
    with pytest.raises(Interrupted):
        distill(short_text, tmp_path / "out", config=config)
    return tmp_path / "out"


def test_a_resumed_run_keeps_the_precision_that_was_chosen_for_it(short_text, config, stopped, monkeypatch):
    recorded = []
    monkeypatch.setattr(
        Teacher, "from_config", lambda config, choice=None: recorded.append(choice) or pytest.fail("it was loaded")
    )
    with pytest.raises(pytest.fail.Exception):
        distill(short_text, stopped, config=config)
    assert recorded == ["float32"]


def test_other_settings_are_not_resumed(short_text, config, stopped):
    other = DistillConfig(("still",), config.teacher, config.vocabulary, budget=50, seed=3)
    with pytest.raises(
        DataError, match=r"batches\.budget was 30, now 50; methods\.ase-layer-0 is missing now.*seed was 0, now 3\."
    ):
        distill(short_text, stopped, config=other, resume=True)
    assert CHECKPOINT in names(stopped.with_name("out.partial"))


def test_a_damaged_checkpoint_is_told(short_text, config, stopped):
    path = stopped.with_name("out.partial") / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"checkpoint.*is damaged.*--overwrite"):
        distill(short_text, stopped, config=config, resume=True)
    assert not stopped.exists()


def test_resuming_what_was_never_started_starts_it(short_text, config, undisturbed, tmp_path):
    distill(short_text, tmp_path / "out", config=config, resume=True)
    assert contents(tmp_path / "out") == undisturbed


@pytest.mark.parametrize("saved", [False, True])
def test_an_error_in_the_middle(short_text, config, undisturbed, tmp_path, before_batch, encoded, saved):
    eager = replace(config, checkpoint_seconds=0.0 if saved else 3600.0)
    distill(short_text, config=config)
    batches = len(encoded)
    encoded.clear()
    before_batch(12, fail)
    with pytest.raises(RuntimeError, match="the GPU is gone"):
        distill(short_text, tmp_path / "out", config=eager)
    assert names(tmp_path) == (["out.partial"] if saved else [])
    assert len(encoded) == 11
    encoded.clear()
    distill(short_text, tmp_path / "out", config=config, resume=True)
    assert contents(tmp_path / "out") == undisturbed
    assert names(tmp_path) == ["out"]
    assert len(encoded) == (batches - 11 if saved else batches)


def test_a_disk_that_is_full_at_the_end_costs_no_second_reading(
    short_text, config, undisturbed, tmp_path, monkeypatch, encoded
):
    written = count(1)

    def full(path: Path, *_: object) -> None:
        path.write_bytes(b"half")
        if next(written) == 2:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("wordstill.formats.artifact.write_tensors", full)
        patch.setattr("wordstill.formats.artifact.sha256_of", lambda _: "")
        with pytest.raises(DataError, match="No space left on device"):
            distill(short_text, tmp_path / "out", config=config)
    assert names(tmp_path) == ["out.partial"]
    assert CHECKPOINT in names(tmp_path / "out.partial")
    encoded.clear()
    distill(short_text, tmp_path / "out", config=config, resume=True)
    assert encoded == []
    assert contents(tmp_path / "out") == undisturbed
    assert names(tmp_path) == ["out"]


def test_an_output_that_cannot_be_made(short_text, config, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"Cannot write .*out\.partial"):
        distill(short_text, tmp_path / "file" / "out", config=config)


def test_several_tables_are_written_all_or_none(tmp_path):
    good = WordVectors(["a"], np.ones((1, 2), dtype=np.float32))
    bad = WordVectors(["a"], np.ones((1, 2), dtype=np.float32), provenance={"x": object()})
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        write_artifacts({"good": good, "bad": bad}, tmp_path / "out")
    assert names(tmp_path) == []


def test_the_usual_settings_are_arguments(short_text, config):
    single = distill(
        short_text,
        methods="ase",
        teacher=config.teacher.name,
        dtype="float32",
        min_count=2,
        max_vocab=5,
        words=["new house"],
        key="none",
        segmenter="possessives",
        seed=3,
    )["ase"]
    assert len(single) == 6
    assert single.words[-1] == "new house"
    assert single.provenance["seed"] == 3
    assert single.provenance["vocabulary"]["key"] == "none"
    with pytest.raises(UsageError, match=r"min_count= and seed= cannot be combined with config="):
        distill(short_text, min_count=2, seed=1, config=config)


def test_several_seeds_from_one_pass(store, config):
    learner = "x2static:preset=paper,subsample=0"
    several = replace(config, methods=("ase", learner), seed=3, seeds=2)
    tables = distill(store, config=several)
    (label,) = distill(store, config=replace(several, methods=(learner,), seeds=1))
    assert list(tables) == ["ase", f"{label}-seed-3", f"{label}-seed-4"]
    alone = distill(store, config=replace(several, seeds=1))
    assert np.array_equal(tables[f"{label}-seed-3"].matrix, alone[label].matrix)
    assert not np.allclose(tables[f"{label}-seed-4"].matrix, alone[label].matrix)
    assert [tables[name].provenance["seed"] for name in tables] == [3, 3, 4]
    with pytest.raises(UsageError, match="ase is deterministic"):
        replace(config, methods=("ase",), seeds=2)


def test_the_target_of_sentence_may_be_the_models_own(store: Path, saved_teacher: Path, tmp_path: Path):
    shutil.copytree(saved_teacher, tmp_path / "model")
    (tmp_path / "model" / "1_Pooling").mkdir()
    (tmp_path / "model" / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    teacher = TeacherConfig(str(tmp_path / "model"), device="cpu", dtype="float32")
    methods = ("sentence:target=own", "sentence:target=first", "sentence")
    own, first, mean = distill(store, config=DistillConfig(methods, teacher, VocabularyConfig(3))).values()
    assert own.provenance["method"]["target"] == "first"
    np.testing.assert_array_equal(own.matrix, first.matrix)
    assert not np.allclose(own.matrix, mean.matrix)


def test_a_text_of_few_sentences_is_warned_of(saved_teacher: Path, tmp_path: Path):
    (tmp_path / "tiny.txt").write_text("The river runs. The still stands.")
    teacher = TeacherConfig(str(saved_teacher), device="cpu", dtype="float32")
    with pytest.warns(UserWarning, match="has 2 sentences, and the sentence regression of still needs 20"):
        distill(tmp_path / "tiny.txt", config=DistillConfig(("still", "ase"), teacher, VocabularyConfig(1)))
