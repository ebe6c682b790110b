"""What the registry says of a data set: who made it, which bytes it is, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Holder(StrEnum):
    """Who holds a copy."""

    FOLDER = "folder"
    """A data folder: ``$WORDSTILL_DATA`` or the user's cache."""
    GENSIM = "gensim"
    """The test data inside gensim's package."""


@dataclass(frozen=True)
class Copy:
    """One file that holds a set."""

    path: str
    """Relative to the holder's folder."""
    sha256: str
    reader: Callable[[Path], Any]
    """Turns the file into what the set's task works on."""
    holder: Holder = Holder.FOLDER


@dataclass(frozen=True)
class Dataset:
    """A row of the table."""

    name: str
    title: str
    size: int
    citation: str
    licence: str
    upstream: str
    """The public repository and commit of the first copy, as ``owner/name@commit``."""
    copies: tuple[Copy, ...]
    task: str = "similarity"
    """Which task scores it: a name of the table of tasks."""

    @property
    def address(self) -> str:
        """Where the set can be had."""
        repository, commit = self.upstream.split("@")
        return f"https://github.com/{repository}/tree/{commit}"
