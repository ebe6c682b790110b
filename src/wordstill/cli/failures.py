"""Error handling of the commands: a message on the standard error, an exit code, and how to resume."""

from __future__ import annotations

import gc
import logging
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from wordstill.cli.options import HelpfulGroup
from wordstill.core.guard import printable
from wordstill.core.progress import without_collections
from wordstill.errors import Interrupted, MissingExtra, WordstillError

INTERRUPTED = 130


class CarefulGroup(HelpfulGroup):
    """The group of all commands, which turns their errors into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _handled_errors(debug=ctx.params["debug"]), _plain_warnings(), _shown_log(), _term_like_interrupt():
            result = super().invoke(ctx)
            # A closed pipe must be noticed here: at the interpreter's end it cannot be silenced.
            sys.stdout.flush()
            return result


def warn(message: str) -> None:
    """Print a warning to the standard error."""
    typer.secho("warning: ", fg=typer.colors.YELLOW, nl=False, err=True)
    typer.echo(printable(message), err=True)


@contextmanager
def _handled_errors(*, debug: bool) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # The reader of our output, such as head, is gone: the rest is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (KeyboardInterrupt, Interrupted) as stop:
        typer.echo(str(stop) or "Stopped.", err=True)
        if kept := _kept_in(stop):
            typer.echo(f"Finished work is kept in {kept}. Resume with:\n  {_resume_command(kept)}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (WordstillError, OSError, MemoryError, RuntimeError) as error:
        if debug or not (isinstance(error, WordstillError | OSError) or _out_of_memory(error)):
            raise
        if (kept := _kept_in(error)) and "--overwrite" not in str(error):
            what = f"Finished work is kept in {kept}: the same command resumes, --overwrite starts again."
            typer.echo(what, err=True)
        typer.secho("error: ", fg=typer.colors.RED, bold=True, nl=False, err=True)
        typer.echo(printable(_message(error)), err=True)
        raise typer.Exit(error.exit_code if isinstance(error, WordstillError) else 1) from None


def _kept_in(error: BaseException) -> Path | None:
    """The working folder that a run left behind, if it left one."""
    return getattr(error, "kept_in", None)


def _resume_command(work: Path) -> str:
    """The command line that resumes: without --overwrite, and with the prepared text in place of a pipe."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--overwrite"]
    store = work / "store"
    if "-" in arguments and arguments[0] != "prepare" and store.exists():
        arguments[arguments.index("-")] = str(store)
    return shlex.join(["wordstill", *arguments])


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if _out_of_memory(error):
        return (
            "There is not enough memory. Fewer words (--max-vocab), smaller batches (--budget) or smaller "
            "settings of a method need less; distill --dry-run shows what a run needs."
        )
    return str(error)


def _out_of_memory(error: Exception) -> bool:
    """Whether memory ran out; torch has its own errors for this, which commands cannot import."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or any(words in str(error) for words in ("DefaultCPUAllocator", "can't start new thread"))
    )


@contextmanager
def _plain_warnings() -> Iterator[None]:
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if category is UserWarning:
            warn(str(message))
        else:
            usual(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


class _Shown(logging.Handler):
    """Prints the library's log to the standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(record.getMessage(), err=True)


@contextmanager
def _shown_log() -> Iterator[None]:
    log, handler = logging.getLogger("wordstill"), _Shown(logging.INFO)
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def _term_like_interrupt() -> Iterator[None]:
    """SIGTERM is treated like Ctrl-C, so that a command can say what it saved."""
    here = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() == here:
            raise KeyboardInterrupt
        # A worker process inherits this handler, but nothing there catches the interrupt.
        os._exit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:
        # Only the main thread can set handlers.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def needs_models(feature: str) -> Iterator[None]:
    """Name the missing extra where torch or transformers are not installed."""
    first = "torch" not in sys.modules
    try:
        with without_collections():
            yield
            if first:
                # What was imported stays, and need not be looked through later either.
                gc.freeze()
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "distill", feature) from error
