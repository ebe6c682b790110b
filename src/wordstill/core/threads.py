"""Threads that work ahead: ordered pools, prefetching, and decompression."""

from __future__ import annotations

import io
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Full, Queue
from types import TracebackType
from typing import IO, Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
WAIT_SECONDS = 0.1
SKIPPED_BYTES = 1 << 18


class OrderedPool(Generic[Item, Result]):
    """A pool of threads that gives results in the order of the items; an error is raised in its item's turn.

    Args:
        work: Called with each item.
        size: Number of threads; with one, the caller does the work.
        start: Called at the start of each thread.
    """

    def __init__(self, work: Callable[[Item], Result], size: int, start: Callable[[], None] | None = None) -> None:
        self.work, self.size = work, size
        self._pending: deque[Future[Result]] = deque()
        self._pool = ThreadPoolExecutor(size, initializer=start) if size > 1 else None

    def __enter__(self) -> OrderedPool[Item, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def submit(self, item: Item) -> list[Result]:
        """Submit an item; returns the next result once every thread has work."""
        if self._pool is None:
            return [self.work(item)]
        self._pending.append(self._pool.submit(self.work, item))
        return [self._pending.popleft().result()] if len(self._pending) > self.size else []

    def drain(self) -> Iterator[Result]:
        """The remaining results."""
        while self._pending:
            yield self._pending.popleft().result()

    def map(self, items: Iterable[Item]) -> Generator[Result]:
        """The results of all items, computed ahead by the threads; closes the pool."""
        with self:
            for item in items:
                yield from self.submit(item)
            yield from self.drain()


class Misread(Exception):
    """Blocks were not found where expected, or are damaged."""


class UnpackedAhead(io.RawIOBase):
    """The bytes of a file whose blocks are decompressed ahead; after a `Misread` block, one reader starts over.

    Args:
        blocks: Decompressed blocks in order, each with the offset of its end in the file.
        again: Opens the file from its start.
        serial: Makes a single-threaded reader of the whole file.

    Attributes:
        position: Stored bytes used so far; the threads are ahead of it.
    """

    def __init__(
        self,
        blocks: Generator[tuple[bytes, int], None, None],
        again: Callable[[], IO[bytes]],
        serial: Callable[[IO[bytes]], Any],
    ) -> None:
        super().__init__()
        self._blocks, self._again, self._serial = blocks, again, serial
        self._given, self._held = 0, memoryview(b"")
        self._reader: Any = None
        self.position = 0

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        while not self._held and self._reader is None:
            try:
                block, self.position = next(self._blocks, (b"", self.position))
            except Misread:
                self._begin_again()
                break
            if not block:
                return b""
            self._held = memoryview(block)
            self._given += len(block)
        if not self._held and self._reader is not None:
            unpacked: bytes = self._read(size)
            self.position = self._file.tell()
            return unpacked
        taken, self._held = self._held[:size], self._held[size:]
        return bytes(taken)

    def close(self) -> None:
        """End the threads."""
        if not self.closed:
            self._blocks.close()
            if self._reader is not None:
                self._reader.close()
                self._file.close()
        super().close()

    def _begin_again(self) -> None:
        self._file = self._again()
        self._reader = self._serial(self._file)
        # `read` would continue to broken data and lose the data before it.
        self._read = getattr(self._reader, "read1", self._reader.read)
        left = self._given
        while left:
            skipped = len(self._reader.read(min(left, SKIPPED_BYTES)))
            if not skipped:
                break
            left -= skipped


def prefetch(items: Iterator[Item], depth: int = 4) -> Generator[Item, None, None]:
    """The same items, made ahead by a thread, up to ``depth`` of them; its errors are raised here."""
    queue: Queue[_Entry[Item]] = Queue(maxsize=depth)
    abandoned = threading.Event()
    thread = threading.Thread(target=_produce, args=(items, queue, abandoned), daemon=True)
    thread.start()
    try:
        while (entry := queue.get()).items:
            yield from entry.items
        if entry.error is not None:
            raise entry.error
    finally:
        abandoned.set()
        thread.join()


@dataclass(frozen=True)
class _Entry(Generic[Item]):
    """One item, or none at the end, with the error that caused the end, if any."""

    items: tuple[Item, ...] = ()
    error: BaseException | None = None


def _produce(items: Iterator[Item], queue: Queue[_Entry[Item]], abandoned: threading.Event) -> None:
    end: _Entry[Item] = _Entry()
    try:
        for item in items:
            if not _put(queue, _Entry((item,)), abandoned):
                return
    except BaseException as error:
        end = _Entry(error=error)
    _put(queue, end, abandoned)


def _put(queue: Queue[_Entry[Item]], entry: _Entry[Item], abandoned: threading.Event) -> bool:
    """Put an entry as soon as there is room; False if the consumer is gone."""
    while not abandoned.is_set():
        try:
            queue.put(entry, timeout=WAIT_SECONDS)
        except Full:
            continue
        return True
    return False
