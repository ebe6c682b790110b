"""Doing the next piece of work while the last one is used."""

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
WAIT_SECONDS = 0.1


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


Result = TypeVar("Result")


class Crew(Generic[Item, Result]):
    """Threads that share the cores of torch, and give results in the order of the work.

    A thread with a core of its own does not wait for the others after every operation, as the threads of one
    operation do, which costs most where other programs run. The caller has no more cores meanwhile.

    Args:
        work: What is done with an item.
        size: How many threads; with one, the work is done by the caller, on all cores.
    """

    def __init__(self, work: Callable[[Item], Result], size: int) -> None:
        self.work, self.size = work, size
        self._coming: deque[Future[Result]] = deque()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Crew[Item, Result]:
        if self.size > 1:
            import torch

            self._cores = torch.get_num_threads()
            each = max(1, self._cores // self.size)
            self._pool = ThreadPoolExecutor(self.size, initializer=torch.set_num_threads, initargs=(each,))
            # Threads of the caller's own operations would wait for each other on the crew's cores.
            torch.set_num_threads(each)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            import torch

            self._pool.shutdown(cancel_futures=True)
            torch.set_num_threads(self._cores)

    def do(self, item: Item) -> list[Result]:
        """Take up an item; gives the result that is next, once every thread has something to do."""
        if self._pool is None:
            return [self.work(item)]
        self._coming.append(self._pool.submit(self.work, item))
        return [self._coming.popleft().result()] if len(self._coming) > self.size else []

    def rest(self) -> Iterator[Result]:
        """The results that are still to come."""
        while self._coming:
            yield self._coming.popleft().result()


def made_in_order(makers: Iterable[Callable[[], Item]], threads: int) -> Iterator[Item]:
    """What the makers make, one after another.

    Args:
        makers: They must not depend on each other.
        threads: With more than one, as many items are made ahead; an error is raised when its item's turn
            comes.
    """
    if threads == 1:
        for make in makers:
            yield make()
        return
    coming: deque[Future[Item]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for make in makers:
            coming.append(pool.submit(make))
            if len(coming) > threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
