from __future__ import annotations

import gzip
import json
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

from wordstill import estimate as room
from wordstill import text_sample
from wordstill.checkpoint import CHECKPOINT
from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig, prepare
from wordstill.estimate import Estimate, Step, dry_run, estimate
from wordstill.run import DistillConfig, Run
from wordstill.teacher import Teacher, TeacherConfig

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
def make_run(tiny_teacher, corpus):
    def make(*methods: str, **settings: object) -> Run:
        config = DistillConfig(methods=methods or ("ase",), **settings)
        return Run(tiny_teacher("bert-uncased"), corpus, config)

    return make


def size_of(folder) -> int:
    return sum((folder / name).stat().st_size for name in ("vectors.safetensors", "words.txt"))


@pytest.mark.parametrize("methods", [("ase",), ("still", "decontextual"), ("ase:layer=all",)])
def test_disk_is_that_of_the_real_run(tiny_teacher, corpus, tmp_path, methods):
    config = DistillConfig(methods=methods, checkpoint_seconds=0)
    expected = estimate(Run(tiny_teacher("bert-uncased"), corpus, config), limit=0.1)
    tables = Run(tiny_teacher("bert-uncased"), corpus, config, tmp_path).tables()
    for label, table in tables.items():
        table.save(tmp_path / label)
    saved = sum(size_of(tmp_path / label) for label in tables)
    assert expected.artefact == pytest.approx(saved, rel=0.05)
    assert expected.checkpoint == pytest.approx((tmp_path / CHECKPOINT).stat().st_size, rel=0.2)
    assert expected.working == 2 * expected.checkpoint
    assert expected.rows == max(map(len, tables.values()))


def test_every_stage_has_its_words(make_run, corpus):
    run = make_run("still", "decontextual")
    steps = estimate(run, limit=0.1).steps
    assert [(step.title, step.words) for step in steps] == [
        ("words alone", len(run.vocabulary)),
        ("text", corpus.n_words),
        ("finish", 0),
    ]
    assert all(step.seconds > 0 for step in steps)


def test_memory_holds_the_states_of_all_methods(make_run):
    run = make_run("ase:layer=all")
    before = room._peak_memory()
    assert estimate(run, limit=0.1).memory >= before + sum(method.memory() for method in run.methods.values())


def test_where_the_system_tells_no_memory_all_else_is_told(make_run, monkeypatch):
    """Windows has no module ``resource``."""
    monkeypatch.setitem(sys.modules, "resource", None)
    expected = estimate(make_run("ase"), limit=0.1)
    assert expected.memory is None
    assert expected.artefact > 0 and expected.seconds > 0


class Clock:
    """A clock that only a teacher moves on, a millisecond for each word and a second to warm up."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.calls = 0.0, 0
        monkeypatch.setattr(room.time, "monotonic", lambda: self.now)

    def encode(self, batch, _layers):
        self.now += batch.running * 0.001 + (1.0 if self.calls == 0 else 0.0)
        self.calls += 1


def probe(clock: Clock, sizes: list[int], limit: float) -> Step:
    batches = [SimpleNamespace(running=size) for size in sizes]
    positions = [(0, number + 1) for number in range(len(sizes) - 1)] + [(1, 0)]
    since = lambda _: zip(positions, batches)  # noqa: E731
    stage = SimpleNamespace(
        title="text", words=1000, layers=(1,), batches=SimpleNamespace(since=since), observe=lambda *_: None
    )
    teacher = SimpleNamespace(encode=clock.encode, device=SimpleNamespace(type="cpu"))
    return room._Probe(SimpleNamespace(teacher=teacher), stage, limit).step(2.0)


def test_the_first_batch_only_warms_up(monkeypatch):
    step = probe(Clock(monkeypatch), [50, 40, 30, 20, 10], limit=10)
    assert (step.words, step.seconds) == (2000, pytest.approx(2.0))


def test_the_probe_ends_with_its_time(monkeypatch):
    clock = Clock(monkeypatch)
    probe(clock, [1000] * 50, limit=10)
    assert clock.calls == 12


def test_a_slow_teacher_is_given_one_batch(monkeypatch):
    clock = Clock(monkeypatch)
    step = probe(clock, [500, 500, 500], limit=1)
    assert clock.calls == 1
    assert step.seconds == pytest.approx(2000 * 1.5 / 500)


@pytest.fixture(scope="module")
def large_text(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.txt"
    path.write_text("\n".join(make_lines(40_000)) + "\n")
    return path


@pytest.fixture
def large(large_text, tmp_path, monkeypatch, tiny_teacher):
    """A text that counts as large, for a teacher that is at hand, with nothing left of temporary files."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(text_sample, "LARGE_BYTES", 100_000)
    monkeypatch.setattr(text_sample, "SAMPLE_BYTES", 300_000)
    monkeypatch.setattr(room, "PROBE_SECONDS", 0.1)
    monkeypatch.setattr(Teacher, "from_config", lambda _: tiny_teacher("bert-uncased"))
    yield large_text
    assert list(scratch.iterdir()) == []


def settings(**vocabulary: object) -> DistillConfig:
    return DistillConfig(
        methods=("ase",), teacher=TeacherConfig("tiny"), vocabulary=VocabularyConfig(**vocabulary)
    )


def words_to_read(expected: Estimate) -> int:
    return next(step.words for step in expected.steps if step.title == "text")


def test_a_sample_stands_for_the_whole(large, tmp_path):
    corpus = prepare([large], tmp_path / "store", workers=1)
    for min_count in (1, 5, 40):
        recipe, expected = dry_run([large], settings(min_count=min_count))
        rows = len(Vocabulary.build(corpus, VocabularyConfig(min_count=min_count)))
        assert 0.2 < expected.share < 0.4
        assert expected.rows == pytest.approx(rows, rel=0.2)
        assert words_to_read(expected) == pytest.approx(corpus.n_words, rel=0.05)
        stored = sum(path.stat().st_size for path in corpus.path.iterdir())
        assert expected.store == pytest.approx(stored, rel=0.3)
        assert recipe.vocabulary["min_count"] == min_count


def test_the_limit_of_the_vocabulary_holds(large):
    assert dry_run([large], settings(max_size=100))[1].rows == 100


def test_other_kinds_are_sampled_too(large, tmp_path):
    folder = tmp_path / "several"
    folder.mkdir()
    lines = large.read_text().splitlines()
    for number in range(5):
        part = "\n".join(json.dumps({"text": line}) for line in lines[number::5])
        (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress(part.encode()))
    _, expected = dry_run([folder], settings())
    assert 0.1 < expected.share < 0.5
    assert words_to_read(expected) == pytest.approx(sum(len(line.split()) + 1 for line in lines), rel=0.25)


def test_a_small_text_and_a_store_are_taken_whole(large, tmp_path):
    small = tmp_path / "small.txt"
    small.write_text("\n".join(make_lines(200)))
    recipe, expected = dry_run([small], settings())
    corpus = prepare([small], tmp_path / "store", workers=1)
    assert recipe.corpus["hash"] == Corpus.open(corpus.path).hash
    assert (expected.share, expected.store > 0) == (1.0, True)
    recipe, expected = dry_run([corpus.path], settings())
    assert recipe.corpus["hash"] == corpus.hash
    assert expected.store == 0
    assert expected.seconds == sum(step.seconds for step in expected.steps)
