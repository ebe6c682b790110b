"""Only one run at a time writes an output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wordstill.errors import UsageError

LOCK_FILE = "lock"


@contextmanager
def locked(folder: Path, out: Path) -> Iterator[None]:
    """Hold the folder in which ``out`` is made. The lock of a killed process goes with it, its file may stay.

    Raises:
        UsageError: Another process holds it.
    """
    with (folder / LOCK_FILE).open("a") as lock:
        if not _taken(lock):
            raise UsageError(f"Another run is writing {out}. Wait for it, or choose another output.")
        yield


def contents(folder: Path) -> list[Path]:
    """What is in a folder beside the file of its lock; nothing if there is no folder."""
    return [path for path in folder.iterdir() if path.name != LOCK_FILE] if folder.exists() else []


def _taken(lock: IO[str]) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        # Unlike flock, this lock is not inherited by worker processes, which can outlive a killed run.
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    # The run that held it may just have ended and removed the file.
    return os.fstat(lock.fileno()).st_nlink > 0
