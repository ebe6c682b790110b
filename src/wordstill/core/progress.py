"""Progress bars, profiling a run part by part, and keeping its heap small."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from wordstill.errors import MissingExtra

Item = TypeVar("Item")


def count_bar(title: str, total: int, unit: str, *, show: bool, done: int = 0) -> Any:
    """A bar of tqdm with the rate and the time left; ``done`` is what a stopped run has done already."""
    from tqdm import tqdm

    return tqdm(
        total=total, initial=done, desc=title, unit=f" {unit}", unit_scale=True, smoothing=0.05, disable=not show
    )


def byte_bar(total: int | None, name: str) -> Any:
    """A bar over bytes."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise MissingExtra("tqdm", "distill", "A progress bar") from None
    return tqdm(total=total, unit="B", unit_scale=True, desc=name)


class Profiler:
    """Adds up the wall-clock seconds of named parts.

    Args:
        synchronize: Called at the end of each part: a GPU runs behind the host, and waiting for it gives each
            part its own time, which makes a run somewhat slower.

    Attributes:
        seconds: Those of each part, in the order in which parts began.
        notes: What was chosen on the way, and why.

    Example:
        >>> profiler = Profiler()
        >>> with profiler.part("counting"):
        ...     total = sum(range(10))
        >>> list(profiler.seconds)
        ['counting']
    """

    def __init__(self, synchronize: Callable[[], object] = lambda: None) -> None:
        self.synchronize = synchronize
        self.seconds: dict[str, float] = {}
        self.notes: dict[str, str] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the seconds inside as a part's."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.synchronize()
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """The same items; the seconds until each of them comes are a part's."""
        source = iter(items)
        while True:
            with self.part(name):
                item = next(source, None)
            if item is None:
                return
            yield item


class NullProfiler(Profiler):
    """A profiler that measures nothing and waits for nothing."""

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure nothing."""
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
