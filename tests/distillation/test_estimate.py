from __future__ import annotations

import bz2
import gzip
import json
import resource
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from wordstill.core.resume import CHECKPOINT
from wordstill.corpus import PrepareConfig, Vocabulary, VocabularyConfig, prepare
from wordstill.distillation import DistillConfig, EarlyStopping, distill_from_teacher
from wordstill.distillation import estimate as room
from wordstill.distillation.estimate import Estimate, Step, dry_run, estimate
from wordstill.distillation.plan import Plan, make_plan
from wordstill.distillation.recipe import Recipe
from wordstill.errors import DataError
from wordstill.teacher import Teacher, TeacherConfig

pytestmark = pytest.mark.filterwarnings("ignore:The teacher .* does not know the language")

LETTERS = "abdefgklmnoprstu"


def spelt(number: int) -> str:
    """A word for each number."""
    return "".join(LETTERS[int(digit, 16)] for digit in f"{number:x}")


def make_lines(count: int) -> list[str]:
    """Text whose vocabulary goes on growing, as that of real text does."""
    numbers = np.random.default_rng(0).zipf(1.5, size=(count, 12)) % (1 << 30)
    return [" ".join(map(spelt, row)) + "." for row in numbers.tolist()]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(make_lines(400)))
    return prepare([path], tmp_path / "store", workers=1)


@pytest.fixture
def planned(tiny_teacher, corpus):
    def make(*methods: str, **settings: object) -> Plan:
        config = DistillConfig(methods=methods or ("ase",), **settings)
        return make_plan(tiny_teacher("bert-uncased"), corpus, config)

    return make


def size_of(folder) -> int:
    return sum((folder / name).stat().st_size for name in ("vectors.safetensors", "words.txt"))


@pytest.mark.parametrize("methods", [("ase",), ("still", "decontextual"), ("ase:layer=all",)])
def test_disk_is_that_of_the_real_run(tiny_teacher, corpus, tmp_path, methods):
    config = DistillConfig(methods=methods, checkpoint_seconds=0)
    expected = estimate(make_plan(tiny_teacher("bert-uncased"), corpus, config), limit=0.1)
    tables = distill_from_teacher(tiny_teacher("bert-uncased"), corpus, config=config, work=tmp_path)
    for label, table in tables.items():
        table.save(tmp_path / label)
    saved = sum(size_of(tmp_path / label) for label in tables)
    assert expected.artifact == pytest.approx(saved, rel=0.05)
    assert expected.checkpoint == pytest.approx((tmp_path / CHECKPOINT).stat().st_size, rel=0.2)
    assert expected.working == 2 * expected.checkpoint
    assert expected.rows == max(map(len, tables.values()))


def test_every_stage_has_its_words(planned, corpus):
    plan = planned("still", "decontextual")
    steps = estimate(plan, limit=0.1).steps
    assert [(step.title, step.words) for step in steps] == [
        ("isolated words", len(plan.vocabulary)),
        ("words in 'the meaning of {}'", len(plan.vocabulary)),
        ("text", corpus.n_words),
        ("finish", 0),
    ]
    assert all(step.seconds > 0 for step in steps)


def test_memory_holds_the_states_of_all_methods(planned):
    plan = planned("ase:layer=all")
    before = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert estimate(plan, limit=0.1).memory >= before + sum(method.memory() for method in plan.engine.methods.values())


def test_without_a_report_of_memory_all_else_is_there(planned, monkeypatch):
    """Windows has no module ``resource``."""
    monkeypatch.setitem(sys.modules, "resource", None)
    expected = estimate(planned("ase"), limit=0.1)
    assert expected.memory is None
    assert expected.artifact > 0 and expected.seconds > 0


class Clock:
    """A clock that only a teacher moves on, a millisecond for each word and a second to warm up."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.calls = 0.0, 0
        monkeypatch.setattr(room.time, "monotonic", lambda: self.now)

    def encode(self, batch, _layers):
        self.now += batch.n_words * 0.001 + (1.0 if self.calls == 0 else 0.0)
        self.calls += 1


class NoWords:
    """A vocabulary of nothing."""

    keys = ()

    def __len__(self) -> int:
        return 0


def probe(clock: Clock, sizes: list[int], limit: float) -> Step:
    batches = [SimpleNamespace(n_words=size) for size in sizes]
    positions = [(0, number + 1) for number in range(len(sizes) - 1)] + [(1, 0)]
    since = lambda _: zip(positions, batches)  # noqa: E731
    stage = SimpleNamespace(
        title="text",
        words=1000,
        layers=(1,),
        isolated=False,
        batches=SimpleNamespace(since=since),
        observe=lambda *_: None,
    )
    teacher = SimpleNamespace(encode=clock.encode, device=SimpleNamespace(type="cpu"))
    engine = SimpleNamespace(teacher=teacher, stages=[stage], methods={})
    plan = SimpleNamespace(engine=engine, vocabulary=NoWords(), corpus=SimpleNamespace(n_words=1000))
    return estimate(plan, 0.5, limit=limit).steps[0]


def test_the_first_batch_only_warms_up(monkeypatch):
    step = probe(Clock(monkeypatch), [50, 40, 30, 20, 10], limit=10)
    assert (step.words, step.seconds) == (2000, pytest.approx(2.0))
    assert step.measured < 0.15


def test_the_probe_ends_with_its_time(monkeypatch):
    clock = Clock(monkeypatch)
    probe(clock, [1000] * 50, limit=10)
    assert clock.calls == 12


def test_a_slow_teacher_gets_one_batch(monkeypatch):
    clock = Clock(monkeypatch)
    step = probe(clock, [500, 500, 500], limit=1)
    assert clock.calls == 1
    assert (step.seconds, step.measured) == (pytest.approx(2000 * 1.5 / 500), pytest.approx(1.5))


@pytest.fixture(scope="module")
def lines():
    return make_lines(20_000)


@pytest.fixture(scope="module")
def long_text(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("long") / "long.txt"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def long_corpus(long_text):
    return prepare([long_text], long_text.with_name("store"), workers=1)


@pytest.fixture
def probed(tmp_path, monkeypatch, tiny_teacher):
    """A dry run with a teacher that is at hand; nothing is left of its temporary files."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(Teacher, "from_config", lambda *_: tiny_teacher("bert-uncased"))

    def run(path, **vocabulary: object) -> tuple[Recipe, Estimate]:
        config = DistillConfig(
            methods=("ase",), teacher=TeacherConfig("tiny"), vocabulary=VocabularyConfig(**vocabulary)
        )
        return dry_run([path], config, probe_bytes=300_000, probe_seconds=0.1)

    yield run
    assert list(scratch.glob("wordstill-*")) == []


def titles(expected: Estimate) -> list[str]:
    return [step.title for step in expected.steps]


def step_of(expected: Estimate, title: str) -> Step:
    return next(step for step in expected.steps if step.title == title)


def test_a_store_is_exact(probed, long_corpus):
    corpus = long_corpus
    recipe, expected = probed(corpus.path)
    assert expected.rows == recipe.vocabulary["size"] == len(Vocabulary.build(corpus))
    assert recipe.corpus["hash"] == corpus.hash
    assert (expected.prefix, expected.store) == (None, 0)
    assert titles(expected) == ["check the prepared text", "load the teacher", "text", "finish"]
    assert step_of(expected, "text").words == corpus.n_words
    assert expected.seconds == sum(step.seconds for step in expected.steps)


@pytest.mark.parametrize("min_count", [1, 5, 40])
def test_of_long_text_the_vocabulary_is_a_lower_bound(probed, long_text, long_corpus, min_count):
    text, corpus = long_text, long_corpus
    recipe, expected = probed(text, min_count=min_count)
    rows = len(Vocabulary.build(corpus, VocabularyConfig(min_count=min_count)))
    assert rows / 10 < expected.rows < rows
    assert recipe.vocabulary["size"] == f"at least {expected.rows:,}"
    assert recipe.vocabulary["min_count"] == min_count
    assert expected.prefix.total == text.stat().st_size
    assert 300_000 <= expected.prefix.bytes < 400_000
    assert step_of(expected, "text").words == pytest.approx(corpus.n_words, rel=0.05)
    preparing = step_of(expected, "prepare the text")
    scale = expected.prefix.total / expected.prefix.bytes
    assert preparing.seconds == pytest.approx(preparing.measured * scale)
    stored = sum(path.stat().st_size for path in corpus.path.iterdir())
    assert expected.store == pytest.approx(stored, rel=0.3)


def test_the_limit_of_the_vocabulary_holds(probed, long_text):
    assert probed(long_text, max_size=100)[1].rows == 100


@pytest.mark.parametrize("kind", ["jsonl.gz", "txt.bz2", "parquet"])
def test_compressed_text_is_scaled_by_the_position_in_its_file(probed, tmp_path, lines, kind):
    path = tmp_path / f"long.{kind}"
    if kind == "jsonl.gz":
        path.write_bytes(gzip.compress("\n".join(json.dumps({"text": line}) for line in lines).encode()))
    elif kind == "txt.bz2":
        path.write_bytes(bz2.compress("\n".join(lines).encode(), compresslevel=1))
    else:
        parquet.write_table(pyarrow.table({"text": lines}), path)
    _, expected = probed(path)
    assert expected.prefix.bytes < expected.prefix.total == path.stat().st_size
    words = sum(len(line.split()) + 1 for line in lines)
    # A reader of compressed data is some kilobytes ahead of the text it gives.
    assert step_of(expected, "text").words == pytest.approx(words, rel=0.5)


def test_all_files_of_a_folder_count(probed, tmp_path, lines):
    folder = tmp_path / "several"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number:02}.txt").write_text("\n".join(lines[number::20]) + "\n")
    _, expected = probed(folder)
    assert expected.prefix.total == sum(path.stat().st_size for path in folder.iterdir())
    words = sum(len(line.split()) + 1 for line in lines)
    assert step_of(expected, "text").words == pytest.approx(words, rel=0.05)


def test_sentences_per_line_survive(tmp_path, monkeypatch, tiny_teacher, lines):
    groups = ["\n".join(lines[start : start + 4]) for start in range(0, len(lines), 4)]
    (tmp_path / "grouped.txt").write_text("\n\n".join(groups))
    monkeypatch.setattr(Teacher, "from_config", lambda *_: tiny_teacher("bert-uncased"))
    config = DistillConfig(
        methods=("ase",), teacher=TeacherConfig("tiny"), prepare=PrepareConfig(sentences_per_line=True)
    )
    recipe, expected = dry_run([tmp_path / "grouped.txt"], config, probe_bytes=100_000, probe_seconds=0.1)
    assert expected.prefix is not None
    assert recipe.corpus["settings"]["sentences_per_line"] is True
    assert step_of(expected, "text").words == pytest.approx(13 * len(lines), rel=0.05)


def test_short_text_is_exact(probed, tmp_path, lines):
    short = tmp_path / "short.txt.gz"
    short.write_bytes(gzip.compress("\n".join(lines[:200]).encode()))
    recipe, expected = probed(short)
    corpus = prepare([short], tmp_path / "store", workers=1)
    assert recipe.corpus["hash"] == corpus.hash
    assert recipe.vocabulary["size"] == expected.rows == len(Vocabulary.build(corpus))
    assert expected.prefix is None
    assert expected.store == sum(file["bytes"] for file in corpus.meta["files"].values())
    preparing = step_of(expected, "prepare the text")
    assert preparing.seconds == preparing.measured > 0
    assert step_of(expected, "text").words == corpus.n_words


def test_a_development_set_is_not_judged_by_the_beginning(long_text, monkeypatch, tiny_teacher):
    """Its rare words may come later; whole text is refused as the run refuses it."""

    def refuse(words):
        raise DataError(f"none of {len(words)} words")

    monkeypatch.setattr(Teacher, "from_config", lambda *_: tiny_teacher("bert-uncased"))
    config = DistillConfig(methods=("x2static",), teacher=TeacherConfig("tiny"), epochs=2)
    judge = EarlyStopping(lambda vectors: 0.0, check_words=refuse)
    inputs = [long_text]
    assert dry_run(inputs, config, judge, probe_bytes=10_000, probe_seconds=0.1)[1].rows > 0
    with pytest.raises(DataError, match="none of"):
        dry_run(inputs, config, judge, probe_bytes=10_000_000)
