"""Parallel decompression of xz: the index at the end of a stream says where its blocks are.

Each block is decompressed as a stream of its own, so that its checksum is verified. Programs that compress with several
threads make blocks of some 24 MB. Files with a single block, with larger blocks, or with an invalid index are read by
one thread.
"""

from __future__ import annotations

import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from wordstill.core.threads import Misread, OrderedPool, UnpackedAhead

HEADER_MAGIC, FOOTER_MAGIC = b"\xfd7zXZ\x00", b"YZ"
HEADER_BYTES = FOOTER_BYTES = 12
LARGEST_BLOCK, AHEAD_BYTES = 64 << 20, 512 << 20
"""Decompressed bytes of a block, and of all blocks in progress."""
LARGEST_INDEX = 4 << 20
MOST_STREAMS = 1 << 16
"""Streams, and four-byte words of padding between them."""


class XzBlock(NamedTuple):
    """A compressed block."""

    start: int
    size: int
    """Without the padding to a multiple of four bytes."""
    unpacked: int
    flags: bytes
    """Stream flags: the kind of checksum."""

    @property
    def end(self) -> int:
        """Offset of the byte after it in the file."""
        return self.start + _filled(self.size)


def parallel_xz(
    again: Callable[[], IO[bytes]], serial: Callable[[IO[bytes]], Any], threads: int, memory_bytes: int
) -> UnpackedAhead | None:
    """The decompressed bytes of a file; None if there is nothing to gain, or the blocks cannot be found.

    Args:
        again: Opens the file from its start.
        serial: Makes a single-threaded reader of the whole file.
        threads: Number of threads.
        memory_bytes: Memory limit of all decompressors together.
    """
    with again() as file:
        try:
            blocks = find_blocks(file)
        except (Misread, OSError):
            return None
    largest = max((block.unpacked for block in blocks), default=0)
    threads = min(threads, len(blocks), AHEAD_BYTES // max(largest, 1))
    if threads < 2 or largest > LARGEST_BLOCK:
        return None

    def unpack(block: XzBlock) -> tuple[bytes, int]:
        with again() as file:
            file.seek(block.start)
            return unpacked(file.read(_filled(block.size)), block, memory_bytes // threads), block.end

    # An empty block would be taken for the end.
    filled = (block for block in blocks if block.unpacked)
    return UnpackedAhead(OrderedPool(unpack, threads).map(filled), again, serial)


def find_blocks(file: IO[bytes]) -> list[XzBlock]:
    """The blocks of all streams of a file, in order.

    Raises:
        Misread: An index does not fit the file.
    """
    end = file.seek(0, os.SEEK_END)
    streams: list[list[XzBlock]] = []
    for _ in range(MOST_STREAMS):
        if not end:
            return [block for blocks in reversed(streams) for block in blocks]
        footer = _bytes(file, end - FOOTER_BYTES, FOOTER_BYTES)
        if not any(footer[-4:]):
            end -= 4
            continue
        index_size = 4 * (int.from_bytes(footer[4:8], "little") + 1)
        index_start = end - FOOTER_BYTES - index_size
        if footer[10:] != FOOTER_MAGIC or footer[:4] != _checksum(footer[4:10]) or index_size > LARGEST_INDEX:
            raise Misread
        sizes = _index(_bytes(file, index_start, index_size))
        start = index_start - sum(_filled(size) for size, _ in sizes)
        header = _bytes(file, start - HEADER_BYTES, HEADER_BYTES)
        if header != HEADER_MAGIC + footer[8:10] + _checksum(footer[8:10]):
            raise Misread
        blocks = []
        for size, unpacked in sizes:
            blocks.append(XzBlock(start, size, unpacked, footer[8:10]))
            start = blocks[-1].end
        streams.append(blocks)
        end = blocks[0].start - HEADER_BYTES if blocks else index_start - HEADER_BYTES
    raise Misread


def unpacked(data: bytes, block: XzBlock, memory_bytes: int) -> bytes:
    """The decompressed bytes of a block.

    Raises:
        Misread: It is damaged.
    """
    index = b"\0\x01" + _varying(block.size) + _varying(block.unpacked)
    index += bytes(-len(index) % 4)
    index += _checksum(index)
    footer = (len(index) // 4 - 1).to_bytes(4, "little") + block.flags
    stream = (HEADER_MAGIC, block.flags, _checksum(block.flags), data, index, _checksum(footer), footer, FOOTER_MAGIC)
    try:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory_bytes)
        found = decompressor.decompress(b"".join(stream), block.unpacked)
        if not decompressor.eof:
            found += decompressor.decompress(b"", 1)
    except (lzma.LZMAError, EOFError, ValueError) as error:
        raise Misread from error
    if not decompressor.eof or len(found) != block.unpacked:
        raise Misread
    return found


def _index(data: bytes) -> list[tuple[int, int]]:
    """Compressed and decompressed sizes of the blocks."""
    if data[:1] != b"\0" or _checksum(data[:-4]) != data[-4:]:
        raise Misread
    numbers = _numbers(data[1:-4])
    count = next(numbers, 0)
    if 2 * count > len(data):
        raise Misread
    sizes = [(next(numbers, 0), next(numbers, 0)) for _ in range(count)]
    if any(size < 5 for size, _ in sizes):
        raise Misread
    return sizes


def _numbers(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0
        elif shift > 56:
            raise Misread


def _varying(number: int) -> bytes:
    """A number as a variable-length integer: seven bits per byte, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _bytes(file: IO[bytes], start: int, size: int) -> bytes:
    if start < 0:
        raise Misread
    file.seek(start)
    data = file.read(size)
    if len(data) < size:
        raise Misread
    return data


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


def _filled(size: int) -> int:
    return size + -size % 4
