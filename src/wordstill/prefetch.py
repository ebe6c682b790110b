"""Doing the next piece of work while the last one is used."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from queue import Full, Queue
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
