"""Writing so that a killed run never leaves half a result: temporary name, sync, rename."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO

from wordstill.errors import DataError, UsageError

HASH_BLOCK = 1 << 20


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` for writing; it takes that name only if the block succeeds."""
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        yield handle


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a temporary name beside ``path``; the file written there takes its place if the block succeeds."""
    temporary = _beside(path, "tmp")
    try:
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            _sync(temporary)
            temporary.replace(path)
    finally:
        # A folder that could not be made has been told of already.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; it takes the name ``path`` only if the block succeeds."""
    refuse_existing(path, overwrite=overwrite)
    temporary = _beside(path, "tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with disk_errors(path):
            temporary.mkdir(parents=True)
            yield temporary
            sync_folder(temporary)
            refuse_existing(path, overwrite=overwrite)
            _replace_folder(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def user_cache(name: str) -> Path:
    """The folder of this user for what can be had again: ``data``, ``words``, ``tiles``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "wordstill" / name


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise if ``path`` exists and the user did not ask to replace it."""
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already. Choose another output, or add --overwrite (overwrite=True).")


def refuse_foreign(folder: Path, ours: Collection[str]) -> None:
    """Raise if overwriting ``folder`` would delete other files than these, in it or in its folders."""
    if folder.name in ("", ".."):
        raise UsageError(f"{folder} is not a new folder. Name the result, for example vectors.")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file and is not overwritten. Choose another output.")
    if others := [str(path.relative_to(folder)) for path in islice(_foreign(folder, ours, depth=1), 3)]:
        raise UsageError(
            f"{folder} holds other files ({', '.join(others)}) and is not overwritten. Choose another output."
        )


def remove(path: Path) -> None:
    """Delete a file, a link or a whole folder, if it is there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def sha256_of(path: Path) -> str:
    """The hexadecimal SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Force the files of a folder, and the folder itself, to the disk."""
    for path in [*folder.rglob("*"), folder]:
        _sync(path)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals while writing ``path`` into one clear error."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"Cannot write {path}: {error.strerror or error}. Nothing was left half-written; "
            "free some space or choose another output."
        ) from error


def _beside(path: Path, kind: str) -> Path:
    """A hidden name of this process in the same folder, and so on the same disk."""
    return path.with_name(f".{path.name}.{kind}-{os.getpid()}")


def _foreign(folder: Path, ours: Collection[str], depth: int) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink() and depth:
            yield from _foreign(path, ours, depth - 1)
        elif path.name not in ours:
            yield path


def _replace_folder(new: Path, path: Path) -> None:
    if not path.exists():
        new.replace(path)
        return
    # The old one is deleted last, which can take long: a run killed meanwhile must leave one of the two.
    old = path.rename(_beside(path, "old"))
    try:
        new.replace(path)
    except OSError:
        old.rename(path)
        raise
    remove(old)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
