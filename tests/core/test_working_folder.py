"""The folder of a run's work: what stays of it, and that nobody else works there."""

from __future__ import annotations

import pytest

from wordstill.core.resume import CHECKPOINT, LOCK_FILE, working_folder
from wordstill.errors import DataError, Interrupted, UsageError


def test_the_working_folder_goes_after_success(tmp_path):
    with working_folder(tmp_path / "out", resume=False, overwrite=False) as folder:
        assert folder == tmp_path / "out.partial"
        (folder / "something").touch()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "found", "kept"),
    [
        (DataError("x"), [], False),
        (DataError("x"), ["store"], False),
        (DataError("x"), [CHECKPOINT], True),
        (MemoryError(), [CHECKPOINT, "store"], True),
        (Interrupted("text", 1, 2), ["store"], True),
        (KeyboardInterrupt(), ["store.partial"], True),
        (KeyboardInterrupt(), [], False),
    ],
)
def test_the_working_folder_stays_if_it_is_of_use(tmp_path, error, found, kept):
    with (
        pytest.raises(type(error)),
        working_folder(tmp_path / "out", resume=False, overwrite=False) as folder,
    ):
        for name in found:
            (folder / name).touch()
        raise error
    assert (tmp_path / "out.partial").exists() == kept


def test_a_resumed_folder_stays_after_any_error(tmp_path):
    (tmp_path / "out.partial" / "store").mkdir(parents=True)
    with pytest.raises(DataError), working_folder(tmp_path / "out", resume=True, overwrite=False) as folder:
        raise DataError("x")
    assert (folder / "store").exists()


def test_a_stopped_run_is_not_thrown_away_unasked(tmp_path):
    left = tmp_path / "out.partial" / CHECKPOINT
    left.parent.mkdir()
    left.touch()
    message = r"out.partial holds a run that was stopped.*--resume.*--overwrite"
    with (
        pytest.raises(UsageError, match=message),
        working_folder(tmp_path / "out", resume=False, overwrite=False),
    ):
        raise AssertionError
    assert left.exists()
    with working_folder(tmp_path / "out", resume=True, overwrite=True):
        assert left.exists()
    left.parent.mkdir()
    left.touch()
    with working_folder(tmp_path / "out", resume=False, overwrite=True):
        assert not left.exists()


def test_what_a_killed_run_left_before_it_did_anything_is_nothing(tmp_path):
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / LOCK_FILE).touch()
    with working_folder(tmp_path / "out", resume=False, overwrite=False):
        pass
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("written", [False, True])
def test_folders_above_stay_only_for_a_result(tmp_path, written):
    out = tmp_path / "very" / "deep" / "out"
    if written:
        with working_folder(out, resume=False, overwrite=False):
            out.mkdir()
        assert [path.name for path in out.parent.iterdir()] == ["out"]
    else:
        with pytest.raises(DataError), working_folder(out, resume=False, overwrite=False):
            raise DataError("x")
        assert not any(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(DataError, match=r"Cannot write .*out\.partial: Not a directory"),
        working_folder(tmp_path / "file" / "out", resume=False, overwrite=False),
    ):
        raise AssertionError


@pytest.mark.parametrize(("resume", "overwrite"), [(False, False), (True, False), (False, True)])
def test_a_run_that_goes_on_is_left_alone(tmp_path, monkeypatch, resume, overwrite):
    left = tmp_path / "out.partial" / CHECKPOINT
    left.parent.mkdir()
    left.touch()
    monkeypatch.setattr("wordstill.core.resume._taken", lambda _: False)
    with (
        pytest.raises(UsageError, match="Another run is writing"),
        working_folder(tmp_path / "out", resume=resume, overwrite=overwrite),
    ):
        raise AssertionError
    assert left.exists()
