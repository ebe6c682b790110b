"""Parallel decompression of bzip2: every block of a stream can be decompressed independently.

A block begins with a 48-bit mark, at any bit of the file. Blocks are found by their marks and decompressed in threads,
each as a stream of one block. If that fails, because the data are damaged or contain a mark by chance, the whole file
is read again by one thread.
"""

from __future__ import annotations

import bz2
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

import numpy as np

from wordstill.core.threads import Misread, OrderedPool, UnpackedAhead

BLOCK_MARK, END_MARK = 0x314159265359, 0x177245385090
MARK_BITS, SUM_BITS, HEADER_BITS = 48, 32, 32
MARK_BYTES = 7
"""That a mark can touch."""
HEADER = re.compile(rb"BZh[1-9]")
READ_BYTES = 1 << 20
MOST_UNPACKED = 4 << 20
"""A block of text is 900 kB; more comes out of one only where a character is repeated for long."""


class ParallelBzip2(UnpackedAhead):
    """The decompressed bytes of a file.

    Args:
        packed: The file.
        again: Opens it again, from its start.
        threads: Number of threads.
        read_bytes: Bytes to read from the file at a time.
    """

    def __init__(
        self, packed: IO[bytes], again: Callable[[], IO[bytes]], threads: int, read_bytes: int = READ_BYTES
    ) -> None:
        super().__init__(OrderedPool(_unpack, threads).map(Blocks(packed, read_bytes)), again, bz2.BZ2File)


class _Block(NamedTuple):
    """A compressed block: ``bits`` bits, from bit ``shift`` of the data."""

    header: bytes
    data: bytes
    shift: int
    bits: int
    end: int
    """Offset of the byte after it in the file."""


class Blocks:
    """The blocks of all streams of a file in order; an error comes in its turn, as an exception."""

    def __init__(self, packed: IO[bytes], read_bytes: int) -> None:
        self._packed, self._read_bytes = packed, read_bytes
        self._data, self._first, self._needed, self._searched = b"", 0, 0, 0
        """A window of the file, and the offsets of its first byte, of the first byte still needed, and of the first not
        yet searched for marks."""
        self._marks: deque[tuple[int, bool]] = deque()
        """Bit offset of each mark, and whether it ends a stream."""

    def __iter__(self) -> Iterator[_Block | Exception]:
        try:
            # Anything after the last stream is ignored, as by the library.
            while HEADER.fullmatch(header := self._bytes(self._needed, 4)):
                bit, total = 8 * self._needed + HEADER_BITS, 0
                while True:
                    found, ends = self._mark()
                    if found != bit:
                        raise Misread
                    checksum = self._number(bit + MARK_BITS, SUM_BITS)
                    if ends:
                        break
                    bit = self._mark(keep=True)[0]
                    total = (total << 1 | total >> 31) & 0xFFFFFFFF ^ checksum
                    yield _Block(
                        header, self._bytes(found // 8, bit // 8 - found // 8 + 2), found % 8, bit - found, bit // 8
                    )
                    self._needed = bit // 8
                if checksum != total:
                    raise Misread
                self._needed = (bit + MARK_BITS + SUM_BITS + 7) // 8
            if self._needed == 0:
                raise Misread
            if header and b"BZh".startswith(header):
                raise EOFError("the end is missing")
        except (EOFError, Misread) as problem:
            yield problem

    def _mark(self, *, keep: bool = False) -> tuple[int, bool]:
        """The next mark."""
        while not self._marks:
            if not self._read_more():
                raise EOFError("the end is missing")
        return self._marks[0] if keep else self._marks.popleft()

    def _number(self, bit: int, size: int) -> int:
        data = self._bytes(bit // 8, size // 8 + 1)
        if 8 * len(data) < bit % 8 + size:
            raise EOFError("the end is missing")
        return int.from_bytes(data) >> (8 * len(data) - bit % 8 - size) & ((1 << size) - 1)

    def _bytes(self, place: int, size: int) -> bytes:
        while self._first + len(self._data) < place + size and self._read_more():
            pass
        return self._data[place - self._first : place - self._first + size]

    def _read_more(self) -> bool:
        more = self._packed.read(self._read_bytes)
        done = min(self._needed - self._first, len(self._data))
        self._data, self._first = self._data[done:] + more, self._first + done
        self._marks.extend(sorted(mark for pattern in PATTERNS for mark in self.find(*pattern)))
        self._searched = max(self._searched, self._first + len(self._data) - MARK_BYTES + 1)
        return bool(more)

    def find(self, needle: bytes, mark: int, shift: int) -> Iterator[tuple[int, bool]]:
        """Marks that begin at bit ``shift`` of a byte, in bytes that were not searched before."""
        before = int(shift > 0)
        place = self._data.find(needle, max(0, self._searched - self._first) + before)
        while place >= 0:
            window = self._data[place - before : place - before + MARK_BYTES]
            if len(window) == MARK_BYTES and int.from_bytes(window) >> (8 - shift) & ((1 << MARK_BITS) - 1) == mark:
                yield 8 * (self._first + place - before) + shift, mark == END_MARK
            place = self._data.find(needle, place + 1)


def _patterns() -> Iterator[tuple[bytes, int, int]]:
    """For each mark and bit offset, the whole bytes to search for, the mark, and the offset."""
    for mark in (BLOCK_MARK, END_MARK):
        for shift in range(8):
            window = (mark << (8 - shift)).to_bytes(MARK_BYTES)
            yield window[:6] if shift == 0 else window[1:6], mark, shift


PATTERNS = tuple(_patterns())


def _unpack(block: _Block | Exception) -> tuple[bytes, int]:
    """The decompressed bytes of a block, and where it ends in the file."""
    if isinstance(block, Exception):
        raise block
    raw, shift, (whole, rest) = np.frombuffer(block.data, dtype=np.uint8), block.shift, divmod(block.bits, 8)
    # Shifts of bytes drop what does not fit.
    bits = raw[:-1] << shift | raw[1:] >> (8 - shift) if shift else raw
    checksum = int.from_bytes(bits[MARK_BITS // 8 : (MARK_BITS + SUM_BITS) // 8].tobytes())
    end = int(bits[whole]) >> (8 - rest) if rest else 0
    end = (end << MARK_BITS | END_MARK) << SUM_BITS | checksum
    size = rest + MARK_BITS + SUM_BITS
    tail = (end << -size % 8).to_bytes((size + 7) // 8)
    stream = bz2.BZ2Decompressor()
    try:
        unpacked = stream.decompress(block.header + bits[:whole].tobytes() + tail, MOST_UNPACKED)
    except (OSError, ValueError) as error:
        raise Misread from error
    if not stream.eof:
        raise Misread
    return unpacked, block.end
