"""Input files: found, opened, decompressed."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from wordstill.errors import DataError, MissingExtra

STANDARD_INPUT = "-"
HEAD_BYTES = 1 << 16
CHUNK_BYTES = 1 << 20
ZSTD_INPUT_BYTES = 1 << 14
ZSTD_MAX_WINDOW = 1 << 31

MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}
SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}


@dataclass(frozen=True)
class Source:
    """One input file, or the standard input when ``path`` is None."""

    name: str
    path: Path | None
    size: int | None = None

    @property
    def suffix(self) -> str:
        """The suffix that tells the kind, without that of the compression; lower case."""
        suffixes = [suffix.lower() for suffix in Path(self.name).suffixes]
        if suffixes and suffixes[-1] in SUFFIXES:
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    @contextmanager
    def open(self) -> Iterator[Stream]:
        """The decompressed bytes."""
        try:
            opened = self.path.open("rb") if self.path else nullcontext(sys.stdin.buffer)
        except OSError as error:
            raise DataError(f"{self.name} cannot be opened: {error.strerror}.") from error
        with opened as raw:
            try:
                stream = Stream(self, raw)
            except OSError as error:
                raise DataError(f"{self.name} cannot be read: {error.strerror}.") from error
            yield stream


class Stream:
    """Decompressed bytes of a source; the first ones (``head``) can be looked at before they are read."""

    def __init__(self, source: Source, raw: Any) -> None:
        self.source = source
        self.codec = _codec(source, raw.peek(16))
        self._raw = raw
        self._file = _decompressed(self.codec, raw)
        self.head = self._fill(HEAD_BYTES)
        self._pending = self.head
        self.position: int | None = None
        """Bytes consumed, from a reader that opens the file itself."""

    @property
    def consumed(self) -> int:
        """Bytes that were read of the file as it is stored; 0 where that cannot be told."""
        if self.position is not None:
            return self.position
        return int(self._raw.tell()) if self._raw.seekable() else 0

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Up to ``size`` bytes; none at the end.

        Raises:
            DataError: Compressed data are broken or end too early.
        """
        if self._pending:
            data, self._pending = self._pending[:size], self._pending[size:]
            return data
        return self._fill(size)

    def _fill(self, size: int) -> bytes:
        chunks: list[bytes] = []
        try:
            while size > 0 and (chunk := self._file.read(size)):
                chunks.append(chunk)
                size -= len(chunk)
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            what = f"the {self.codec} data are broken or cut short" if self.codec else "cannot be read"
            raise DataError(
                f"{self.source.name}: {what} ({error}). Get the file again, or leave it out."
            ) from error
        return b"".join(chunks)


def find_sources(inputs: Sequence[str | Path] | str | Path) -> list[Source]:
    """The files behind names of files, of folders (with all that is in them), glob patterns and ``-``.

    Files of a folder and of a pattern come in the order of their names; hidden ones are left out.

    Raises:
        DataError: A name leads to no file.
    """
    sources: list[Source] = []
    for given in [inputs] if isinstance(inputs, str | Path) else inputs:
        sources += _expand(given)
    if not sources:
        raise DataError(
            "No input was given. Name files, folders, glob patterns, or - for the standard input."
        )
    return sources


def _expand(given: str | Path) -> list[Source]:
    if str(given) == STANDARD_INPUT:
        return [Source("standard input", None)]
    path = Path(given)
    if path.is_dir():
        files = sorted(
            file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path))
        )
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
    return [Source(str(file), file, file.stat().st_size if file.is_file() else None) for file in files]


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _codec(source: Source, first: bytes) -> str | None:
    named = SUFFIXES.get(Path(source.name).suffix.lower())
    found = next((codec for codec, magic in MAGIC.items() if first.startswith(magic)), None)
    if named and found != named:
        raise DataError(
            f"{source.name} is named like {named} data but begins with {first[:6].hex(' ') or 'nothing'}, "
            f"expected {MAGIC[named].hex(' ')}. Get the file again, or rename it."
        )
    return found


def _decompressed(codec: str | None, raw: IO[bytes]) -> Any:
    if codec == "gzip":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if codec == "bzip2":
        return bz2.BZ2File(raw)
    if codec == "xz":
        return lzma.LZMAFile(raw)
    if codec == "zstd":
        return _ZstdFile(raw)
    return raw


class _ZstdFile:
    """Reads frame after frame. The package's own reader takes a truncated file for a complete one."""

    def __init__(self, raw: IO[bytes]) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtra("zstandard", "distill", "Reading .zst files") from None
        self._error = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW)
        self._raw = raw
        self._frame: Any = None
        self._input = b""

    def read(self, size: int) -> bytes:
        """Some bytes, not exactly ``size``; none at the end."""
        output = b""
        while not output:
            self._input = self._input or self._raw.read(ZSTD_INPUT_BYTES)
            if not self._input:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                return b""
            self._frame = self._frame or self._decompressor.decompressobj()
            try:
                output = self._frame.decompress(self._input)
            except self._error as error:
                raise OSError(str(error)) from error
            self._input = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None
        return output


EXCERPT = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


def embedded_text() -> Path:
    """The dump's file: about 4,900 paragraphs and 460,000 words when prepared."""
    spec = find_spec("gensim")
    if spec is None or spec.origin is None:
        raise MissingExtra("gensim", "embedded", "The embedded Wikipedia text")
    path = Path(spec.origin).parent / "test" / "test_data" / EXCERPT
    if not path.is_file():
        raise DataError(f"{path} is missing: this gensim has no test data. Reinstall gensim 4.4 or newer.")
    return path
