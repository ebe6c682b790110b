"""Saving a run in the middle and going on from there."""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from wordstill.core.files import atomic_file, atomic_path, disk_errors, remove
from wordstill.core.tensors import map_tensors, write_tensors
from wordstill.errors import DataError, Interrupted, UsageError

if TYPE_CHECKING:
    from torch import Tensor

CHECKPOINT = "checkpoint.safetensors"
ABSENT = "absent"


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    stage: int = 0
    """Number of the stage that is being read; the number of stages when all is read."""
    position: tuple[int, int] = (0, 0)
    words: int = 0
    """Words read in this stage."""
    cut: int = 0
    """Sentences that were longer than the teacher's limit, in all stages."""


class CheckpointFile:
    """One file with the state of every method; replaced as a whole, so that it is always a complete one.

    Args:
        path: Where it is.
        recipe: What determines the result, as JSON; a checkpoint of another recipe is refused.
    """

    def __init__(self, path: Path, recipe: str) -> None:
        self.path = path
        self.recipe = recipe

    def save(self, progress: Progress, tensors: Mapping[str, Tensor]) -> None:
        """Write the state, then take the place of the last one."""
        metadata = {"progress": json.dumps(asdict(progress)), "recipe": self.recipe}
        arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}
        with atomic_path(self.path) as temporary:
            write_tensors(temporary, arrays, metadata)

    def load(self) -> tuple[Progress, dict[str, Tensor]] | None:
        """The last state, or None where there is none.

        Raises:
            DataError: It is damaged, or belongs to a run with other settings.
        """
        if not self.path.exists():
            return None
        try:
            arrays, metadata = map_tensors(self.path)
            different = differences(json.loads(metadata["recipe"]), json.loads(self.recipe))
            progress = _progress(json.loads(metadata["progress"]))
        except (DataError, OSError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The checkpoint {self.path} is damaged ({error}). Start again with --overwrite."
            ) from error
        if different:
            raise DataError(
                f"The checkpoint {self.path} belongs to a run with other settings: {different}. "
                "Resume with the same settings, or start again with --overwrite."
            )
        import torch

        # The mapped arrays are read-only, which tensors cannot be.
        return progress, {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def refuse_change(record: Path, facts: Mapping[str, Any]) -> None:
    """Note facts in a file, or compare them with those that the run that is resumed has noted there.

    Raises:
        DataError: They are not the same, or the file is damaged.
    """
    if not record.exists():
        with atomic_file(record) as handle:
            handle.write(json.dumps(facts, ensure_ascii=False, indent=2).encode())
        return
    try:
        different = differences(json.loads(record.read_bytes()), facts)
    except (OSError, TypeError, ValueError) as error:
        raise DataError(f"{record} is damaged ({error}). Start again with --overwrite.") from error
    if different:
        raise DataError(
            f"The run in {record.parent} was started with another text: {different}. "
            "Resume with the same, or start again with --overwrite."
        )


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The fields of nested plain data that are not the same, with both values; empty if all are the same.

    >>> differences({"teacher": {"width": 8, "depth": 2}}, {"teacher": {"width": 9, "depth": 2}})
    'teacher.width was 8, now 9'
    """
    return "; ".join(_changes(before, now))


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key in {**before, **now}:
        old, new = before.get(key, ABSENT), now.get(key, ABSENT)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changes(old, new, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key} was {old!r}, now {new!r}"


def _progress(saved: dict[str, Any]) -> Progress:
    window, done = saved["position"]
    return Progress(**{**saved, "position": (window, done)})


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


@contextmanager
def working_folder(out: Path, *, resume: bool, overwrite: bool) -> Iterator[Path]:
    """The folder ``OUT.partial`` for the work of a run, which no other run can use meanwhile.

    It goes when the block succeeds. After an error it stays only if there is a checkpoint to go on from, or
    if it was there before; when the user stops the run it stays unless it is empty.

    Raises:
        UsageError: Another run is working in it, or an earlier run left it, and neither ``resume`` nor
            ``overwrite`` says what to do with it.
        DataError: It cannot be made.
    """
    folder = out.with_name(f"{out.name}.partial")
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, out):
        if not resume:
            _refuse_left(folder, overwrite=overwrite)
        resumed = bool(contents(folder))
        try:
            yield folder
        except BaseException as error:
            stopped = isinstance(error, Interrupted) or not isinstance(error, Exception)
            useful = stopped or resumed or (folder / CHECKPOINT).exists()
            if not useful or not contents(folder):
                _discard(folder, made)
            raise
        _discard(folder, made)


def _refuse_left(folder: Path, *, overwrite: bool) -> None:
    left = contents(folder)
    if left and not overwrite:
        raise UsageError(
            f"{folder} holds a run that was stopped. Go on with it by --resume (resume=True), or throw "
            "it away by --overwrite (overwrite=True)."
        )
    for path in left:
        remove(path)


def _discard(folder: Path, made: list[Path]) -> None:
    """Remove the folder, and those above it that were made for it unless something else is in them now."""
    remove(folder)
    with suppress(OSError):
        for parent in made[1:]:
            parent.rmdir()


SETTINGS_FILE = "settings.json"


@contextmanager
def settings_folder(out: Path, settings: dict[str, Any]) -> Iterator[Path]:
    """The folder ``OUT.partial``, with what an earlier run with the same settings left in it.

    It is deleted when the block succeeds, and kept when it fails. What a run with other settings left is
    thrown away with a warning.

    Raises:
        UsageError: Another run is working in it.
    """
    folder = out.with_name(out.name + ".partial")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, out):
        _forget_other_settings(folder, json.dumps(settings, sort_keys=True))
        yield folder
        shutil.rmtree(folder)


def _forget_other_settings(folder: Path, wanted: str) -> None:
    record = folder / SETTINGS_FILE
    others = contents(folder)
    if others and not (record.is_file() and record.read_text(encoding="utf-8") == wanted):
        warnings.warn(f"{folder} is from a run with other settings and is thrown away.", stacklevel=5)
        for path in others:
            remove(path)
    with atomic_file(record) as file:
        file.write(wanted.encode())
