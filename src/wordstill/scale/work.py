"""Work that is divided among workers: the pieces they are given, what they make of them, and what gathers that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from wordstill import __version__
from wordstill.core.resume import differences
from wordstill.errors import DataError

Report = Callable[[int], None]
"""Gets how many words were read since the last call."""


class Piece(Protocol):
    """A piece of the work that is done as a whole or not at all, fit for sending."""

    @property
    def number(self) -> int:
        """Its place in the plan."""

    @property
    def words(self) -> int:
        """Its size, in what the progress bar counts."""

    @property
    def place(self) -> str:
        """Where it is in the text, for a message."""


class Made(Protocol):
    """What came of a piece, fit for sending."""

    def write(self, path: Path) -> None:
        """Make its file, as a whole, with a checksum."""


class Reader(Protocol):
    """A worker that has loaded everything."""

    def read(self, piece: Any, report: Report = ..., /) -> Made:
        """Do a piece of the work."""


class Work(Protocol):
    """All that a worker must know, fit for sending."""

    @property
    def device(self) -> str:
        """Where models run, as the user has named it."""

    def on(self, device: str) -> Work:
        """The same on another device."""

    def open(self, cores: int) -> Reader:
        """Load everything in the process of a worker that has so many cores.

        Raises:
            DataError: The worker has another version, model or text, and would make something else.
        """


class Gathering(Protocol):
    """What puts the pieces together."""

    @property
    def complete(self) -> bool:
        """Whether every piece is in."""

    def fold(self) -> None:
        """Take in what the ledger says is done; damaged pieces are to be made again."""


def refuse_version(version: str) -> None:
    """Refuse a worker for a run that was started by another version.

    Raises:
        DataError: It was.
    """
    if version != __version__:
        raise DataError(
            f"This worker has wordstill {__version__}, but the run was started with {version}. "
            "Install the same version everywhere."
        )


def refuse_other(run: Mapping[str, Any], worker: Mapping[str, Any]) -> None:
    """Refuse a worker that would do something else than the run.

    Raises:
        DataError: It names what is not the same.
    """
    if different := differences(run, worker):
        raise DataError(f"This worker does not match the run: {different}.")
