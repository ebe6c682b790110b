"""Arrays and counts that do not fit into memory: streamed ``.npy`` files, and sorted runs that can be merged.

A run is a file of byte strings in ascending order, each with a count, in chunks that are read one at a time.
No file stays open between chunks, so that thousands of runs can be merged.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from wordstill.core.tensors import map_array
from wordstill.errors import DataError

CHUNK_ENTRIES = 1024
Entry = tuple[bytes, int]


class ArrayWriter:
    """Appends to a ``.npy`` file; the file is a valid array once the writer is closed."""

    def __init__(self, path: Path, dtype: type[np.generic]) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.length = 0
        self._file = path.open("w+b")
        self._write_header()

    def extend(self, values: ArrayLike) -> None:
        """Append numbers."""
        numbers = np.ascontiguousarray(values, dtype=self.dtype)
        self._file.write(numbers.data)
        self.length += len(numbers)

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        # numpy pads the header for any length, so that it can be rewritten in place.
        self._file.seek(0)
        _write_header(self._file, self.dtype, self.length)
        self._file.seek(0, 2)


class ArrayFile:
    """A ``.npy`` file of known length, initially zeros, whose parts can be written by any thread in any order."""

    def __init__(self, path: Path, dtype: type[np.generic], length: int) -> None:
        self.path, self.dtype = path, np.dtype(dtype).newbyteorder("<")
        with path.open("wb") as file:
            _write_header(file, self.dtype, length)
            self._start = file.tell()
            file.truncate(self._start + length * self.dtype.itemsize)

    def write(self, position: int, values: ArrayLike) -> None:
        """Write numbers from a position on."""
        numbers = np.asarray(values)
        self.write_pieces([position], numbers, [len(numbers)])

    def write_pieces(self, positions: Iterable[int], values: ArrayLike, sizes: Iterable[int]) -> None:
        """Write runs of concatenated numbers, each to a position of its own."""
        numbers, done = np.ascontiguousarray(values, dtype=self.dtype), 0
        # Not memory-mapped, because a full disk would end the process.
        with self.path.open("r+b", buffering=0) as file:
            for position, size in zip(positions, sizes):
                file.seek(self._start + position * self.dtype.itemsize)
                left = numbers[done : done + size].data.cast("B")
                while left:
                    left = left[file.write(left) :]
                done += size

    def read(self, position: int, length: int) -> NDArray[Any]:
        """Numbers from a position on."""
        with self.path.open("rb") as file:
            file.seek(self._start + position * self.dtype.itemsize)
            return np.fromfile(file, dtype=self.dtype, count=length)


def _write_header(file: IO[bytes], dtype: np.dtype[Any], length: int) -> None:
    npy.write_array_header_1_0(file, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)})


def read_array(path: Path) -> NDArray[Any]:
    """The array of a ``.npy`` file, memory-mapped and read-only; pickles are never read."""
    # A plain view: indexing an instance of np.memmap costs several times as much.
    return np.asarray(map_array(path))


def in_byte_order(texts: Sequence[str]) -> tuple[list[int], NDArray[np.uint32]]:
    """The indices of texts in ascending order of their UTF-8 bytes, and the rank of each text [n]."""
    # This is the order of code points, as for str.
    order = sorted(range(len(texts)), key=texts.__getitem__)
    places = np.empty(len(order), dtype=np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    return order, places


def write_counted(file: IO[bytes], texts: Sequence[str], counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Write distinct texts with their counts [n] as a run; returns the rank of each [n]."""
    order, places = in_byte_order(texts)
    write_run(file, ((texts[number].encode(), count) for number, count in zip(order, counts[order].tolist())))
    return places


def write_run(file: IO[bytes], entries: Iterable[Entry]) -> None:
    """Write entries with distinct keys in ascending order."""
    stream = iter(entries)
    while chunk := list(islice(stream, CHUNK_ENTRIES)):
        keys = [key for key, _ in chunk]
        lengths = np.fromiter(map(len, keys), dtype="<i8", count=len(keys))
        counts = np.fromiter((count for _, count in chunk), dtype="<i8", count=len(keys))
        file.write(np.array([len(keys), lengths.sum()], dtype="<i8").tobytes())
        file.write(lengths.tobytes() + counts.tobytes())
        file.write(b"".join(keys))


class RunIndex:
    """An index of the chunks of a run, so that a range of keys can be read.

    Attributes:
        keys: First key of each chunk.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: list[bytes] = []
        self._positions: list[int] = []
        position, size = 0, path.stat().st_size
        with path.open("rb") as file:
            while position < size:
                file.seek(position)
                header = file.read(24)
                entries, length, first = np.frombuffer(header, dtype="<i8").tolist() if len(header) == 24 else (0, 0, 0)
                after = position + 16 + 16 * entries + length
                if not 0 < entries <= CHUNK_ENTRIES or not 0 <= first <= length or after > size:
                    raise _damaged(path, position)
                file.seek(position + 16 + 16 * entries)
                self.keys.append(file.read(first))
                self._positions.append(position)
                position = after
        self._positions.append(size)

    def between(self, low: bytes, high: bytes | None) -> tuple[list[bytes], NDArray[np.int64]]:
        """The keys from ``low`` to ``high`` (exclusive; None is the end) and their counts."""
        first = max(0, bisect_right(self.keys, low) - 1)
        last = len(self.keys) if high is None else bisect_left(self.keys, high)
        keys, counts = self.chunks(first, max(first, last))
        start = bisect_left(keys, low)
        end = len(keys) if high is None else bisect_left(keys, high)
        return keys[start:end], counts[start:end]

    def chunks(self, start: int, end: int) -> tuple[list[bytes], NDArray[np.int64]]:
        """The keys and counts of the chunks from ``start`` to ``end`` (exclusive)."""
        with self.path.open("rb") as file:
            file.seek(self._positions[start])
            data = file.read(self._positions[end] - self._positions[start])
        keys: list[bytes] = []
        counts = [np.empty(0, dtype=np.int64)]
        position = 0
        while position < len(data):
            entries, size = np.frombuffer(data, dtype="<i8", count=2, offset=position).tolist()
            numbers = np.frombuffer(data, dtype="<i8", count=2 * entries, offset=position + 16)
            ends = np.cumsum(numbers[:entries]) + position + 16 + 16 * entries
            if numbers[:entries].sum() != size or numbers[:entries].min(initial=0) < 0:
                raise _damaged(self.path, self._positions[start] + position)
            keys += [data[start:end] for start, end in zip((ends - numbers[:entries]).tolist(), ends.tolist())]
            counts.append(numbers[entries:])
            position += 16 + 16 * entries + size
        return keys, np.concatenate(counts)


def _damaged(path: Path, position: int) -> DataError:
    return DataError(
        f"{path} is damaged or cut short near byte {position}. Delete the folder it is in and start again."
    )
