from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wordstill.core import files
from wordstill.core.files import (
    atomic_file,
    atomic_folder,
    atomic_path,
    disk_errors,
    refuse_existing,
    refuse_foreign,
    remove,
    sha256_of,
)
from wordstill.errors import DataError, UsageError


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "new" / "file"
    with atomic_file(target) as handle:
        handle.write(b"whole")
        assert not target.exists()
    assert target.read_bytes() == b"whole"
    assert names(tmp_path / "new") == ["file"]


@pytest.mark.parametrize("maker", [atomic_file, atomic_path])
def test_a_failed_file_leaves_the_old_one(tmp_path, maker):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), maker(target) as made:
        if isinstance(made, Path):
            made.write_bytes(b"ne")
        else:
            made.write(b"ne")
        raise ZeroDivisionError
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_an_output_below_a_file_is_told_by_its_own_name(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(DataError, match=r"file/below\b"), atomic_path(tmp_path / "file" / "below"):
        pass


def test_a_folder_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "new" / "folder"
    with atomic_folder(target) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("x")
        assert not target.exists()
    assert (target / "inner" / "file").read_text() == "x"
    assert names(tmp_path / "new") == ["folder"]


def test_an_existing_folder_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(UsageError, match=r"exists already.*--overwrite"), atomic_folder(target):
        raise AssertionError
    with atomic_folder(target, overwrite=True) as folder:
        (folder / "new").write_text("new")
        assert names(target) == ["old"]
    assert names(target) == ["new"]
    assert names(tmp_path) == ["folder"]


def test_a_failed_folder_leaves_the_old_one(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(ZeroDivisionError), atomic_folder(target, overwrite=True) as folder:
        (folder / "new").write_text("new")
        raise ZeroDivisionError
    assert names(target) == []
    assert names(tmp_path) == ["folder"]


@pytest.fixture(params=[True, False], ids=["exchange", "two renames"])
def exchange(request, monkeypatch):
    """Both ways to replace a folder: in one step, and where the system cannot."""
    if not request.param:
        monkeypatch.setattr(files, "exchange_names", lambda *_: False)


def test_an_exchange_leaves_a_folder_at_every_moment(tmp_path, monkeypatch):
    """Renaming is not needed, so nobody can be killed between two renames (D16)."""
    target = tmp_path / "folder"
    target.mkdir()
    if not files.exchange_names(target, target):
        pytest.skip("this system cannot exchange two names")
    monkeypatch.setattr(Path, "rename", no_space)
    monkeypatch.setattr(Path, "replace", no_space)
    with atomic_folder(target, overwrite=True) as folder:
        (folder / "new").write_text("new")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["folder"]


@pytest.mark.usefixtures("exchange")
@pytest.mark.parametrize("kind", ["folder", "file", "link", "dangling link"])
def test_whatever_has_the_name_is_replaced_and_links_are_not_followed(tmp_path, kind):
    target, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    if kind == "folder":
        target.mkdir()
    elif kind == "file":
        target.touch()
    else:
        target.symlink_to(elsewhere if kind == "link" else tmp_path / "nowhere")
    with atomic_folder(target, overwrite=True) as folder:
        (folder / "new").write_text("new")
    assert names(target) == ["new"]
    assert names(elsewhere) == ["kept"]
    assert names(tmp_path) == ["elsewhere", "out"]


def test_the_names_of_a_folder_are_synced_after_each_replacement(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    with atomic_file(tmp_path / "file") as handle:
        handle.write(b"x")
    assert synced[-1] == tmp_path.stat().st_ino
    synced.clear()
    with atomic_folder(tmp_path / "folder"):
        pass
    assert synced[-1] == tmp_path.stat().st_ino


KILLED = """
import os, sys
from pathlib import Path
from wordstill.core import files
target = Path(sys.argv[1])
with files.atomic_file(target / "half") as handle:
    handle.write(b"half")
    with files.atomic_folder(target / "folder", overwrite=True) as folder:
        (folder / "new").write_text("new")
        if sys.argv[2] == "between":
            files.exchange_names = lambda *_: False
            Path.replace = lambda *_: os._exit(9)
        else:
            os._exit(9)
"""


@pytest.mark.parametrize("moment", ["writing", "between"])
def test_leftovers_of_a_killed_run_are_taken_up_by_the_next(tmp_path, moment):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("old")
    source = str(Path(files.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), moment], env={"PYTHONPATH": source}, check=False
    )
    assert done.returncode == 9
    assert len(names(tmp_path)) >= 3
    (tmp_path / ".mine.tmp-123").touch()
    with atomic_file(tmp_path / "next"):
        pass
    assert names(tmp_path) == [".mine.tmp-123", "folder", "next"]
    assert names(tmp_path / "folder") == ["old"]


def test_what_a_living_run_writes_is_not_a_leftover(tmp_path):
    another = "import sys; from pathlib import Path; from wordstill.core import files; "
    another += "files.write_file(Path(sys.argv[1]) / 'three', '3')"
    source = str(Path(files.__file__).parents[2])
    with atomic_file(tmp_path / "one") as one, atomic_folder(tmp_path / "two") as two:
        subprocess.run([sys.executable, "-c", another, str(tmp_path)], env={"PYTHONPATH": source}, check=True)
        one.write(b"1")
        (two / "x").touch()
    assert names(tmp_path) == ["one", "three", "two"]


def test_a_link_with_the_temporary_name_is_not_followed(tmp_path, monkeypatch):
    """D17: whoever foresees the name could have the victim's file overwritten."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "foreseen")
    with atomic_path(tmp_path / "out") as temporary:
        pass
    (tmp_path / "out").unlink(missing_ok=True)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    temporary.symlink_to(victim)
    with pytest.raises(DataError, match="File exists"), atomic_file(tmp_path / "out") as handle:
        handle.write(b"x")
    assert victim.read_text() == "precious"


def test_temporary_names_cannot_be_foretold(tmp_path):
    made = set()
    for _ in range(3):
        with atomic_path(tmp_path / "out") as temporary:
            made.add(temporary.name)
    assert len(made) == 3
    with atomic_path(tmp_path / ("long" * 60)) as temporary:
        assert len(temporary.name) < 256


def test_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    monkeypatch.setattr(files, "exchange_names", lambda *_: False)
    with pytest.raises(DataError, match="No space left"), atomic_folder(target, overwrite=True) as folder:
        (folder / "new").write_text("new")
        monkeypatch.setattr(Path, "replace", no_space)
    monkeypatch.undo()
    assert names(target) == ["old"]
    assert names(tmp_path) == ["folder"]


def test_what_another_run_wrote_meanwhile_is_not_replaced(tmp_path):
    target = tmp_path / "folder"
    with pytest.raises(UsageError, match="exists already"), atomic_folder(target):
        target.mkdir()
        (target / "theirs").write_text("x")
    assert names(target) == ["theirs"]


@pytest.mark.parametrize("step", ["fsync", "open"])
def test_a_full_disk_is_one_clear_error(tmp_path, monkeypatch, step):
    monkeypatch.setattr(os, step, no_space)
    message = r"Cannot write .*file: No space left on device. Nothing was left half-written"
    with pytest.raises(DataError, match=message), atomic_file(tmp_path / "file") as handle:
        handle.write(b"x")
    monkeypatch.undo()
    assert names(tmp_path) == []


def test_other_errors_pass_through():
    with pytest.raises(KeyError), disk_errors(Path("x")):
        raise KeyError


def test_refuse_existing(tmp_path):
    refuse_existing(tmp_path / "not there", overwrite=False)
    refuse_existing(tmp_path, overwrite=False)  # an empty folder is nothing to lose
    (tmp_path / "file").touch()
    refuse_existing(tmp_path, overwrite=True)
    with pytest.raises(UsageError, match="exists already"):
        refuse_existing(tmp_path, overwrite=False)


OURS = {"a.json", "b.bin"}


@pytest.mark.parametrize("paths", [[], ["a.json"], ["a.json", "b.bin"], ["one/a.json", "two/b.bin", "a.json"]], ids=str)
def test_our_own_results_may_be_replaced(tmp_path, paths):
    folder = tmp_path / "out"
    folder.mkdir()
    for path in paths:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).touch()
    refuse_foreign(folder, OURS)


@pytest.mark.parametrize("path", ["thesis.tex", "one/thesis.tex", "one/two/a.json", ".hidden"])
def test_folders_with_other_files_may_not(tmp_path, path):
    folder = tmp_path / "out"
    (folder / path).parent.mkdir(parents=True)
    (folder / path).touch()
    (folder / "a.json").touch()
    first = "one/two" if "two" in path else path
    with pytest.raises(UsageError, match=rf"out holds other files \({first}\) and is not overwritten"):
        refuse_foreign(folder, OURS)


def test_links_are_not_followed(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"\(link\)"):
        refuse_foreign(tmp_path / "out", OURS)


def test_files_and_nameless_folders_are_no_output(tmp_path):
    refuse_foreign(tmp_path / "new", OURS)
    (tmp_path / "file.txt").touch()
    with pytest.raises(UsageError, match=r"file.txt is a file and is not overwritten"):
        refuse_foreign(tmp_path / "file.txt", OURS)
    for name in (".", "..", "/"):
        with pytest.raises(UsageError, match="is not a new folder"):
            refuse_foreign(Path(name), OURS)


def test_remove(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "file").touch()
    for name in ("link", "folder", "not there", "file/not there", "file"):
        remove(tmp_path / name)
    assert names(tmp_path) == ["kept"]
    assert names(kept) == ["file"]


def test_hash_of_a_file_larger_than_a_block(tmp_path):
    content = bytes(range(256)) * 9000
    (tmp_path / "file").write_bytes(content)
    assert sha256_of(tmp_path / "file") == hashlib.sha256(content).hexdigest()
