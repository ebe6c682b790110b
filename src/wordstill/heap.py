"""Gives memory that is free, but held by the C library, back to the system."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


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
