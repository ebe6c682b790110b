"""What a run that ends early leaves behind, and how to go on with it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from wordstill.cli.failures import INTERRUPTED
from wordstill.core.resume import contents
from wordstill.errors import DataError, Interrupted, TrainingError, UsageError

STANDARD_INPUT = "-"


@contextmanager
def repeatable(out: Path) -> Iterator[None]:
    """Say that the preparation in this block goes on when it is started again, if it got anywhere."""
    from wordstill.core.files import remove

    work = _working_folder(out)
    own = not work.exists()
    try:
        yield
    except BaseException as error:
        finished = any(work.glob("shards/*.json"))
        if finished and not isinstance(error, UsageError):
            kept = f"What is prepared so far is kept in {work}; the same command goes on with it."
            typer.echo(kept, err=True)
        elif own and not finished:
            remove(work)
        raise


@contextmanager
def resumable(out: Path, inputs: Sequence[str], *, resume: bool) -> Iterator[None]:
    """Say how to go on with the distillation in this block when it ends early."""
    from wordstill.core.files import remove
    from wordstill.core.resume import CHECKPOINT

    work = _working_folder(out)
    try:
        yield
    except (Interrupted, KeyboardInterrupt) as stop:
        typer.echo(str(stop) or "Stopped.", err=True)
        command = _resume_command(inputs, work)
        if command is None:
            remove(work)
            typer.echo("There is nothing to go on with: start again.", err=True)
        else:
            typer.echo(f"The run is kept in {work}. Go on with it:\n  {command}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except DataError:
        if not resume and (work / CHECKPOINT).exists():
            typer.echo(f"What was read is kept in {work}; --resume goes on with it.", err=True)
        raise
    except TrainingError:
        if (work / CHECKPOINT).exists():
            kept = (
                f"The last good state is kept in {work}; to start again with other settings add --overwrite."
            )
            typer.echo(kept, err=True)
        raise


def refuse_unreadable_resume(inputs: Sequence[str], out: Path) -> None:
    """Refuse to resume from the standard input, which cannot be read again."""
    if STANDARD_INPUT not in inputs:
        return
    store = _finished_store(_working_folder(out))
    advice = (
        f"Its text is prepared already: give {store} instead of -."
        if store
        else "Save the text to a file, or prepare it first: wordstill prepare - --out store"
    )
    raise UsageError(f"The standard input cannot be read again, so a run on it cannot be resumed. {advice}")


def _working_folder(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def _finished_store(work: Path) -> Path | None:
    from wordstill.corpus import is_store
    from wordstill.corpus.input_text import STORE

    return work / STORE if is_store(work / STORE) else None


def _resume_command(inputs: Sequence[str], work: Path) -> str | None:
    """The command line that goes on with the run, or None if there is nothing to go on with."""
    if not contents(work):
        return None
    arguments = sys.argv[1:]
    if STANDARD_INPUT in inputs:
        store = _finished_store(work)
        if store is None:
            return None
        first = next(number for number, argument in enumerate(arguments) if argument in inputs)
        rest = [argument for argument in arguments[first + 1 :] if argument not in inputs]
        arguments = [*arguments[:first], str(store), *rest]
    if "--resume" not in arguments:
        arguments = [*arguments, "--resume"]
    return shlex.join(["wordstill", *arguments])
