"""The folder of a run's work: what stays of it, who may continue it, and that nobody else works there."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from wordstill.core.resume import CHECKPOINT, LOCK_FILE, SETTINGS, keep_record, locked, read_record, working_folder
from wordstill.errors import DataError, Interrupted, UsageError


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def stopped(out: Path, name: str = CHECKPOINT, **options: object) -> Path:
    """What a run leaves that was stopped after something was done."""
    with pytest.raises(KeyboardInterrupt), working_folder(out, "work", {"seed": 0}, **options) as work:
        (work.path / name).touch()
        raise KeyboardInterrupt
    return work.path / name


def test_the_working_folder_goes_after_success(out):
    with working_folder(out, "work") as work:
        assert work.path == out.with_name("out.partial")
        (work.path / "something").touch()
    assert not any(out.parent.iterdir())


@pytest.mark.parametrize(
    ("error", "found", "kept"),
    [
        (DataError("x"), [], False),
        (DataError("x"), ["store"], False),
        (DataError("x"), [CHECKPOINT], True),
        (MemoryError(), [CHECKPOINT, "store"], True),
        (Interrupted("reading text", 1, 2, "words"), ["store"], True),
        (KeyboardInterrupt(), ["store.partial"], True),
        (KeyboardInterrupt(), [], False),
    ],
)
def test_the_working_folder_stays_if_it_is_of_use(out, error, found, kept):
    with pytest.raises(type(error)) as caught, working_folder(out, "work", worth=CHECKPOINT) as work:
        for name in found:
            (work.path / name).touch()
        raise error
    assert work.path.exists() == kept
    assert caught.value.kept_in == (work.path if kept else None)


def test_one_flipped_bit_of_the_settings_is_told(out):
    record = stopped(out).with_name(SETTINGS)
    whole = record.read_bytes()
    refused = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        record.write_bytes(damaged)
        try:
            keep_record(record, {"command": "work", "seed": 0})
        except DataError:
            refused += 1
        # Without the name of the checksum, which is six of these bytes, the rest is as it was.
    assert refused >= len(whole) - len("sha256")


@pytest.mark.parametrize(("made", "kept"), [("shards", False), ("shards/1.json", True)])
def test_empty_folders_are_no_work(out, made, kept):
    with pytest.raises(DataError), working_folder(out, "work") as work:
        path = work.path / made
        path.parent.mkdir(exist_ok=True)
        path.touch() if path.suffix else path.mkdir()
        raise DataError("x")
    assert work.path.exists() == kept


def test_a_stopped_run_is_resumed_and_says_so(out, caplog):
    left = stopped(out, "store")
    (left.parent / ".half.tmp-17").touch()
    caplog.set_level(logging.INFO)
    with pytest.raises(DataError), working_folder(out, "work", {"seed": 0}, worth=CHECKPOINT):
        assert left.exists()
        raise DataError("x")
    assert caplog.messages == [f"Resuming the run in {left.parent}, which has store."]
    # A resumed folder stays after any error.
    assert left.exists()


@pytest.mark.parametrize(
    ("command", "settings", "message"),
    [
        ("work", {"seed": 1}, r"was made with other settings: seed was 0, now 1\. .*--overwrite"),
        ("other", {"seed": 0}, "command was 'work', now 'other'"),
    ],
)
def test_other_settings_are_refused_and_nothing_is_lost(out, command, settings, message):
    left = stopped(out)
    with pytest.raises(DataError, match=message), working_folder(out, command, settings):
        raise AssertionError
    assert left.exists()
    with working_folder(out, command, settings, overwrite=True):
        assert not left.exists()


def test_settings_are_compared_as_they_are_written(out):
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), working_folder(out, "work", {"sizes": (1, 2)}) as work:
            (work.path / "something").touch()
            raise KeyboardInterrupt


def test_an_output_that_exists_is_refused_before_anything_else(out):
    out.touch()
    with pytest.raises(UsageError, match="exists already"), working_folder(out, "work"):
        raise AssertionError
    assert list(out.parent.iterdir()) == [out]


def test_what_may_be_replaced_is_remembered(out):
    """The command that resumes has no --overwrite, which would start again."""
    out.touch()
    left = stopped(out, overwrite=True)
    with working_folder(out, "work", {"seed": 0}) as work:
        assert left.exists() and work.overwrite


def test_a_stopped_run_may_be_kept_although_the_output_is_replaced(out):
    left = stopped(out)
    with working_folder(out, "work", {"seed": 0}, overwrite=True, restart=False) as work:
        assert left.exists() and work.overwrite


@pytest.mark.parametrize("record", [None, b'{"schema": 1}', b"{"])
def test_what_another_version_left_is_refused(out, record):
    left = out.with_name("out.partial") / "text.json"
    left.parent.mkdir()
    left.touch()
    if record is not None:
        (left.parent / SETTINGS).write_bytes(record)
    with pytest.raises(UsageError, match=r"left by another version.*--overwrite"), working_folder(out, "work"):
        raise AssertionError
    assert left.exists()
    with working_folder(out, "work", overwrite=True):
        assert not left.exists()


def test_what_a_killed_run_left_before_it_did_anything_is_nothing(out):
    folder = out.with_name("out.partial")
    folder.mkdir()
    (folder / LOCK_FILE).touch()
    (folder / SETTINGS).write_text(json.dumps({"command": "work", "seed": 1}))
    with working_folder(out, "work", {"seed": 0}):
        pass
    assert not folder.exists()


@pytest.mark.parametrize("written", [False, True])
def test_folders_above_stay_only_for_a_result(tmp_path, written):
    out = tmp_path / "very" / "deep" / "out"
    if written:
        with working_folder(out, "work"):
            out.mkdir()
        assert [path.name for path in out.parent.iterdir()] == ["out"]
    else:
        with pytest.raises(DataError), working_folder(out, "work"):
            raise DataError("x")
        assert not any(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    message = r"Cannot write .*out\.partial: Not a directory"
    with pytest.raises(DataError, match=message), working_folder(tmp_path / "file" / "out", "work"):
        raise AssertionError


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_under_way_is_left_alone(out, overwrite):
    left = stopped(out)
    with (
        locked(left.parent, out),
        pytest.raises(UsageError, match="Another run is writing"),
        working_folder(out, "work", {"seed": 0}, overwrite=overwrite),
    ):
        raise AssertionError
    assert left.exists()


def test_settings_are_noted_and_compared(tmp_path):
    record = tmp_path / "work" / "record.json"
    assert keep_record(record, {"text": {"a.txt": 5}}) == {"text": {"a.txt": 5}}
    both = {"text": {"a.txt": 5}, "rows": [1]}
    assert keep_record(record, {"rows": (1,)}) == keep_record(record, {"text": {"a.txt": 5}}) == both
    with pytest.raises(DataError, match=r"other settings: text\.a\.txt was 5, now 6\. Use those again, or"):
        keep_record(record, {"text": {"a.txt": 6}})
    for damage in (b"{", b"[1]"):
        record.write_bytes(damage)
        with pytest.raises(DataError, match=r"record\.json is damaged .*: delete it"):
            keep_record(record, {}, "delete it")


def test_names_that_are_not_utf8_are_noted(tmp_path):
    settings = {"text": {"caf\udce9.txt": 5}}
    assert keep_record(tmp_path / "record.json", settings) == settings
    assert read_record(tmp_path / "record.json") == settings
