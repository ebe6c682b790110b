"""Writing so that a killed run never leaves half a result: temporary name, sync, rename."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wordstill.errors import DataError, UsageError

HASH_BLOCK = 1 << 20


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` for writing; it takes the name ``path`` only if the block succeeds."""
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, path)
    finally:
        if temporary.exists():
            temporary.unlink()


@contextmanager
def atomic_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; it takes the name ``path`` only if the block succeeds."""
    refuse_existing(path, overwrite=overwrite)
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with disk_errors(path):
            temporary.mkdir(parents=True)
            yield temporary
            sync_folder(temporary)
            if path.exists():
                remove(path)
            os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise if ``path`` exists and the user did not ask to replace it."""
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already. Choose another output, or add --overwrite (overwrite=True).")


def remove(path: Path) -> None:
    """Delete a file or a whole folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
