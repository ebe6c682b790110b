"""Several pieces of work at the same time, each on cores of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, TypeVar

Item = TypeVar("Item")
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
