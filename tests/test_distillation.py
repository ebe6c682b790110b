from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wordstill import input_text
from wordstill.checkpoint import CHECKPOINT, CheckpointFile
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig, prepare
from wordstill.distillation import distill, write_artefacts
from wordstill.errors import DataError, Interrupted, TeacherError, UsageError
from wordstill.input_text import STORE
from wordstill.methods import Ase
from wordstill.run import DistillConfig, Run
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

ALL = ("still", "ase:layer=0,2", "decontextual")
LABELS = ["still", "ase-layer-0", "ase-layer-2", "decontextual"]
WORDS = "the old still stands in a small house by river nobody moved it heat text cool vapour keep"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distillation")


@pytest.fixture(scope="module")
def teacher(folder: Path, tiny_model: Callable[[str], Any], tiny_tokenizer: Callable[[str], Any]) -> Path:
    tiny_model("bert-cased").save_pretrained(folder / "teacher")
    tiny_tokenizer("bert-cased").save_pretrained(folder / "teacher")
    return folder / "teacher"


@pytest.fixture(scope="module")
def text(folder: Path) -> Path:
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(WORDS.split(), 12)) + "." for _ in range(40)]
    path = folder / "text.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def store(folder: Path, text: Path) -> Path:
    prepare(text, folder / "store", workers=1)
    return folder / "store"


@pytest.fixture(scope="module")
def config(teacher: Path) -> DistillConfig:
    return DistillConfig(
        ALL,
        TeacherConfig(str(teacher), device="cpu", dtype="float32"),
        VocabularyConfig(min_count=3, words=("never seen",)),
        budget=30,
    )


@pytest.fixture(scope="module")
def undisturbed(folder: Path, text: Path, config: DistillConfig) -> dict[str, bytes]:
    distill(text, folder / "undisturbed", config=config)
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


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be known from teacher and settings must be known before the text is read."""

    def read(*_: object, **__: object) -> None:
        raise AssertionError("the text was read")

    monkeypatch.setattr(input_text, "prepare", read)
    monkeypatch.setattr(Corpus, "open", read)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def fail() -> None:
    raise RuntimeError("the GPU is gone")


def test_text_in_artefact_out(text, teacher, tmp_path):
    tables = distill(text, tmp_path / "vectors", teacher=teacher)
    assert list(tables) == ["still"]
    assert names(tmp_path) == ["vectors"]
    saved = WordVectors.load(tmp_path / "vectors")
    assert saved.words == tables["still"].words
    assert np.array_equal(saved.matrix, tables["still"].matrix)
    assert saved.provenance["method"]["name"] == "still.v1"


def test_a_store_gives_what_its_text_gives(store, config, undisturbed, tmp_path):
    before = contents(store)
    distill([str(store)], tmp_path / "vectors", config=config)
    assert contents(tmp_path / "vectors") == undisturbed
    assert contents(store) == before
    assert names(tmp_path) == ["vectors"]


def test_several_methods_share_one_pass(store, config, encoded, tmp_path):
    tables = distill(store, tmp_path / "vectors", config=config)
    assert list(tables) == LABELS
    assert names(tmp_path / "vectors") == sorted(LABELS)
    together = len(encoded)
    encoded.clear()
    single = DistillConfig(("still",), config.teacher, config.vocabulary, budget=config.budget)
    distill(store, config=single)
    assert len(encoded) == together > 10


def test_without_output_nothing_is_written(text, config, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(CheckpointFile, "save", lambda *_: pytest.fail("a checkpoint was written"))
    monkeypatch.chdir(tmp_path)
    tables = distill([text], config=config)
    assert list(tables) == LABELS
    assert not any(tmp_path.iterdir())
    with pytest.raises(UsageError, match="cannot be resumed"):
        distill([text], config=config, resume=True)


def test_one_method_may_be_given_as_it_is(store, teacher):
    assert list(distill(store, methods="decontextual", teacher=teacher)) == ["decontextual"]


def test_every_wanted_word_is_in_every_table(store, config):
    for table in distill(store, config=config).values():
        assert "never seen" in table


@pytest.mark.usefixtures("no_teacher")
class TestFoundOutAtOnce:
    """Before the teacher is loaded, and without leaving anything."""

    @pytest.fixture(autouse=True)
    def nothing_left(self, tmp_path: Path) -> Iterator[None]:
        yield
        assert names(tmp_path) == []

    @pytest.mark.parametrize(
        "method", ["stil", "ase:layers=1", "ase:subword=median", "still:dim=x", "ase:subword"]
    )
    def test_methods(self, text, tmp_path, method):
        with pytest.raises(UsageError, match=r"stil|ase|dim"):
            distill(text, tmp_path / "out", methods=[method])

    def test_no_method(self, text, tmp_path):
        with pytest.raises(UsageError, match="No method was named"):
            distill(text, tmp_path / "out", methods=[])

    @pytest.mark.parametrize("budget", [0, -5])
    def test_budgets(self, budget):
        with pytest.raises(UsageError, match=f"got a budget of {budget}"):
            DistillConfig(budget=budget)

    @pytest.mark.parametrize("inputs", ["missing.txt", "missing/*.txt", []])
    def test_missing_text(self, tmp_path, inputs):
        with pytest.raises(DataError, match=r"does not exist|No file matches|No input"):
            distill(inputs, tmp_path / "deep" / "out")


@pytest.mark.usefixtures("no_teacher")
@pytest.mark.parametrize("resume", [False, True])
def test_an_existing_output_is_refused_at_once(text, tmp_path, resume):
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        distill(text, tmp_path / "out", resume=resume)


@pytest.mark.usefixtures("no_teacher")
def test_what_is_not_ours_is_never_overwritten(text, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"holds other files \(thesis.tex\)"):
        distill(text, tmp_path / "home", overwrite=True)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="is a file"):
        distill(text, tmp_path / "notes.txt", overwrite=True)
    monkeypatch.chdir(tmp_path / "home")
    with pytest.raises(UsageError, match="names no new folder"):
        distill(text, ".", overwrite=True)
    assert names(tmp_path) == ["home", "notes.txt"]


@pytest.mark.usefixtures("no_reading")
class TestFoundOutBeforeReading:
    """With the teacher, but before the text is prepared, and without leaving anything."""

    @pytest.fixture(autouse=True)
    def nothing_left(self, tmp_path: Path) -> Iterator[None]:
        yield
        assert names(tmp_path) == []

    def test_an_unknown_teacher(self, text, tmp_path):
        with pytest.raises(TeacherError, match="no-such-teacher"):
            distill(text, tmp_path / "deep" / "out", teacher=tmp_path / "no-such-teacher")

    @pytest.mark.parametrize("method", ["ase:layer=9", "still:dim=65", "still:dim=0"])
    def test_settings_that_do_not_suit_the_teacher(self, text, tmp_path, teacher, method):
        with pytest.raises(UsageError, match=r"outside 0 to 3|must be from 1 to 64"):
            distill(text, tmp_path / "deep" / "out", methods=[method], teacher=teacher)


def test_a_vocabulary_that_is_empty_leaves_nothing(text, config, tmp_path):
    rare = DistillConfig(teacher=config.teacher, vocabulary=VocabularyConfig(min_count=10_000))
    with pytest.raises(DataError, match=r"No word of .* occurs 10000 times"):
        distill(text, tmp_path / "out", config=rare)
    assert names(tmp_path) == []


def test_overwriting(store, teacher, tmp_path):
    out = tmp_path / "out"
    for methods in (["ase"], ["ase", "decontextual"], ["still"], ["decontextual"]):
        distill(store, out, methods=methods, teacher=teacher, overwrite=True)
        assert "vectors.safetensors" in names(out) if len(methods) == 1 else names(out) == methods
        # Left by an evaluation, and out of date now.
        (out / "evaluation.json").touch()
    assert names(tmp_path) == ["out"]
    distill(store, out, methods=["ase"], teacher=teacher, overwrite=True)
    assert "evaluation.json" not in names(out)


@pytest.mark.parametrize("name", ["vectors.v2", "vectors.txt", "vectors.bin"])
def test_an_output_is_a_folder_whatever_its_name(store, teacher, tmp_path, name):
    distill(store, tmp_path / name, methods=["decontextual"], teacher=teacher)
    assert (tmp_path / name / "config.json").is_file()


def test_labels_with_a_point_are_folders_too(store, teacher, tmp_path):
    methods = ["still:context_weight=0.5", "ase"]
    distill(store, tmp_path / "out", methods=methods, teacher=teacher)
    assert names(tmp_path / "out") == ["ase", "still-context_weight-0.5"]
    assert (tmp_path / "out" / "still-context_weight-0.5" / "config.json").is_file()


@pytest.mark.parametrize("batch", [1, 5, 15])
def test_a_stopped_run_goes_on_to_the_same_bytes(
    text, config, undisturbed, tmp_path, before_batch, monkeypatch, batch
):
    out = tmp_path / "out"
    before_batch(batch, interrupt)
    with pytest.raises(Interrupted):
        distill(text, out, config=config)
    assert names(tmp_path) == ["out.partial"]
    assert set(names(tmp_path / "out.partial")) >= {CHECKPOINT, STORE}
    with pytest.raises(UsageError, match="holds a run that was stopped"):
        distill(text, out, config=config)
    monkeypatch.setattr(input_text, "prepare", lambda *_, **__: pytest.fail("the text was prepared again"))
    tables = distill(text, out, config=config, resume=True)
    assert contents(out) == undisturbed
    assert list(tables) == LABELS
    assert names(tmp_path) == ["out"]


def test_a_stopped_run_can_be_thrown_away(text, config, undisturbed, tmp_path, before_batch, encoded):
    before_batch(12, interrupt)
    with pytest.raises(Interrupted):
        distill(text, tmp_path / "out", config=config)
    read = len(encoded)
    encoded.clear()
    distill(text, tmp_path / "out", config=config, overwrite=True)
    assert len(encoded) > read
    assert contents(tmp_path / "out") == undisturbed
    assert names(tmp_path) == ["out"]


@pytest.fixture
def stopped(text: Path, config: DistillConfig, tmp_path: Path, before_batch: Any) -> Path:
    before_batch(12, interrupt)
    with pytest.raises(Interrupted):
        distill(text, tmp_path / "out", config=config)
    return tmp_path / "out"


def test_other_settings_are_not_resumed(text, config, stopped):
    other = DistillConfig(("still",), config.teacher, config.vocabulary, budget=50, seed=3)
    with pytest.raises(
        DataError,
        match=r"batches\.budget was 30, now 50; methods\.ase-layer-0 was .*absent.*seed was 0, now 3\.",
    ):
        distill(text, stopped, config=other, resume=True)
    assert CHECKPOINT in names(stopped.with_name("out.partial"))


def test_other_text_is_not_resumed(text, config, stopped, tmp_path):
    longer = tmp_path / "longer.txt"
    longer.write_text(text.read_text() + "\nMore.")
    with pytest.raises(
        DataError, match=r"was started with another text: .*text\.txt was \d+, now 'absent'.*longer"
    ):
        distill(longer, stopped, config=config, resume=True)
    other = DistillConfig(
        config.methods, config.teacher, config.vocabulary, PrepareConfig(filter="x2static"), budget=30
    )
    with pytest.raises(DataError, match=r"settings\.filter was 'none', now 'x2static'"):
        distill(text, stopped, config=other, resume=True)
    assert CHECKPOINT in names(stopped.with_name("out.partial"))


def test_a_damaged_checkpoint_is_told(text, config, stopped):
    path = stopped.with_name("out.partial") / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"checkpoint.*is damaged.*--overwrite"):
        distill(text, stopped, config=config, resume=True)
    assert not stopped.exists()


def test_a_damaged_store_is_told(text, config, stopped):
    (stopped.with_name("out.partial") / STORE / "tokens.npy").write_bytes(b"broken")
    with pytest.raises(DataError, match=r"store is damaged at .*tokens\.npy"):
        distill(text, stopped, config=config, resume=True)


def test_resuming_what_was_never_started_starts_it(text, config, undisturbed, tmp_path):
    distill(text, tmp_path / "out", config=config, resume=True)
    assert contents(tmp_path / "out") == undisturbed


@pytest.mark.parametrize("saved", [False, True])
def test_an_error_in_the_middle(text, config, undisturbed, tmp_path, before_batch, encoded, saved):
    eager = DistillConfig(
        config.methods,
        config.teacher,
        config.vocabulary,
        budget=30,
        checkpoint_seconds=0.0 if saved else 3600.0,
    )
    before_batch(12, fail)
    with pytest.raises(RuntimeError, match="the GPU is gone"):
        distill(text, tmp_path / "out", config=eager)
    assert names(tmp_path) == (["out.partial"] if saved else [])
    read = len(encoded)
    encoded.clear()
    distill(text, tmp_path / "out", config=config, resume=True)
    assert contents(tmp_path / "out") == undisturbed
    assert names(tmp_path) == ["out"]
    assert len(encoded) < read * 2 if saved else len(encoded) > read


def test_a_disk_that_is_full_at_the_end_costs_no_second_reading(
    text, config, undisturbed, tmp_path, monkeypatch, encoded
):
    written = []

    def full(path: Path, *_: object) -> None:
        written.append(path)
        path.write_bytes(b"half")
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("wordstill.formats.artefact.write_tensors", full)
        patch.setattr("wordstill.formats.artefact.sha256_of", lambda _: "")
        with pytest.raises(DataError, match="No space left on device"):
            distill(text, tmp_path / "out", config=config)
    assert len(written) == 2
    assert names(tmp_path) == ["out.partial"]
    assert CHECKPOINT in names(tmp_path / "out.partial")
    encoded.clear()
    distill(text, tmp_path / "out", config=config, resume=True)
    assert encoded == []
    assert contents(tmp_path / "out") == undisturbed
    assert names(tmp_path) == ["out"]


def test_ctrl_c_while_preparing_can_be_resumed(text, config, undisturbed, tmp_path, monkeypatch):
    def interrupted(_: object, out: Path, *__: object, **___: object) -> None:
        out.with_name("store.partial").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(input_text, "prepare", interrupted)
        with pytest.raises(KeyboardInterrupt):
            distill(text, tmp_path / "out", config=config)
    assert names(tmp_path) == ["out.partial"]
    distill(text, tmp_path / "out", config=config, resume=True)
    assert contents(tmp_path / "out") == undisturbed


def test_an_output_that_cannot_be_made(text, config, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"Cannot write .*out\.partial"):
        distill(text, tmp_path / "file" / "out", config=config)


def test_a_table_without_words_is_an_error(store, config, monkeypatch):
    nothing = WordVectors([], np.empty((0, 3), dtype=np.float32))
    monkeypatch.setattr(Ase, "finish", lambda _: nothing)
    with pytest.raises(DataError, match=r"ase-layer-0: none of the \d+ words of the vocabulary got a vector"):
        distill(store, config=config)


def test_several_tables_are_written_all_or_none(tmp_path):
    good = WordVectors(["a"], np.ones((1, 2), dtype=np.float32))
    bad = WordVectors(["a"], np.ones((1, 2), dtype=np.float32), provenance={"x": object()})
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        write_artefacts({"good": good, "bad": bad}, tmp_path / "out")
    assert names(tmp_path) == []


def test_the_budget_follows_the_device(store, teacher):
    run = Run(Teacher.from_pretrained(teacher, device="cpu"), Corpus.open(store), DistillConfig(("ase",)))
    assert run.batches.budget == 2048
    assert run.engine.checkpoint is None
