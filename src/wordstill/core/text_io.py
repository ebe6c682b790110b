"""How a file is read: strictly or with repairs, silently or with a bar.

Files that are read or written from their start to their end, plain or compressed.

Compressed data are known by their first bytes when read and by the file's name when written. A file that
unpacks to far more than word vectors ever do is refused before it fills the memory.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from wordstill.core.files import atomic_file
from wordstill.errors import FormatError, MissingExtra


class Reading:
    """One reading of one file.

    Args:
        repair: Leave out what is wrong and warn of it, where the rest of the file can be told from it.
        progress: Show a bar of the bytes that were read.
        first: Stop after so many rows, in formats without counts that are read from the start.
    """

    def __init__(self, *, repair: bool = False, progress: bool = False, first: int | None = None) -> None:
        self.repair = repair
        self.progress = progress
        self.first = first
        self._repairs: dict[str, tuple[int, FormatError]] = {}

    def enough(self, rows: int) -> bool:
        """Whether so many rows are all that are wanted."""
        return self.first is not None and rows >= self.first

    def fault(self, repaired: str, error: FormatError) -> None:
        """Raise the error; or, with repairs, note it under the words that tell what was done about it."""
        if not self.repair:
            raise error
        count, first = self._repairs.get(repaired, (0, error))
        self._repairs[repaired] = count + 1, first

    def report(self) -> None:
        """Warn of each kind of repair, with its number and the first error that it stands for."""
        for repaired, (count, error) in self._repairs.items():
            warnings.warn(f"Repaired, {repaired} ({count:,}): {error}", UserWarning, stacklevel=3)

    def bar(self, path: Path) -> Any | None:
        """A bar over the bytes of a file, or None."""
        if not self.progress:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise MissingExtra("tqdm", "distill", "A progress bar") from None
        return tqdm(total=path.stat().st_size, unit="B", unit_scale=True, desc=path.name)


STRICT = Reading()
"""Every fault is an error."""


BUFFER_BYTES = 1 << 18
MAX_RATIO = 100
"""Most that data may grow: numbers as text shrink to a third, and hardly ever to a tenth."""

FREE_BYTES = 256 << 20
"""So much may come out of any file, however small it is."""

MEMORY_BYTES = 256 << 20
MAGIC_BYTES = 6
INPUT_BYTES = 1 << 10
SUFFIXES = (".gz", ".xz", ".zst", ".bz2")


def open_bytes(path: Path, how: Reading = STRICT) -> io.BufferedReader:
    """Open a file that is read from its start to its end; every such reader opens through here."""
    raw = _Counted(path, how)
    try:
        start = raw.peek()
        for magic, (kind, opener) in _DECOMPRESSORS.items():
            if start.startswith(magic):
                return io.BufferedReader(_Unpacked(path, kind, opener(raw), raw), BUFFER_BYTES)
    except BaseException:
        raw.close()
        raise
    return io.BufferedReader(raw, BUFFER_BYTES)


@contextmanager
def create_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Write a file whole or not at all, compressed as the end of its name says."""
    with atomic_file(path) as handle:
        if compressor := _COMPRESSORS.get(path.suffix.lower()):
            with compressor(handle) as packed:
                yield packed
        else:
            yield handle


def without_suffix(name: str) -> str:
    """A file's name without the end that says how it is compressed."""
    return next((name[: -len(end)] for end in SUFFIXES if name.lower().endswith(end)), name)


def refuse_bomb(path: Path, unpacked: int, packed: int) -> None:
    """Raise if so few bytes cannot honestly hold so many."""
    if unpacked > max(FREE_BYTES, MAX_RATIO * packed):
        raise FormatError(
            f"{path}: {packed:,} bytes unpack to more than {unpacked - 1:,}, over {MAX_RATIO} times as many, "
            "which word vectors never do. If the file is sound, unpack it first."
        )


class _Counted(io.RawIOBase):
    """A file that knows how much of it was read, and tells a bar."""

    def __init__(self, path: Path, how: Reading) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        self._bar = how.bar(path)
        self.position = 0

    def peek(self) -> bytes:
        start = self._file.read(MAGIC_BYTES) or b""
        self._file.seek(0)
        return start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self.position += count
        if self._bar is not None:
            self._bar.update(count)
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            if self._bar is not None:
                self._bar.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """Decompressed bytes; what is wrong with them becomes an error of ours."""

    def __init__(self, path: Path, kind: str, packed: IO[bytes], raw: _Counted) -> None:
        super().__init__()
        self._path, self._kind, self._packed, self._raw = path, kind, packed, raw
        self._total = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._packed.read(len(buffer))
        except _broken() as error:
            raise FormatError(
                f"{self._path}: the {self._kind} data are broken or cut short near byte "
                f"{self._raw.position} ({error})."
            ) from None
        self._total += len(block)
        refuse_bomb(self._path, self._total, self._raw.position)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._packed.close()
        self._raw.close()
        super().close()


class _Streams(io.RawIOBase):
    """One compressed stream after another, each of which must have its end.

    A little is unpacked at a time, so that what comes out of it is never much, whatever the stream claims.
    """

    def __init__(self, raw: _Counted, new: Callable[[], Any]) -> None:
        super().__init__()
        self._packed, self._new = io.BufferedReader(raw, BUFFER_BYTES), new
        self._unpacker, self._rest, self._held = new(), b"", memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        while not self._held:
            data = self._rest or self._packed.read(INPUT_BYTES)
            if not data:
                if not self._unpacker.eof:
                    raise EOFError("the end is missing")
                return b""
            if self._unpacker.eof:
                self._unpacker = self._new()
            self._held = memoryview(self._unpacker.decompress(data))
            self._rest = self._unpacker.unused_data if self._unpacker.eof else b""
        block, self._held = self._held[:size], self._held[size:]
        return bytes(block)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstandard", "distill", "Zstandard data") from None
    return zstandard


def _broken() -> tuple[type[Exception], ...]:
    """What decompressors raise."""
    known: tuple[type[Exception], ...] = (EOFError, zlib.error, lzma.LZMAError, OSError, ValueError)
    try:
        import zstandard
    except ImportError:
        return known
    return (*known, zstandard.ZstdError)


def _read_xz(raw: _Counted) -> Any:
    return _Streams(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_BYTES))


def _read_zstandard(raw: _Counted) -> Any:
    return _Streams(raw, _zstandard().ZstdDecompressor(max_window_size=MEMORY_BYTES).decompressobj)


def _write_gzip(handle: IO[bytes]) -> IO[bytes]:
    # Neither the time nor the temporary name goes into the file: the same table gives the same bytes.
    return cast(IO[bytes], gzip.GzipFile("", "wb", compresslevel=6, fileobj=handle, mtime=0))


_DECOMPRESSORS: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda raw: gzip.GzipFile(fileobj=raw, mode="rb")),
    b"\xfd7zXZ\x00": ("xz", _read_xz),
    b"\x28\xb5\x2f\xfd": ("zstandard", _read_zstandard),
    b"BZh": ("bzip2", lambda raw: bz2.BZ2File(raw, "rb")),
}
_COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": _write_gzip,
    ".xz": partial(lzma.LZMAFile, mode="wb", preset=1),
    ".zst": lambda handle: _zstandard().ZstdCompressor(level=3).stream_writer(handle, closefd=False),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
}
