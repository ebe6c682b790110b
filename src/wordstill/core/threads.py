"""Threads that work ahead: the next item is made while the last one is used."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Full, Queue
from types import TracebackType
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
WAIT_SECONDS = 0.1


class OrderedPool(Generic[Item, Result]):
    """A pool of threads that gives results in the order of the work; an error is raised in its item's turn.

    Args:
        work: What is done with an item.
        size: How many threads; with one, the work is done by the caller.
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
        """Take up an item; gives the result that is next, once every thread has something to do."""
        if self._pool is None:
            return [self.work(item)]
        self._pending.append(self._pool.submit(self.work, item))
        return [self._pending.popleft().result()] if len(self._pending) > self.size else []

    def drain(self) -> Iterator[Result]:
        """The results that are still to come."""
        while self._pending:
            yield self._pending.popleft().result()

    def map(self, items: Iterable[Item]) -> Generator[Result]:
        """The results of items, as many of them ahead as there are threads; the pool is closed after them."""
        with self:
            for item in items:
                yield from self.submit(item)
            yield from self.drain()


def prefetch(items: Iterator[Item], depth: int = 4) -> Generator[Item, None, None]:
    """The same items, made by a thread that is at most ``depth`` items ahead; its errors are raised here."""
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
    """One item, or none at the end, with the error that was the reason for the end if there was one."""

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
    """Wait for room; False if nobody will take it any more."""
    while not abandoned.is_set():
        try:
            queue.put(entry, timeout=WAIT_SECONDS)
        except Full:
            continue
        return True
    return False
