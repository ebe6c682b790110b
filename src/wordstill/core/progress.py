"""Where the time of a run goes, part by part."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")


class Stopwatch:
    """Adds up the seconds of named parts.

    A GPU works on while the host goes ahead, so after each part it is waited for; that makes a run somewhat
    slower, and is why nothing is measured unless asked for.

    Attributes:
        seconds: Those of each part, in the order in which parts began.

    Example:
        >>> watch = Stopwatch()
        >>> with watch.part("counting"):
        ...     total = sum(range(10))
        >>> list(watch.seconds)
        ['counting']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What happens inside belongs to a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.wait()
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """The same items; waiting for each of them belongs to a part."""
        source = iter(items)
        while True:
            with self.part(name):
                item = next(source, None)
            if item is None:
                return
            yield item

    def wait(self) -> None:
        """Let a GPU end what it was given."""
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()


class Unwatched(Stopwatch):
    """Measures nothing and waits for nothing."""

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Nothing is noted."""
        yield

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """The same items."""
        return iter(items)


def trim_heap() -> None:
    """Return free pages of the heap; does nothing where the C library cannot.

    Batches differ in shape, so the gaps that one leaves seldom fit the next, and the heap of a long run would
    grow for many minutes although no more of it is used.
    """
    _trimmer()()


@cache
def _trimmer() -> Callable[[], object]:
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            return lambda: trim(ctypes.c_size_t(0))
    return lambda: None
