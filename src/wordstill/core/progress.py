"""Progress bars, profiling, and memory management during a run."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from wordstill.errors import MissingExtra

Item = TypeVar("Item")


FIRST_LINE_SECONDS, LINE_SECONDS = 10.0, 30.0
BARS_ANYWHERE: ContextVar[bool] = ContextVar("BARS_ANYWHERE", default=False)
"""Whether to draw bars even without a terminal."""


def count_bar(title: str, total: int, unit: str, *, show: bool, done: int = 0) -> Any:
    """A bar with the rate and the time left; ``done`` is what a resumed run has done already."""
    return _bar(title, total, f" {unit}", show=show, done=done)


def byte_bar(total: int | None, name: str) -> Any:
    """A bar over bytes."""
    return _bar(name, total, "B", show=True)


def _bar(title: str, total: int | None, unit: str, *, show: bool, done: int = 0) -> Any:
    """A tqdm bar in a terminal or notebook; elsewhere occasional lines, for a log."""
    if not show or not (sys.stderr.isatty() or "ipykernel" in sys.modules or BARS_ANYWHERE.get()):
        return ProgressLines(title, total, unit.strip(), show=show, done=done)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise MissingExtra("tqdm", "distill", "A progress bar") from None
    return tqdm(total=total, initial=done, desc=title, unit=unit, unit_scale=True, smoothing=0.05)


class ProgressLines:
    """A tqdm bar as lines of text: the first after ten seconds, then one every half minute."""

    def __init__(self, title: str, total: int | None, unit: str, *, show: bool = True, done: int = 0) -> None:
        self.title, self.total, self.unit, self.show = title, total, unit, show
        self.n = self._before = done
        self._postfix = ""
        self._started = time.monotonic()
        self._next = self._started + FIRST_LINE_SECONDS

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, count: int = 1) -> None:
        """Advance the count."""
        self.n += count
        now = time.monotonic()
        if self.show and now >= self._next:
            self._next = now + LINE_SECONDS
            sys.stderr.write(f"{self._line(now)}\n")
            sys.stderr.flush()

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """Set the end of the next lines."""
        self._postfix = f", {text}" if text else ""

    def close(self) -> None:
        """Do nothing, unlike tqdm."""

    def _line(self, now: float) -> str:
        rate = (self.n - self._before) / max(now - self._started, 1e-9)
        if self.total is None:
            return f"{self.title}: {self.n:,} {self.unit}, {rate:,.0f} {self.unit}/s{self._postfix}"
        left = (self.total - self.n) / rate if rate > 0 else math.inf
        time_left = f", {left:,.0f} s left" if math.isfinite(left) else ""
        share = f" ({self.n / self.total:.0%})" if self.total else ""
        return (
            f"{self.title}: {self.n:,} of {self.total:,} {self.unit}{share}, {rate:,.0f} {self.unit}/s"
            f"{time_left}{self._postfix}"
        )


class Profiler:
    """Adds up the wall-clock seconds of named parts.

    Args:
        synchronize: Called at the end of each part: a GPU runs asynchronously, and waiting for it attributes its time
            to the right part, at some cost in speed.

    Attributes:
        seconds: The time of each part, in the order in which parts began.
        notes: Decisions made during the run, and why.

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
        """Add the time of the block to a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.synchronize()
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """The same items; the time to wait for each is added to a part."""
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


@contextmanager
def without_collections() -> Iterator[None]:
    """Pause garbage collection during imports: it takes a quarter of their time, and their objects stay anyway."""
    wanted = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if wanted:
            gc.enable()


def trim_heap() -> None:
    """Return free heap memory to the system, if the C library can.

    Batches differ in shape, so memory freed by one seldom fits the next, and the heap of a long run would grow for many
    minutes although no more of it is used.
    """
    _trimmer()()


@cache
def _trimmer() -> Callable[[], object]:
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            return lambda: trim(ctypes.c_size_t(0))
    return lambda: None
