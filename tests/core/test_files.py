from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

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


def test_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
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
