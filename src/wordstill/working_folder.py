"""Where a distillation works until its result is written, and what stays of it when it ends early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wordstill.checkpoint import CHECKPOINT
from wordstill.errors import Interrupted, UsageError
from wordstill.files import disk_errors, remove
from wordstill.lock import contents, locked


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
