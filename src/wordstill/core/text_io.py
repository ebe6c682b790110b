"""Sequential reading and writing of files, plain or compressed, as bytes and as lines.

Compression is detected by the first bytes when reading, and chosen by the file name when writing; a name that
contradicts the bytes is an error. A file that decompresses to suspiciously much is refused before it fills the memory.
Errors name the file, and the line if there is one.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from wordstill.core.files import atomic_file
from wordstill.core.guard import Limits
from wordstill.core.parallel_bzip2 import ParallelBzip2
from wordstill.core.parallel_xz import parallel_xz
from wordstill.core.progress import byte_bar
from wordstill.errors import DataError, MissingExtra

BUFFER_BYTES, TEXT_BUFFER_BYTES = 1 << 18, 1 << 15
"""For stored and for decompressed bytes."""
THREADS = 16
"""Maximum threads to decompress one file."""
INPUT_BYTES = 1 << 10
"""Compressed bytes to decompress at a time if output cannot be limited: so few of a bomb stay small."""


class ByteReader(io.BufferedReader):
    """The decompressed bytes of a file, in order."""

    def __init__(
        self, raw: io.RawIOBase, stored: _StoredFile, packed: io.BufferedReader | None = None, codec: str | None = None
    ) -> None:
        super().__init__(raw, BUFFER_BYTES if packed is None else TEXT_BUFFER_BYTES)
        self._stored, self._packed = stored, packed or self
        self.codec = codec
        """The compression: gzip, bzip2, xz or zstandard; None for plain data."""

    @property
    def consumed(self) -> int:
        """Stored bytes of the file that were used; for standard input, bytes that were read."""
        if isinstance(self.raw, _Decompressed) and self.raw.used is not None:
            return self.raw.used
        ahead = len(self._packed.peek()) if self._stored.is_file else 0
        return self._stored.position - ahead


def open_bytes(
    path: Path | None, *, error: type[DataError] = DataError, limits: Limits | None = None, progress: bool = False
) -> ByteReader:
    """Open a file for sequential reading; all such readers use this function.

    Args:
        path: The file; None is standard input.
        error: Raised if the data is broken, or not what the file name says.
        limits: Limits of decompression.
        progress: Show a progress bar.

    Raises:
        DataError: The file cannot be opened or read.
    """
    stored = _StoredFile(path, progress=progress)
    plain = ByteReader(stored, stored)
    try:
        codec = _codec(stored.name, path, plain.peek(max(len(known.magic) for known in CODECS)), error)
        if codec is None:
            return plain
        unpacked = _Decompressed(plain, stored, codec, limits or Limits.chosen(), error)
        return ByteReader(unpacked, stored, plain, codec.name)
    except BaseException:
        plain.close()
        raise


@contextmanager
def create_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Write a file atomically, compressed according to its suffix."""
    with atomic_file(path) as handle:
        if codec := _named_codec(path.name):
            with codec.compress(handle) as packed:
                yield packed
        else:
            yield handle


def without_suffix(name: str) -> str:
    """A file name without the suffix of its compression."""
    codec = _named_codec(name)
    return name[: -len(codec.suffix)] if codec else name


def skip_bom(handle: io.BufferedReader) -> None:
    """Skip the byte-order mark that some editors put before UTF-8 text."""
    if handle.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        handle.read(len(codecs.BOM_UTF8))


def line_blocks(
    handle: IO[bytes],
    name: object,
    *,
    error: type[DataError] = DataError,
    block_bytes: int = 1 << 20,
    limits: Limits | None = None,
) -> Iterator[list[bytes]]:
    """Non-empty lists of whole lines without their line feeds, about ``block_bytes`` each."""
    held = b""
    number = 1
    limits = limits or Limits.chosen()
    while chunk := handle.read(block_bytes):
        *lines, rest = chunk.split(b"\n")
        if rest and len(chunk) < block_bytes:
            # The file ends here, without a line feed.
            lines.append(rest)
            rest = b""
        if lines:
            lines[0] = held + lines[0]
            yield lines
            number += len(lines)
            held = rest
        else:
            held += rest
        limits.refuse("line_bytes", len(held), f"{name}:{number}: the line has", error=error)
    if held:
        yield [held]


def numbered_lines(
    path: Path | None, encoding: str = "utf-8", *, limits: Limits | None = None, progress: bool = False
) -> Iterator[tuple[int, str]]:
    """The lines of a text with numbers from 1, without a byte-order mark and line ends (LF or CRLF).

    Args:
        path: The file; None is standard input.
        encoding: One in which a line feed is one byte.
        limits: Limits of reading; a longer line is refused before it fills the memory.
        progress: Show a progress bar.

    Raises:
        DataError: The file cannot be read, or a line is too long, not text, or in another encoding.
    """
    number = 1
    limits, name = limits or Limits.chosen(), path or "standard input"
    with open_bytes(path, limits=limits, progress=progress) as handle:
        skip_bom(handle)
        for lines in line_blocks(handle, name, block_bytes=min(1 << 20, limits.line_bytes), limits=limits):
            for number, line in enumerate(lines, number):  # noqa: B020
                # str.splitlines would also split at characters that may stand inside a word, such as U+2028.
                yield number, _decoded(line, encoding, f"{name}:{number}").removesuffix("\r")
            number += 1


def read_word_list(path: Path) -> tuple[str, ...]:
    """The words or phrases of a UTF-8 file with one per line, without empty lines."""
    words = tuple(word for _, line in numbered_lines(path) if (word := line.strip()))
    if not words:
        raise DataError(f"The list of words {path} is empty. Put one word or phrase on each line.")
    return words


def _decoded(line: bytes, encoding: str, place: str) -> str:
    if b"\x00" in line:
        raise DataError(f"{place}: a zero byte; this is not text. Expected UTF-8.")
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: not UTF-8 ({error.reason}). Convert the file to UTF-8.") from None


class _StoredFile(io.RawIOBase):
    """The stored bytes of a file, with a count of those read and a progress bar."""

    def __init__(self, path: Path | None, *, progress: bool) -> None:
        super().__init__()
        self.name = "standard input" if path is None else str(path)
        self.position = 0
        self._bar: Any = None
        with self._reading():
            self._file: Any = sys.stdin.buffer if path is None else path.open("rb", buffering=0)
        self.is_file = path is not None
        if progress:
            self._bar = byte_bar(path.stat().st_size if path else None, path.name if path else self.name)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._reading():
            count = (self._file.readinto if self.is_file else self._file.readinto1)(buffer) or 0
        self.position += count
        if self._bar is not None:
            self._bar.update(count)
        return count

    def close(self) -> None:
        if not self.closed:
            if self.is_file:
                self._file.close()
            if self._bar is not None:
                self._bar.close()
        super().close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"Cannot read {self.name}: {error.strerror or error}.") from error


class _Decompressed(io.RawIOBase):
    """Decompressed bytes; defects become errors that name the file."""

    def __init__(
        self, packed: io.BufferedReader, stored: _StoredFile, codec: Codec, limits: Limits, error: type[DataError]
    ) -> None:
        super().__init__()
        self._packed, self._stored, self._limits, self._error = packed, stored, limits, error
        self._codec = codec
        self._file = codec.decompress(packed, limits)
        # `read` would continue to broken data and lose the data before it.
        self._read = getattr(self._file, "read1", self._file.read)
        self._broken = _decompression_errors()
        self._total = 0

    @property
    def used(self) -> int | None:
        """Stored bytes used, for a decompressor that works ahead; None for others."""
        return getattr(self._file, "position", None)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._read(len(buffer))
        except self._broken as error:
            raise self._error(
                f"{self._stored.name}: the {self._codec.name} data are broken or cut short near byte "
                f"{self.used or self._stored.position} ({error}). Get the file again, or do without it."
            ) from None
        self._total += len(block)
        self._limits.check(self._stored.name, self._total, self._stored.position, self._error)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._file.close()
        self._packed.close()
        super().close()


class _Streams(io.RawIOBase):
    """Concatenated compressed streams, each of which must be complete.

    A few bytes are decompressed at a time, so that a bomb stays small. (The reader of the package zstandard accepts
    truncated files.)
    """

    def __init__(self, packed: IO[bytes], new: Callable[[], Any]) -> None:
        super().__init__()
        self._packed, self._new = packed, new
        self._decompressor, self._rest, self._held = new(), b"", memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        while not self._held:
            data = self._rest or self._packed.read(INPUT_BYTES)
            if not data:
                if not self._decompressor.eof:
                    raise EOFError("the end is missing")
                return b""
            if self._decompressor.eof:
                # Zeros between streams are padding.
                data = data.lstrip(b"\x00")
                self._rest = b""
                if not data:
                    continue
                self._decompressor = self._new()
            self._held = memoryview(self._decompressor.decompress(data))
            self._rest = self._decompressor.unused_data if self._decompressor.eof else b""
        block, self._held = self._held[:size], self._held[size:]
        return bytes(block)


@dataclass(frozen=True)
class Codec:
    """A compression format."""

    name: str
    suffix: str
    magic: bytes
    decompress: Callable[[io.BufferedReader, Limits], Any]
    compress: Callable[[IO[bytes]], Any]


def _codec(name: str, path: Path | None, start: bytes, error: type[DataError]) -> Codec | None:
    found = next((codec for codec in CODECS if start.startswith(codec.magic)), None)
    named = _named_codec(path.name) if path else None
    if named and found is not named:
        raise error(
            f"{name} is named like {named.name} data but begins with {start[:6].hex(' ') or 'nothing'}, "
            f"expected {named.magic.hex(' ')}. Get the file again, or rename it."
        )
    return found


def _named_codec(name: str) -> Codec | None:
    return next((codec for codec in CODECS if name.lower().endswith(codec.suffix)), None)


def _decompression_errors() -> tuple[type[Exception], ...]:
    known: tuple[type[Exception], ...] = (EOFError, zlib.error, lzma.LZMAError, OSError, ValueError)
    try:
        import zstandard
    except ImportError:
        return known
    return (*known, zstandard.ZstdError)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstandard", "distill", "Zstandard data") from None
    return zstandard


def _read_xz(packed: io.BufferedReader, limits: Limits) -> Any:
    def serial(file: IO[bytes]) -> _Streams:
        return _Streams(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limits.memory_bytes))

    again, threads = _several_threads(packed)
    ahead = None if again is None else parallel_xz(again, serial, threads, limits.memory_bytes)
    return serial(packed) if ahead is None else ahead


def _read_zstandard(packed: io.BufferedReader, limits: Limits) -> Any:
    decompressor = _zstandard().ZstdDecompressor(max_window_size=limits.memory_bytes)
    return _Streams(packed, decompressor.decompressobj)


def _read_bzip2(packed: io.BufferedReader, limits: Limits) -> Any:
    again, threads = _several_threads(packed)
    return bz2.BZ2File(packed, "rb") if again is None else ParallelBzip2(packed, again, threads)


def _several_threads(packed: io.BufferedReader) -> tuple[Callable[[], IO[bytes]] | None, int]:
    """A function that opens the file again, and the number of threads; None if only one thread may read it."""
    stored, threads = packed.raw, min(os.cpu_count() or 1, THREADS)
    if threads == 1 or not isinstance(stored, _StoredFile) or not stored.is_file:
        return None, 1
    return lambda: Path(stored.name).open("rb"), threads


def _write_gzip(handle: IO[bytes]) -> IO[bytes]:
    # Without the time and the temporary name, so that the same table gives the same bytes.
    return cast(IO[bytes], gzip.GzipFile("", "wb", compresslevel=6, fileobj=handle, mtime=0))


CODECS = (
    Codec("gzip", ".gz", b"\x1f\x8b", lambda packed, _: gzip.GzipFile(fileobj=packed, mode="rb"), _write_gzip),
    Codec("xz", ".xz", b"\xfd7zXZ\x00", _read_xz, partial(lzma.LZMAFile, mode="wb", preset=1)),
    Codec(
        "zstandard",
        ".zst",
        b"\x28\xb5\x2f\xfd",
        _read_zstandard,
        lambda handle: _zstandard().ZstdCompressor(level=3).stream_writer(handle, closefd=False),
    ),
    Codec("bzip2", ".bz2", b"BZh", _read_bzip2, partial(bz2.BZ2File, mode="wb")),
)
