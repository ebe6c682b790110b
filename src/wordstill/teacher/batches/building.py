"""Making things in several threads, in the order in which they are wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


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
