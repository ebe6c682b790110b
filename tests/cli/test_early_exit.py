"""Stopped runs: what they say, what they leave, and that going on gives the very same result."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

from wordstill import WordVectors
from wordstill.core.resume import CheckpointFile
from wordstill.distillation.engine import Engine
from wordstill.errors import DataError, Interrupted
from wordstill.teacher import Teacher

PATIENCE = 60


def wait_for_checkpoints(process, path: Path, least: int) -> None:
    """Wait until the checkpoint was written some more times, with the run still going on."""
    seen = set()
    end = time.monotonic() + PATIENCE
    while len(seen) < least:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"no checkpoint at {path}"
        if path.exists():
            seen.add(path.stat().st_mtime_ns)
        time.sleep(0.005)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_killed_and_terminated_runs_end_in_the_same_bytes(start, cli, monkeypatch, more_text, teacher, tmp_path):
    """And no other run may write the same output meanwhile."""
    settings = ("distill", more_text, "--teacher", teacher, "--min-count", "1", "--budget", "128")
    arguments = (*settings, "--checkpoint-minutes", "0")
    out, checkpoint = tmp_path / "out", tmp_path / "out.partial" / "checkpoint.safetensors"

    killed = start(*arguments, "--out", out)
    wait_for_checkpoints(killed, checkpoint, 3)
    for more in ((), ("--resume",), ("--overwrite",)):
        second = cli(*arguments, "--out", out, *more)
        assert (second.code, second.out) == (2, "")
        assert second.err == f"error: Another run is writing {out}. Wait for it, or choose another output.\n"
    assert killed.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=PATIENCE)
    assert (checkpoint.parent / "lock").exists() and not out.exists()

    save, saved = CheckpointFile.save, []

    def save_and_be_terminated(file, progress, arrays):
        save(file, progress, arrays)
        saved.append(progress)
        if len(saved) == 3:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(CheckpointFile, "save", save_and_be_terminated)
    ended = cli(*arguments, "--out", out)
    monkeypatch.undo()
    assert ended.code == 130
    assert f"Resuming the run in {checkpoint.parent}, which has checkpoint.safetensors, store." in ended.err
    assert "done and saved." in ended.err
    hint = shlex.split(ended.err.splitlines()[-1])
    assert hint == ["wordstill", *map(str, arguments), "--out", str(out)]
    assert not out.exists()

    assert cli(*hint[1:], "--resume").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert cli(*settings, "--out", tmp_path / "undisturbed").code == 0
    assert files_of(out) == files_of(tmp_path / "undisturbed")


def test_a_training_that_runs_away_says_what_is_left(cli, store, teacher, tmp_path):
    method = "bert-skipgram:preset=paper,clip=none,rate=1,final_rate=1"
    arguments = ("distill", store, "--teacher", teacher, "--out", tmp_path / "out", "--budget", "500")
    ended = cli(*arguments, "-m", method, "--checkpoint-minutes", "0")
    assert (ended.code, ended.out) == (1, "")
    kept, told = ended.err.splitlines()
    assert kept == (
        f"Finished work is kept in {tmp_path / 'out.partial'}: the same command resumes, --overwrite starts again."
    )
    assert told.startswith("error: bert-skipgram") and "for example rate=0.1" in told
    lower = method.replace("rate=1,", "rate=0.001,")
    assert cli(*arguments, "-m", lower, "--overwrite").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.fixture
def stops(monkeypatch):
    """Makes a function raise what Ctrl-C raises there, until it is undone."""

    def stop(owner: object, name: str, error: BaseException) -> None:
        def interrupted(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(owner, name, interrupted)

    return stop


def test_other_settings_are_refused_with_what_differs(cli, monkeypatch, store, teacher, tmp_path):
    out = tmp_path / "out"
    arguments = ("distill", store, "--out", out, "--teacher", teacher, "-m", "ase", "--checkpoint-minutes", "0")
    original = CheckpointFile.save

    def save_and_stop(file, progress, arrays):
        original(file, progress, arrays)
        raise Interrupted("reading text", progress["words"], 1000, "words")

    monkeypatch.setattr(CheckpointFile, "save", save_and_stop)
    assert cli(*arguments).code == 130
    monkeypatch.undo()
    refused = cli(*arguments, "--seed", "5")
    assert refused.code == 1
    assert "seed was 0" in refused.err and "--overwrite" in refused.err
    assert (tmp_path / "out.partial" / "checkpoint.safetensors").exists()


def test_what_was_read_survives_a_full_disk(cli, stops, monkeypatch, store, teacher, tmp_path):
    arguments = ("distill", store, "--out", tmp_path / "out", "--teacher", teacher, "-m", "ase")
    stops(WordVectors, "save", DataError("Cannot write out: No space left on device."))
    ended = cli(*arguments)
    assert ended.code == 1
    assert "the same command resumes" in ended.err and "No space left" in ended.err
    monkeypatch.undo()
    assert cli(*arguments).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_stopped_before_anything_was_saved(cli, stops, store, teacher, tmp_path):
    stops(Teacher, "from_config", KeyboardInterrupt())
    ended = cli("distill", store, "--out", tmp_path / "out", "--teacher", teacher)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "Stopped.\n"
    assert list(tmp_path.iterdir()) == []


def test_stopped_while_replacing_a_result(cli, stops, monkeypatch, text, teacher, tmp_path):
    """The command that resumes must not start again, but may replace the result."""
    arguments = ("distill", text, "--out", tmp_path / "out", "--teacher", teacher, "-m", "ase")
    assert cli(*arguments).code == 0
    stops(Engine, "run", KeyboardInterrupt())
    ended = cli(*arguments, "--overwrite")
    assert ended.code == 130
    hint = shlex.split(ended.err.splitlines()[-1])
    assert hint == ["wordstill", *map(str, arguments)]
    monkeypatch.undo()
    assert (tmp_path / "out.partial" / "store").exists()
    resumed = cli(*hint[1:])
    assert resumed.code == 0 and "which has store" in resumed.err
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_run_on_the_standard_input_goes_on_from_its_store(cli, monkeypatch, stops, text, teacher, tmp_path):
    out = tmp_path / "out"
    stops(Engine, "run", Interrupted("reading text", 1, 2, "words"))
    with text.open() as handle:
        monkeypatch.setattr(sys, "stdin", handle)
        ended = cli("distill", "-", "--out", out, "--teacher", teacher, "-m", "ase")
    monkeypatch.undo()
    hint = shlex.split(ended.err.splitlines()[-1])
    assert hint[:3] == ["wordstill", "distill", f"{out}.partial/store"]
    again = cli("distill", "-", "--out", out, "--teacher", teacher, "-m", "ase")
    assert again.code == 2 and f"use {out}.partial/store instead of -" in again.err
    assert cli(*hint[1:]).code == 0
    assert len(WordVectors.load(out))


def test_a_stopped_preparation_goes_on(cli, stops, monkeypatch, text, tmp_path):
    stops(sys.modules["wordstill.corpus.preparation"], "merge_shards", KeyboardInterrupt())
    ended = cli("prepare", text, "--out", tmp_path / "store")
    assert (ended.code, ended.out) == (130, "")
    command = shlex.split(ended.err.splitlines()[-1])
    assert command == ["wordstill", "prepare", str(text), "--out", str(tmp_path / "store")]
    monkeypatch.undo()
    assert "which has shards" in cli(*command[1:]).err
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_preparation_in_several_processes_stops_at_once(start, tmp_path):
    text = tmp_path / "large.txt"
    text.write_text("Some words that take a while to read. And more of them.\n" * 900_000)
    process = start("prepare", text, "--out", tmp_path / "store", "--workers", "2")
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "store.partial" / "settings.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    # Its blocks of 16 MB take many seconds each.
    assert time.monotonic() - asked < 4
    assert process.returncode == 130 and "Stopped." in err
    assert not (tmp_path / "store").exists()
    kept = list((tmp_path / "store.partial").glob("shards/*.json"))
    assert bool(kept) == ("Resume with" in err) == (tmp_path / "store.partial").exists()
