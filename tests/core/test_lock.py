"""Only one process at a time holds a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wordstill
from wordstill.core.resume import LOCK_FILE, contents, locked
from wordstill.errors import DataError, UsageError

HOLDER = """
import sys
from pathlib import Path
from wordstill.core.resume import locked
with locked(Path(sys.argv[1]), Path("out")):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder until its input ends."""
    source = str(Path(wordstill.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        env={"PYTHONPATH": source},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_what_another_process_holds_is_refused(holder, tmp_path):
    message = "Another run is writing vectors. Wait for it, or choose another output."
    with pytest.raises(UsageError, match=message), locked(tmp_path, Path("vectors")):
        raise AssertionError
    holder.communicate("")
    with locked(tmp_path, Path("vectors")):
        pass


def test_a_lock_holds_inside_one_process_too(tmp_path):
    """D12: the second one would get the lock, and letting go of it would give up the first."""
    with locked(tmp_path, Path("vectors")):
        for name in (tmp_path, tmp_path / ".." / tmp_path.name):
            with pytest.raises(UsageError, match="Another run is writing vectors"), locked(name, Path("vectors")):
                raise AssertionError
        tried = subprocess.run(
            [sys.executable, "-c", HOLDER, str(tmp_path)],
            env={"PYTHONPATH": str(Path(wordstill.__file__).parents[1])},
            input="",
            capture_output=True,
            text=True,
        )
        assert "Another run is writing out" in tried.stderr
    with locked(tmp_path, Path("vectors")):
        pass


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / LOCK_FILE).symlink_to(tmp_path / "victim")
    with pytest.raises(DataError, match="symbolic link"), locked(tmp_path, Path("vectors")):
        raise AssertionError
    assert not (tmp_path / "victim").exists()


def test_a_killed_process_holds_nothing(holder, tmp_path):
    holder.kill()
    holder.wait()
    assert (tmp_path / LOCK_FILE).exists()
    with locked(tmp_path, Path("vectors")):
        pass


def test_the_file_of_the_lock_is_no_content(tmp_path):
    assert contents(tmp_path / "nowhere") == []
    with locked(tmp_path, Path("vectors")):
        assert contents(tmp_path) == []
        (tmp_path / "store").mkdir()
        assert contents(tmp_path) == [tmp_path / "store"]


def test_a_folder_that_its_last_run_has_just_removed_is_refused(tmp_path, monkeypatch):
    """Opened before the other run ended, locked after it removed the file."""
    monkeypatch.setattr("fcntl.lockf", lambda *_: (tmp_path / LOCK_FILE).unlink())
    with pytest.raises(UsageError, match="Another run"), locked(tmp_path, Path("vectors")):
        raise AssertionError
