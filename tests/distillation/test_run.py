"""A run: what it refuses before the first batch, its one pass, and numbers that run away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordstill.core.resume import CHECKPOINT
from wordstill.corpus import Corpus, VocabularyConfig, preparation, prepare
from wordstill.distillation import DistillConfig, distill, distill_from_teacher
from wordstill.distillation.engine import Progress
from wordstill.distillation.plan import make_plan
from wordstill.errors import DataError, TeacherError, TrainingError, UsageError
from wordstill.methods import METHODS, Ase
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

pytestmark = pytest.mark.usefixtures("models_read_once")

DECODERS = ("gpt2", "llama3")
EVERYTHING = [
    spec
    for name, method in METHODS.items()
    for spec in [f"{name}:preset={preset},subsample=0" for preset in method.presets] or [name]
]
RUNS_AWAY = "bert-skipgram:preset=paper,clip=none,rate=1,final_rate=1"
"""Gradients of a product grow with both of its factors, so without the paper's clipping it soon overflows."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, short_text: Path) -> Corpus:
    return prepare(short_text, tmp_path_factory.mktemp("run") / "store", workers=1)


@pytest.fixture(scope="module")
def config(saved_teacher: Path) -> DistillConfig:
    return DistillConfig(
        ("ase",),
        TeacherConfig(str(saved_teacher), device="cpu", dtype="float32"),
        VocabularyConfig(min_count=3, words=("never seen",)),
        budget=100,
    )


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def no_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cheap to find out must be found out before a teacher is loaded."""
    monkeypatch.setattr(Teacher, "from_config", lambda *_: pytest.fail("the teacher was loaded"))


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be known from teacher and settings must be known before the text is read."""
    monkeypatch.setattr(preparation, "prepare", lambda *_, **__: pytest.fail("the text was prepared"))
    monkeypatch.setattr(Corpus, "open", lambda *_, **__: pytest.fail("the text was read"))


@pytest.mark.usefixtures("no_teacher", "nothing_left")
class TestFoundOutAtOnce:
    """Before the teacher is loaded, and without leaving anything."""

    @pytest.mark.parametrize("method", ["stil", "ase:layers=1", "ase:subword=median", "still:dim=x", "ase:subword"])
    def test_methods(self, short_text, tmp_path, method):
        with pytest.raises(UsageError, match=r"stil|ase|dim"):
            distill(short_text, tmp_path / "out", methods=[method])

    def test_no_method(self, short_text, tmp_path):
        with pytest.raises(UsageError, match="No method was named"):
            distill(short_text, tmp_path / "out", methods=[])

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"budget": 0}, "budget must be 1 or more; got 0"),
            ({"budget": -5}, "budget must be 1 or more; got -5"),
            ({"epochs": 0}, "epochs must be 1 or more; got 0"),
            ({"seed": -1}, "seed must be from 0 to 4,294,967,295; got -1"),
            ({"seed": 2**32}, "seed must be from 0 to"),
            ({"read": "page"}, "Unknown value of read 'page'. Known: paragraph, sentence"),
        ],
    )
    def test_settings(self, settings, message):
        with pytest.raises(UsageError, match=message):
            DistillConfig(**settings)

    @pytest.mark.parametrize("inputs", ["missing.txt", "missing/*.txt", []])
    def test_missing_text(self, tmp_path, inputs):
        with pytest.raises(DataError, match=r"does not exist|No file matches|No input"):
            distill(inputs, tmp_path / "deep" / "out")


@pytest.mark.usefixtures("no_reading", "nothing_left")
class TestFoundOutBeforeReading:
    """With the teacher, but before the text is prepared, and without leaving anything."""

    def test_an_unknown_teacher(self, short_text, tmp_path):
        with pytest.raises(TeacherError, match="no-such-teacher"):
            distill(short_text, tmp_path / "deep" / "out", teacher=tmp_path / "no-such-teacher")

    @pytest.mark.parametrize(
        ("method", "message"),
        [
            ("ase:layer=9", "outside 0 to 3"),
            ("x2static:layer=-9", "outside 0 to 3"),
            ("context-to-vec:layer=0-4", "outside 0 to 3"),
            ("still:dim=321", "must be from 1 to 320"),
            ("still:dim=0", "must be from 1 to 320"),
            ("principal:rank=33", "must be from 1 to 32"),
        ],
    )
    def test_settings_that_do_not_suit_the_teacher(self, short_text, tmp_path, saved_teacher, method, message):
        with pytest.raises(UsageError, match=message):
            distill(short_text, tmp_path / "deep" / "out", methods=[method], teacher=saved_teacher)


@pytest.mark.parametrize("kind", DECODERS)
def test_no_method_needs_a_teacher_that_reads_both_ways(kind, corpus, tiny_teacher):
    config = DistillConfig(tuple(EVERYTHING), vocabulary=VocabularyConfig(min_count=3), budget=500)
    tables = distill_from_teacher(tiny_teacher(kind), corpus, config=config)
    assert len(tables) == len(EVERYTHING)
    for table in tables.values():
        assert len(table) > 10
        assert np.isfinite(table.matrix).all() and table.matrix.any()


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts what the teacher reads: one entry for each batch."""
    calls: list[int] = []
    real: Callable[..., Any] = Teacher.encode

    def encode(self: Teacher, batch: Any, layers: tuple[int, ...]) -> Any:
        calls.append(len(layers))
        return real(self, batch, layers)

    monkeypatch.setattr(Teacher, "encode", encode)
    return calls


def test_several_methods_share_one_pass(corpus, config, encoded):
    several = replace(config, methods=("still", "ase:layer=0,2", "decontextual", "x2static:subsample=0"))
    tables = distill(corpus.path, config=several)
    assert [*tables][:4] == ["still", "ase-layer-0", "ase-layer-2", "decontextual"]
    together = len(encoded)
    encoded.clear()
    distill(corpus.path, config=replace(config, methods=("still",)))
    assert len(encoded) == together > 5


def test_every_wanted_word_is_in_every_table(corpus, config):
    several = replace(config, methods=("still", "ase", "principal", "decontextual"))
    for table in distill(corpus.path, config=several).values():
        assert "never seen" in table


def test_a_table_without_words_is_an_error(corpus, config, monkeypatch):
    monkeypatch.setattr(Ase, "finish", lambda *_: WordVectors([], np.empty((0, 3), dtype=np.float32)))
    with pytest.raises(DataError, match=r"ase: none of the \d+ words .* got a vector; the tokenizer of"):
        distill(corpus.path, config=config)


def test_a_text_that_is_thinned_out_to_nothing_is_an_error(corpus, config):
    # By this seed none of the few words is drawn.
    thin = replace(config, methods=("bert-skipgram:subsample=1e-5,self_weight=0",), seed=1)
    with pytest.raises(DataError, match=r"subsample=1e-05 reduces the text to about \d+ words.*Raise it"):
        distill(corpus.path, config=thin)
    with pytest.raises(UsageError, match=r"subsample=1e-12 reduces the text to 0\.\d+ words"):
        distill(corpus.path, config=replace(config, methods=("x2static:subsample=1e-12",)))


def test_the_budget_follows_the_device(corpus, saved_teacher):
    (table,) = distill_from_teacher(Teacher.from_pretrained(saved_teacher, device="cpu"), corpus, "ase").values()
    assert table.provenance["batches"]["budget"] == 2048


def test_a_training_that_runs_away_keeps_the_last_good_state(corpus, config, tmp_path):
    eager = replace(config, methods=(RUNS_AWAY,), epochs=8, checkpoint_seconds=0.0)
    with pytest.raises(TrainingError, match=r"bert-skipgram.*diverged.* at step \d+.*rate=0\.1") as caught:
        distill(corpus.path, tmp_path / "out", config=eager)
    assert [path.name for path in tmp_path.iterdir()] == ["out.partial"]
    plan = make_plan(Teacher.from_config(config.teacher), corpus, eager, tmp_path / "out.partial")
    assert plan.engine.checkpoint is not None and plan.engine.checkpoint.path.name == CHECKPOINT
    saved = plan.engine.checkpoint.load(Progress.saved)
    assert saved is not None
    progress, states = saved
    assert progress.words > 0
    assert all(bool(np.isfinite(array).all()) for array in states.values())
    with pytest.raises(TrainingError) as again:
        distill(corpus.path, tmp_path / "out", config=eager, resume=True)
    assert str(again.value) == str(caught.value)


def test_the_rate_that_the_message_names_is_better(corpus, config):
    lower = replace(config, methods=(RUNS_AWAY.replace("rate=1,", "rate=0.1,"),))
    (table,) = distill(corpus.path, config=lower).values()
    assert np.isfinite(table.matrix).all()
