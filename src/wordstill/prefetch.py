"""Doing the next piece of work while the last one is used."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Full, Queue
from typing import TypeVar

Item = TypeVar("Item")
WAIT_SECONDS = 0.1


def prefetch(items: Iterator[Item], depth: int = 4) -> Iterator[Item]:
    """The same items, produced by a thread that is at most ``depth`` items ahead; its errors are raised here."""
    queue: Queue[tuple[bool, Item | BaseException | None]] = Queue(maxsize=depth)
    abandoned = threading.Event()

    def put(entry: tuple[bool, Item | BaseException | None]) -> bool:
        while not abandoned.is_set():
            try:
                queue.put(entry, timeout=WAIT_SECONDS)
                return True
            except Full:
                continue
        return False

    def produce() -> None:
        try:
            for item in items:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    try:
        while True:
            alive, item = queue.get()
            if not alive:
                if isinstance(item, BaseException):
                    raise item
                return
            yield item  # type: ignore[misc]
    finally:
        abandoned.set()
        thread.join()
