"""Resuming: a stopped run continues where it was, unless its settings have changed.

A run works in the folder ``OUT.partial``, which is removed when the output is complete:

lock                     held while a run works there
settings.json            the command and its settings
checkpoint.safetensors   arrays, progress, and the recipe they belong to

Finished parts of the work are in the same folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeVar

from numpy.typing import NDArray

from wordstill.core.files import atomic_file, atomic_path, disk_errors, refuse_existing, remove, take_up_leftovers
from wordstill.core.guard import reading
from wordstill.core.tensors import read_checked, write_tensors
from wordstill.errors import DataError, Interrupted, UsageError

CHECKPOINT, SETTINGS, LOCK_FILE = "checkpoint.safetensors", "settings.json", "lock"
LOCK_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
CHECKSUM = "sha256"
OWN_CHECKSUM = "checksum"
"""Name of a record's checksum if ``sha256`` has those of other files."""
START_ANEW = "start again with --overwrite (overwrite=True)"

log = logging.getLogger("wordstill")
Progress = TypeVar("Progress")


@dataclass(frozen=True)
class WorkingFolder:
    """Where a run keeps its work until the output is complete."""

    path: Path
    overwrite: bool
    """Whether the output may be replaced: this run was asked to, or the one that it resumes."""


@contextmanager
def working_folder(
    out: Path,
    command: str,
    settings: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
    restart: bool | None = None,
    worth: str | None = None,
) -> Iterator[WorkingFolder]:
    """The folder ``OUT.partial``, with the work of a stopped run of the same command and settings.

    It is removed when the block succeeds, and kept when the user stops the run after some work was done. After an
    error, it is kept if it has work worth keeping, or if the run was resumed. If it is kept, the exception has its path
    as the attribute ``kept_in``.

    Args:
        out: The output.
        command: What makes it, such as ``meaning pairs``.
        settings: Settings that must be the same to resume; plain data.
        overwrite: Whether an existing output may be replaced.
        restart: Whether to discard the work of a stopped run; by default when overwriting.
        worth: Glob of files worth keeping after an error; None keeps any work.

    Raises:
        UsageError: The output exists, another run is working on it, or another version of wordstill left the folder.
        DataError: The folder cannot be made, or the stopped run had other settings.
    """
    take_up_leftovers(out.parent)
    folder, replace = _beside(out), refuse_output(out, overwrite=overwrite)
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, out):
        with disk_errors(folder):
            resumed = _take_over(folder, restart=overwrite if restart is None else restart)
        try:
            record = keep_record(folder / SETTINGS, {"command": command, **(settings or {})})
            if replace and not record.get("overwrite"):
                write_record(folder / SETTINGS, {**record, "overwrite": True})
            yield WorkingFolder(folder, replace)
        except BaseException as error:
            stopped = isinstance(error, Interrupted) or not isinstance(error, Exception)
            useful = stopped or resumed or worth is None or any(folder.glob(worth))
            kept = useful and any(path.is_file() for top in contents(folder) for path in (top, *top.rglob("*")))
            if not kept:
                _discard(folder, made)
            error.kept_in = folder if kept else None  # type: ignore[attr-defined]
            raise
        _discard(folder, made)


@contextmanager
def temporary_folder() -> Iterator[WorkingFolder]:
    """A temporary working folder for a run without an output, which cannot be resumed."""
    with TemporaryDirectory(prefix="wordstill-") as folder:
        yield WorkingFolder(Path(folder), overwrite=False)


def refuse_output(out: Path, *, overwrite: bool) -> bool:
    """Raise if ``out`` exists, unless it may be replaced; a resumed run keeps the permission of the stopped one.

    Returns:
        Whether it may be replaced.
    """
    replace = overwrite or bool(_noted(_beside(out)).get("overwrite"))
    refuse_existing(out, overwrite=replace)
    return replace


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def _take_over(folder: Path, *, restart: bool) -> bool:
    """Clear a folder unless a stopped run left work in it; returns whether one did."""
    for path in list(folder.rglob(".*.tmp-*")):
        # Unfinished files of a killed run.
        remove(path)
    left = contents(folder)
    if left and not restart:
        if "command" not in _noted(folder):
            raise UsageError(f"{folder} was left by another version of wordstill: {START_ANEW}.")
        names = [path.name for path in sorted(left)]
        rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
        log.info("Resuming the run in %s, which has %s%s.", folder, ", ".join(names[:3]), rest)
        return True
    for path in (*left, folder / SETTINGS):
        remove(path)
    return False


def _noted(folder: Path) -> dict[str, Any]:
    """The record of a working folder; empty if it cannot be read."""
    with suppress(DataError):
        return read_record(folder / SETTINGS)
    return {}


def _discard(folder: Path, made: list[Path]) -> None:
    """Remove the folder and those of its parents that were made for it, unless they have other files now."""
    try:
        remove(folder)
    except OSError as error:
        # Not an error: the output is complete, or the run reports its own error.
        log.warning("%s cannot be removed (%s). Delete it.", folder, error.strerror or error)
    with suppress(OSError):
        for parent in made[1:]:
            parent.rmdir()


def keep_record(path: Path, settings: Mapping[str, Any], remedy: str = START_ANEW) -> dict[str, Any]:
    """Record settings in a file; those that are recorded already must be the same.

    Returns:
        The whole record.

    Raises:
        DataError: A setting has changed, or the file is damaged.
    """
    now: dict[str, Any] = json.loads(json.dumps(settings))
    try:
        record = read_record(path) if path.exists() else {}
        before = {key: value for key, value in record.items() if key in now}
    except DataError as error:
        raise DataError(f"{path} is damaged ({error}): {remedy}.") from error
    if different := differences(before, {key: now[key] for key in before}):
        raise DataError(
            f"What is in {path.parent} was made with other settings: {different}. Use those again, or {remedy}."
        )
    return record if len(before) == len(now) else write_record(path, {**record, **now})


def write_record(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write a record with its checksum, atomically; returns it."""
    with atomic_file(path) as handle:
        # Names of files that are not UTF-8 have lone surrogates.
        handle.write(json.dumps(signed(record), ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass"))
    return record


def read_record(path: Path) -> dict[str, Any]:
    """Read a record, check its checksum and remove it."""
    with reading(path, remedy=f"{START_ANEW.capitalize()}."):
        return unsigned(json.loads(path.read_bytes()))


def signed(record: Mapping[str, Any], name: str = CHECKSUM) -> dict[str, Any]:
    """Plain data with the SHA-256 of its JSON."""
    return {**record, name: hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()}


def unsigned(record: Any, name: str = CHECKSUM) -> dict[str, Any]:
    """Plain data without the checksum that `signed` added.

    Raises:
        DataError: It is wrong or missing, or the data is not an object.
    """
    if not isinstance(record, dict):
        raise DataError(f"a JSON {type(record).__name__}, expected an object")
    if name not in record:
        raise DataError("it has no checksum; it is damaged, or of another version")
    expected = record.pop(name)
    if signed(record, name)[name] != expected:
        raise DataError("its SHA-256 is not the recorded one")
    return record


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The differing fields of nested plain data, with both values; empty if there are none.

    >>> differences({"teacher": {"width": 8, "depth": 2}}, {"teacher": {"width": 9, "depth": 2}})
    'teacher.width was 8, now 9'
    """
    return "; ".join(_changes(before, now))


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key in {**before, **now}:
        # A path needs no prefix.
        name = key if "/" in key else f"{prefix}{key}"
        if key not in now:
            yield f"{name} is missing now"
        elif key not in before:
            yield f"{name} is new"
        elif isinstance(old := before[key], Mapping) and isinstance(new := now[key], Mapping):
            yield from _changes(old, new, f"{name}.")
        elif old != now[key]:
            yield f"{name} was {old!r}, now {now[key]!r}"


@dataclass
class CheckpointFile:
    """A checkpoint: one file with arrays and the progress of a run, replaced atomically."""

    path: Path
    recipe: str
    """The recipe as JSON; a checkpoint with another recipe is refused."""

    def save(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the checkpoint."""
        metadata = {"progress": json.dumps(progress), "recipe": self.recipe}
        with atomic_path(self.path) as temporary:
            write_tensors(temporary, arrays, metadata, checksum=True)

    def load(self, progress: Callable[..., Progress]) -> tuple[Progress, dict[str, NDArray[Any]]] | None:
        """The last checkpoint, with read-only arrays; None if there is none.

        Args:
            progress: Makes the progress from the items given to `save`, as keyword arguments.

        Raises:
            DataError: It is damaged, or from a run with other settings.
        """
        if not self.path.exists():
            return None
        try:
            arrays, metadata = read_checked(self.path)
            different = differences(json.loads(metadata["recipe"]), json.loads(self.recipe))
            reached = progress(**json.loads(metadata["progress"]))
        except (DataError, OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise DataError(f"The checkpoint {self.path} is damaged ({error}): {START_ANEW}.") from error
        if different:
            raise DataError(
                f"The checkpoint {self.path} was made with other settings: {different}. "
                f"Use those again, or {START_ANEW}."
            )
        return reached, arrays


_held: set[str] = set()
"""Folders that this process has locked: the system's lock is per process, and closing any other handle of the same file
would release it."""
_guard = threading.Lock()
if hasattr(os, "register_at_fork"):
    # A child does not inherit its parent's locks.
    os.register_at_fork(after_in_child=_held.clear)


@contextmanager
def locked(folder: Path, out: Path) -> Iterator[None]:
    """Lock the folder in which ``out`` is made. A killed process releases its lock; the lock file may stay.

    Raises:
        UsageError: Another process, or another thread of this one, holds the lock.
    """
    name = os.path.realpath(folder)
    with _guard:
        free = name not in _held
        _held.add(name)
    if not free:
        raise _in_use(out)
    try:
        with disk_errors(folder / LOCK_FILE):
            descriptor = os.open(folder / LOCK_FILE, LOCK_FLAGS, 0o666)
        with os.fdopen(descriptor, "a") as lock:
            if not _taken(lock):
                raise _in_use(out)
            yield
    finally:
        with _guard:
            _held.discard(name)


def _in_use(out: Path) -> UsageError:
    return UsageError(f"Another run is writing {out}. Wait for it, or choose another output.")


def contents(folder: Path) -> list[Path]:
    """The files of a working folder, except its lock and settings."""
    own = (LOCK_FILE, SETTINGS)
    return [path for path in folder.iterdir() if path.name not in own] if folder.exists() else []


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


@contextmanager
def stop_requested() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that the current batch can be finished and saved."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can set handlers, and only it gets signals.
        yield stop
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stop.set()) for number in signals]
    try:
        yield stop
    finally:
        for number, handler in zip(signals, before):
            # A handler that was not set from Python is None here.
            signal.signal(number, handler or signal.SIG_DFL)
