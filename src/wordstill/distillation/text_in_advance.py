"""Preparing the text of a run in another process while the teacher is loaded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from wordstill.core.processes import end_with
from wordstill.corpus import Corpus
from wordstill.corpus.config import PrepareConfig
from wordstill.corpus.preparation import STORE, Inputs, as_list, is_one_store, note_text, open_or_prepare, prepare
from wordstill.corpus.sources import STANDARD_INPUT
from wordstill.errors import WordstillError

LESS_URGENT = 10


class Preparation:
    """The text of a run, which is opened or prepared when it is needed.

    Attributes:
        seconds: How long another process took to prepare it; None if there was none.
    """

    seconds: float | None = None

    def __init__(self, inputs: Inputs, config: PrepareConfig, work: Path, *, progress: bool) -> None:
        self._arguments = (inputs, config, work)
        self._progress = progress

    def wait(self) -> Corpus:
        """Wait for the text."""
        return open_or_prepare(*self._arguments, progress=self._progress)


class _InBackground(Preparation):
    """Text that a forked process prepares, which starts at once because it needs no imports."""

    def __init__(self, paths: Sequence[str | Path], config: PrepareConfig, work: Path, *, progress: bool) -> None:
        super().__init__(paths, config, work, progress=progress)
        note_text(paths, config, work)
        self._store = work / STORE
        context = multiprocessing.get_context("fork")
        self._outcome, sender = context.Pipe(duplex=False)
        lifeline = context.Pipe(duplex=False)
        arguments = (list(paths), self._store, config, progress, sender, os.getpid(), *lifeline)
        self._process = context.Process(target=_prepare, args=arguments)
        self._process.start()
        sender.close()
        lifeline[0].close()
        self._far_end = lifeline[1]

    def wait(self) -> Corpus:
        try:
            outcome: Any = self._outcome.recv()
        except EOFError:
            self._process.join()
            raise WordstillError(
                f"The process that prepares the text was ended (status {self._process.exitcode}), perhaps for lack of "
                "memory. Finished work is kept: run the same command again."
            ) from None
        self._process.join()
        if isinstance(outcome, BaseException):
            raise outcome
        self.seconds, messages = outcome
        for message in messages:
            warnings.warn(message, stacklevel=2)
        return Corpus.open(self._store)

    def stop(self) -> None:
        """End the process, which cleans up after itself."""
        with suppress(ValueError):
            self._process.terminate()
        self._process.join()
        self._far_end.close()
        self._outcome.close()


@contextmanager
def preparing(inputs: Inputs, config: PrepareConfig, work: Path, *, progress: bool) -> Iterator[Preparation]:
    """Start `open_or_prepare` in the background; the block calls `Preparation.wait` when it needs the text.

    If the block fails, the preparation stops, and finished work stays in ``work``. If processes cannot be forked, the
    text is ready, or it comes from standard input, it is opened or prepared in `Preparation.wait`.
    """
    paths = as_list(inputs)
    ready = is_one_store(paths) or (work / STORE).exists()
    if ready or sys.platform != "linux" or STANDARD_INPUT in map(str, paths):
        yield Preparation(paths, config, work, progress=progress)
        return
    started = _InBackground(paths, config, work, progress=progress)
    try:
        yield started
    finally:
        started.stop()


def _prepare(
    paths: list[str | Path],
    store: Path,
    config: PrepareConfig,
    progress: bool,
    sender: Connection[Any, Any],
    parent: int,
    lifeline: Connection[Any, Any],
    far_end: Connection[Any, Any],
) -> None:
    """Main function of the process: prepare the text, and send seconds and warnings, or the error."""
    far_end.close()
    # Ctrl-C goes to the parent, which ends this process by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=end_with, args=(parent, lifeline), daemon=True).start()
    # Loading the teacher has priority: it takes one core, and longer than preparing the text.
    os.nice(LESS_URGENT)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            prepare(paths, store, config, progress=progress)
        texts = [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
        sender.send((time.perf_counter() - start, texts))
    except KeyboardInterrupt as stop:
        sender.send(stop)
    except Exception as error:
        if not isinstance(error, WordstillError):
            error.add_note(traceback.format_exc())
        sender.send(error)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
