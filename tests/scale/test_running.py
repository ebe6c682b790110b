"""Runs in shards: the same table as in one piece, whoever read what."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.corpus import Corpus
from wordstill.distillation import DistillConfig, distill
from wordstill.distillation.plan import make_plan
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.scale import ScaleConfig, distill_in_shards, running
from wordstill.scale.partition import Job, ShardReader, make_shards, refuse_other_recipe, with_shard_words
from wordstill.scale.pools import InlinePool
from wordstill.teacher import Teacher

pytestmark = pytest.mark.usefixtures("models_read_once")

SHARD = 60
COSINES = {"still-dim-16": 1e-6, "ase-layer-2": 1e-6, "principal": 5e-3}
"""How near cosines are to those of the plain run. `principal` merges sketches, which are no sums."""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def inline(folder: Path, store: Path, config: DistillConfig) -> Path:
    distill_in_shards(store, folder / "inline", config, ScaleConfig(keep_sums=True, shard_words=SHARD))
    return folder / "inline"


def test_shards_give_the_table_of_the_plain_run(folder, store, config, inline):
    plain = distill(store, config=replace(config, window=SHARD))
    for label, table in plain.items():
        ours = WordVectors.load(inline / label)
        assert ours.words == table.words
        assert ours.counts.tolist() == table.counts.tolist()
        np.testing.assert_allclose(ours.unit @ ours.unit.T, table.unit @ table.unit.T, atol=COSINES[label])


def test_a_finished_run_is_accepted_on_request(folder, store, config, monkeypatch):
    scale, out = ScaleConfig(shard_words=SHARD), folder / "finished"
    made = distill_in_shards(store, out, config, scale)
    monkeypatch.setattr(Teacher, "encode", lambda *_: pytest.fail("read again"))
    again = distill_in_shards(store, out, config, scale, resume=True)
    assert list(again) == list(made)
    with pytest.raises(UsageError, match="seed was 0, now 1"):
        distill_in_shards(store, out, replace(config, seed=1), scale, resume=True)


@pytest.mark.filterwarnings("ignore:The text was prepared without documents")
def test_folds_and_occurrences_are_those_of_the_plain_run(folder, store, config):
    kept = replace(config, methods=("still:dim=16",), folds=5, enough=3, occurrences=OccurrenceConfig(4, min_count=3))
    plain = distill(store, config=replace(kept, window=SHARD))["still-dim-16"]
    distill_in_shards(store, folder / "folds", kept, ScaleConfig(shard_words=SHARD))
    ours = WordVectors.load(folder / "folds")
    for name in ("words", "folds", "counts", "sizes"):
        np.testing.assert_array_equal(getattr(ours.folds, name), getattr(plain.folds, name))
    np.testing.assert_allclose(ours.folds.rows, plain.folds.rows, atol=1e-5 * np.abs(plain.folds.rows).max())
    np.testing.assert_array_equal(ours.occurrences.states, plain.occurrences.states)
    with pytest.raises(UsageError, match="Sums that are kept have no folds"):
        distill_in_shards(store, folder / "none", kept, ScaleConfig(keep_sums=True))


@pytest.fixture
def read(monkeypatch) -> list[int]:
    """The shards that are read in this process, in their order."""
    numbers: list[int] = []
    real = ShardReader.read

    def counted(self, shard, *rest):
        numbers.append(shard.number)
        return real(self, shard, *rest)

    monkeypatch.setattr(ShardReader, "read", counted)
    return numbers


def test_two_workers_of_which_one_is_killed_give_the_same_bytes(folder, store, config, inline):
    out = folder / "killed"
    held = out.with_name("killed.partial") / "shards" / "held"

    def kill() -> None:
        while not (held.exists() and any(held.iterdir())):
            time.sleep(0.01)
        multiprocessing.active_children()[0].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    distill_in_shards(store, out, config, ScaleConfig(workers=2, keep_sums=True, shard_words=SHARD))
    killer.join()
    assert contents(out) == contents(inline)


def test_a_stopped_run_goes_on_with_the_next_shard(folder, store, config, inline, read, monkeypatch):
    out, scale = folder / "stopped", ScaleConfig(keep_sums=True, shard_words=SHARD)
    real = InlinePool.poll

    def stopped(self, seconds):
        if len(read) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, seconds)

    monkeypatch.setattr(InlinePool, "poll", stopped)
    with pytest.raises(Interrupted, match=r"reading text in shards: .* done and saved"):
        distill_in_shards(store, out, config, scale)
    monkeypatch.setattr(InlinePool, "poll", real)
    parts = sorted((folder / "stopped.partial" / "shards" / "parts").iterdir())
    parts[1].write_bytes(parts[1].read_bytes()[:-9])
    before = len(read)
    distill_in_shards(store, out, config, scale)
    assert contents(out) == contents(inline)
    assert not out.with_name("stopped.partial").exists()
    again = read[before:]
    assert again.count(1) == 1
    assert 0 not in again


def test_a_shard_that_fails_three_times_is_named_and_left_out_only_on_request(folder, store, config, read, monkeypatch):
    out = folder / "bad"
    real = ShardReader.read

    def broken(self, shard, *rest):
        if shard.number == 2:
            raise ValueError("rotten")
        return real(self, shard, *rest)

    monkeypatch.setattr(ShardReader, "read", broken)
    with pytest.raises(DataError, match=r"Shard 2 \(paragraphs [\d,]+ to [\d,]+\) failed 3 times.*rotten.*--skip-bad"):
        distill_in_shards(store, out, config, ScaleConfig(shard_words=SHARD))
    with pytest.warns(UserWarning, match=r"Shard 2 \(paragraphs .*\) failed 3 times and is skipped: .*rotten"):
        tables = distill_in_shards(store, out, config, ScaleConfig(shard_words=SHARD, skip_bad=True))
    assert tables is not None
    assert {tuple(table.provenance["left_out_shards"]) for table in tables.values()} == {(2,)}


def test_one_that_joins_again_tries_a_failed_shard_again(folder, store, config, inline, monkeypatch):
    out, scale = folder / "mended", ScaleConfig(join=True, keep_sums=True, shard_words=SHARD)
    real = ShardReader.read

    def broken(self, shard, *rest):
        if shard.number == 2:
            raise ValueError("rotten")
        return real(self, shard, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(ShardReader, "read", broken)
        for _ in range(2):
            with pytest.raises(DataError, match=r"failed 3 times.*The same command tries again"):
                distill_in_shards(store, out, config, scale)
    distill_in_shards(store, out, config, scale)
    assert contents(out) == contents(inline)


def test_two_that_join_share_the_work(folder, store, config, inline, read):
    scale = ScaleConfig(join=True, keep_sums=True, shard_words=SHARD)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(distill_in_shards, store, folder / "joined", config, scale) for _ in range(2)]
    made = [run.result() for run in runs]
    assert sum(tables is not None for tables in made) == 1
    assert sorted(read) == list(range(len(read)))
    assert contents(folder / "joined") == contents(inline)
    assert not (folder / "joined.partial").exists()
    assert distill_in_shards(store, folder / "joined", config, scale) is None


@pytest.mark.parametrize("gone", [False, True])
def test_one_that_joins_when_others_have_just_finished_has_nothing_to_do(
    folder, store, config, inline, monkeypatch, gone
):
    out, real = folder / f"late {gone}", running.load

    def slow(*given, **more):
        loaded = real(*given, **more)
        if gone:
            shutil.rmtree(folder / f"{out.name}.partial")
        else:
            shutil.copytree(inline, out)
        return loaded

    def finished(*given, **more):
        shutil.copytree(inline, out)
        return real_plan(*given, **more)

    real_plan = running.make_plan
    monkeypatch.setattr(running, "load", slow)
    if gone:
        monkeypatch.setattr(running, "make_plan", finished)
    assert distill_in_shards(store, out, config, ScaleConfig(join=True, shard_words=SHARD)) is None
    assert contents(out) == contents(inline)
    assert not (folder / f"{out.name}.partial").exists()


def test_one_that_joins_with_another_setting_is_refused_by_its_name(folder, store, config, monkeypatch):
    scale = ScaleConfig(join=True, shard_words=SHARD)
    with monkeypatch.context() as patch:
        patch.setattr(InlinePool, "poll", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            distill_in_shards(store, folder / "others", config, scale)
    other = replace(config, vocabulary=replace(config.vocabulary, min_count=2))
    with pytest.raises(DataError, match=r"vocabulary\.min_count was 3, now 2.*or choose another --out") as refused:
        distill_in_shards(store, folder / "others", other, scale)
    assert "shards.1" not in str(refused.value)


def test_one_that_is_refused_leaves_the_run_as_it_was(folder, store, config, inline, monkeypatch):
    out, scale = folder / "unharmed", ScaleConfig(join=True, keep_sums=True, shard_words=SHARD)
    with monkeypatch.context() as patch:
        patch.setattr(InlinePool, "poll", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            distill_in_shards(store, out, config, scale)
    # Nobody waits for the shards of one that has ended.
    assert not list((folder / "unharmed.partial" / "shards" / "held").iterdir())
    settings = folder / "unharmed.partial" / "settings.json"
    before = settings.read_bytes()
    with pytest.raises(DataError, match=r"teacher\.dtype was 'float32', now 'bfloat16'"):
        distill_in_shards(store, out, replace(config, teacher=replace(config.teacher, dtype="bfloat16")), scale)
    assert settings.read_bytes() == before
    distill_in_shards(store, out, config, scale)
    assert contents(out) == contents(inline)


def test_words_of_all_shards_are_those_of_the_text(store, config):
    corpus = Corpus.open(store)
    plan = make_plan(Teacher.from_config(config.teacher), corpus, with_shard_words(config, SHARD))
    shards = make_shards(plan, SHARD, text_only=True)
    assert len(shards) > 3
    assert sum(shard.words for shard in shards) == corpus.n_words


def test_what_cannot_be_read_in_shards_is_refused(folder, store, config, short_text):
    learner = replace(config, methods=("x2static",))
    with pytest.raises(UsageError, match="x2static: a trained method needs all steps on a single device"):
        distill_in_shards(store, folder / "refused", learner, ScaleConfig(workers=1))
    with pytest.raises(UsageError, match="--join needs a prepared text"):
        distill_in_shards(short_text, folder / "refused", config, ScaleConfig(join=True))
    with pytest.raises(UsageError, match=r"more than this machine has cores"):
        distill_in_shards(store, folder / "refused", config, ScaleConfig(workers=10_000))


def test_workers_of_another_version_or_model_are_refused_by_name(store, config):
    job = Job(str(store), config, "float32", "{}", version="0.0")
    with pytest.raises(DataError, match=r"run was started with 0\.0"):
        ShardReader(job)
    teacher = Teacher.from_config(config.teacher)
    plan = make_plan(teacher, Corpus.open(store), config)
    other = json.loads(plan.recipe.to_json())
    other["teacher"]["fingerprint"] = other["corpus"]["hash"] = "another"
    other["vocabulary"]["wanted_words_sha256"] = "another"
    with pytest.raises(DataError) as refused:
        refuse_other_recipe(json.dumps(other), plan)
    for name in ("corpus.hash", "teacher.fingerprint", "vocabulary.wanted_words_sha256"):
        assert f"{name} was 'another'" in str(refused.value)
