"""Work in parts, one for each of the threads that torch would take."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import torch

LEAST_STEPS = 4
"""A thread is not woken for less."""


def share(count: int, step: int, work: Callable[[slice], None]) -> None:
    """Do some work, in parts at the same time where the calling thread may use several cores.

    Args:
        count: How much there is of it.
        step: Parts begin at multiples of this.
        work: Does a part, without Python's lock.
    """
    steps = -(-count // step)
    parts = min(torch.get_num_threads(), steps // LEAST_STEPS)
    if parts <= 1:
        work(slice(0, count))
        return
    bounds = [min(count, part * steps // parts * step) for part in range(parts + 1)]
    others = [_pool().submit(work, slice(first, last)) for first, last in pairwise(bounds[1:])]
    work(slice(*bounds[:2]))
    for other in others:
        other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="wordstill-tiles")


# A child has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)
