"""Input files: finding, fetching, opening and decompressing them."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wordstill.core.files import path_text, sha256_of
from wordstill.core.gensim_files import EXCERPT, FOLDER, gensim_folder
from wordstill.core.guard import Limits, reading
from wordstill.core.object_stores import fetch, is_address
from wordstill.core.text_io import ByteReader, open_bytes, without_suffix
from wordstill.errors import DataError, MissingExtra

STANDARD_INPUT = "-"
HEAD_BYTES = 1 << 16
CHUNK_BYTES = 1 << 20
DIGEST_LETTERS = 16
LIMITS = {"ratio": None, "memory_bytes": 1 << 31, "line_bytes": 128 << 20}
"""Text is streamed, so its compression ratio is not limited; large corpora have long windows and long lines."""


@dataclass(frozen=True)
class Source:
    """One input file, or the standard input when ``path`` is None."""

    name: str
    path: Path | None
    size: int | None = None

    @property
    def suffix(self) -> str:
        """The suffix of the format, in lower case, without that of the compression."""
        return Path(without_suffix(self.name)).suffix.lower()

    def sha256(self) -> str | None:
        """The beginning of the SHA-256 of the stored file; None for input that can be read only once."""
        if self.path is None or not self.path.is_file():
            return None
        with reading(self.name):
            return sha256_of(self.path)[:DIGEST_LETTERS]

    @contextmanager
    def open(self) -> Iterator[Stream]:
        """The decompressed bytes."""
        limits = Limits.chosen(**LIMITS)
        with open_bytes(self.path, limits=limits) as reader:
            yield Stream(self, reader, limits)


class Stream:
    """The decompressed bytes of a source; ``head`` is a preview of the first."""

    def __init__(self, source: Source, reader: ByteReader, limits: Limits | None = None) -> None:
        self.source, self.limits = source, limits or Limits.chosen(**LIMITS)
        self.codec = reader.codec
        self._reader = reader
        self.head = reader.read(HEAD_BYTES)
        self._pending = self.head
        self.position: int | None = None
        """Bytes consumed, from a reader that opens the file itself."""

    @property
    def consumed(self) -> int:
        """Stored bytes of the file that were read."""
        return self._reader.consumed if self.position is None else self.position

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        return self._head(size) or self._reader.read(size)

    def read_some(self, size: int = CHUNK_BYTES) -> bytes:
        """As many bytes as are available, up to ``size``, so that none before broken data are lost."""
        return self._head(size) or self._reader.read1(size)

    def _head(self, size: int) -> bytes:
        data, self._pending = self._pending[:size], self._pending[size:]
        return data


def find_sources(inputs: Sequence[str | Path] | str | Path) -> list[Source]:
    """The input files of file names, folders (recursively), glob patterns and ``-``.

    Files of a folder or pattern are in the order of their names, without hidden ones.
    """
    sources: list[Source] = []
    for given in [inputs] if isinstance(inputs, str | Path) else inputs:
        sources += _expand(given)
    if not sources:
        raise DataError("No input was given. Name files, folders, glob patterns, or - for the standard input.")
    return sources


def _expand(given: str | Path) -> list[Source]:
    if str(given) == STANDARD_INPUT:
        return [Source("standard input", None)]
    if is_address(str(given)):
        return [Source(address, copy, copy.stat().st_size) for address, copy in fetch(str(given))]
    path = Path(given)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if not _hidden(file.relative_to(path)))
        files = [file for file in found if file.is_file()]
        if broken := [path_text(file) for file in found if file.is_symlink() and not file.exists()]:
            warnings.warn(f"Skipped, because they lead nowhere: the links {', '.join(broken[:3])}.", stacklevel=4)
        if not files:
            raise DataError(f"The folder {path} holds no files.")
    elif path.exists():
        files = [path]
    elif glob.has_magic(str(given)):
        # Path.glob takes no absolute patterns.
        names = glob.glob(str(given), recursive=True)  # noqa: PTH207
        files = sorted(path for path in map(Path, names) if path.is_file())
        if not files:
            raise DataError(f"No file matches {str(given)!r}.")
    else:
        raise DataError(f"{path} does not exist (looked in {Path.cwd()}).")
    return [Source(path_text(file), file, file.stat().st_size if file.is_file() else None) for file in files]


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def embedded_text() -> Path:
    """The Wikipedia excerpt of the demo: about 4,900 paragraphs and 460,000 words."""
    folder = gensim_folder()
    if folder is None:
        raise MissingExtra("gensim", "train", "The Wikipedia text of the demo")
    return folder / FOLDER / EXCERPT
