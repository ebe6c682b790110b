"""Interfaces of work that is divided among workers: pieces, their results, and what collects these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from wordstill import __version__
from wordstill.core.resume import differences
from wordstill.errors import DataError

Report = Callable[[int], None]
"""Receives the number of words read since the last call."""


class Piece(Protocol):
    """An indivisible piece of work; can be pickled."""

    @property
    def number(self) -> int:
        """Its index in the plan."""

    @property
    def words(self) -> int:
        """Its size, in the unit of the progress bar."""

    @property
    def place(self) -> str:
        """Its location in the text, for messages."""


class Made(Protocol):
    """The result of a piece; can be pickled."""

    def write(self, path: Path) -> None:
        """Write its file atomically, with a checksum."""


class Reader(Protocol):
    """A worker that has loaded everything."""

    def read(self, piece: Any, report: Report = ..., /) -> Made:
        """Do a piece of the work."""


class Work(Protocol):
    """Everything that a worker must know; can be pickled."""

    @property
    def device(self) -> str:
        """The device as given by the user."""

    def on(self, device: str) -> Work:
        """The same work on another device."""

    def open(self, cores: int) -> Reader:
        """Load everything in the process of a worker with this number of cores.

        Raises:
            DataError: The worker has another version, model or text.
        """


class Gathering(Protocol):
    """Collects the results of pieces."""

    @property
    def complete(self) -> bool:
        """Whether the results of all pieces are collected."""

    def fold(self) -> None:
        """Collect the results that the ledger lists as done; damaged ones are reopened."""


def refuse_version(version: str) -> None:
    """Refuse a worker for a run that was started by another version.

    Raises:
        DataError: The versions differ.
    """
    if version != __version__:
        raise DataError(
            f"This worker has wordstill {__version__}, but the run was started with {version}. "
            "Install the same version everywhere."
        )


def refuse_other(run: Mapping[str, Any], worker: Mapping[str, Any]) -> None:
    """Refuse a worker whose facts differ from those of the run.

    Raises:
        DataError: Some facts differ; the message names them.
    """
    if different := differences(run, worker):
        raise DataError(f"This worker does not match the run: {different}.")
