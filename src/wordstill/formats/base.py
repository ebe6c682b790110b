"""What a format of vectors is, and what every reader needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import FormatError, UsageError, WordstillError
from wordstill.vectors import Matrix, WordVectors, find_duplicate


@dataclass(frozen=True)
class Format:
    """One row of the table of formats."""

    name: str
    suffixes: tuple[str, ...] = ()
    """Ends of a file's name that choose this format for writing; "" is a name without any suffix."""

    read: Callable[[Path], WordVectors] | None = None
    """Read a table, or None for a format that is only written."""

    write: Callable[[WordVectors, Path], None] | None = None
    """Write a table over whatever is at the path, or None for a format that is only read."""

    recognises: Callable[[Path], bool] = lambda _: False
    """Whether a path looks like this format, from its first bytes: cheap, and bad content is no error."""

    folder: bool = False
    """Whether the format is a folder rather than a file."""


class GrowingMatrix:
    """A float32 matrix that grows by blocks of rows, without a copy where the system can move pages."""

    def __init__(self, dim: int) -> None:
        self._data = np.empty((0, dim), dtype=np.float32)
        self._used = 0

    def append(self, block: NDArray[np.float32]) -> None:
        """Add rows, (rows, dim)."""
        end = self._used + len(block)
        if end > len(self._data):
            # refcheck is off because no other reference to the data is ever given out before finish.
            self._data.resize((end + end // 4, self._data.shape[1]), refcheck=False)
        self._data[self._used : end] = block
        self._used = end

    def finish(self) -> NDArray[np.float32]:
        """The matrix, without room to spare; nothing can be added after."""
        self._data.resize((self._used, self._data.shape[1]), refcheck=False)
        return self._data


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file that is read from its start to its end; every such reader opens through here."""
    return path.open("rb")


def make_table(
    path: Path,
    words: Sequence[str],
    matrix: Matrix,
    *,
    first_line: int | None = None,
    counts: NDArray[np.int64] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> WordVectors:
    """The table read from a file; a word that comes twice is reported by line, if the first row has one."""
    if twice := find_duplicate(words):
        word = words[twice[0]]
        if first_line is None:
            raise FormatError(f"{path}: the word {word!r} is there twice, in rows {twice[0]} and {twice[1]}.")
        first, second = (row + first_line for row in twice)
        raise FormatError(f"{path}:{second}: the word {word!r} is there already, on line {first}.")
    try:
        return WordVectors(words, matrix, counts=counts, provenance=provenance)
    except WordstillError as error:
        raise FormatError(f"{path}: {error}") from None


def encode_word(word: str, row: int) -> bytes:
    """A word as UTF-8, or an error that names it."""
    try:
        return word.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The word {word!r} (row {row}) cannot be written as UTF-8: {error.reason}."
        ) from None
