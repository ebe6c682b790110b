"""A pool that is timed, and the peak memory of the process that drives it."""

from __future__ import annotations

import gc
import resource
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wordstill.core.progress import trim_heap
from wordstill.errors import WordstillError
from wordstill.scale.ledger import Claim
from wordstill.scale.partition import Shard
from wordstill.scale.pools import Event, Pool
from wordstill.scale.work import Piece

STEADY = 0.1
"""Share of the words at either end that the steady speed leaves out."""
WARM_UP = 1 << 20
"""First shard number of the claims for warming up."""
START_SECONDS = 120.0


class Clock:
    """How many words had been read at which time."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start at zero."""
        self.begun, self.times, self.words = time.perf_counter(), [0.0], [0]

    def add(self, words: int) -> None:
        """Count words that were read."""
        self.times.append(self.seconds())
        self.words.append(self.words[-1] + words)

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.begun

    def steady(self) -> float:
        """Words per second between the first and the last tenth."""
        total = self.words[-1]
        start, end = np.interp([STEADY * total, (1 - STEADY) * total], self.words, self.times)
        return float((1 - 2 * STEADY) * total / (end - start))


@dataclass(eq=False)
class WatchedPool(Pool):
    """A pool, and the time at which its last part was stored."""

    pool: Pool
    clock: Clock
    last: float = 0.0
    _begun: float = field(default_factory=time.perf_counter)

    def idle(self) -> list[int]:
        """Idle workers of the pool."""
        return self.pool.idle()

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Start a worker of the pool."""
        self.pool.start(worker, shard, claim)

    def poll(self, seconds: float) -> list[Event]:
        """Events of the pool, whose words and times are recorded; a failed shard ends the benchmark."""
        events = self.pool.poll(seconds)
        if failed := [event.failed for event in events if event.failed]:
            raise WordstillError(failed[0])
        if words := sum(event.words for event in events):
            self.clock.add(words)
        if any(event.part for event in events):
            self.last = time.perf_counter()
        return events

    def close(self) -> None:
        """End the workers."""
        self.pool.close()

    def wait_for(self, workers: int) -> float:
        """Wait until so many workers are ready; returns the seconds since the pool was opened."""
        while len(self.idle()) < workers:
            self.poll(0.1)
            if time.perf_counter() - self._begun > START_SECONDS:
                raise WordstillError(f"{len(self.idle())} of {workers} workers after {START_SECONDS:.0f} s")
        return time.perf_counter() - self._begun

    def warm_up(self, little: Shard) -> None:
        """Let each worker read a short shard, whose part is not counted."""
        waiting = self.idle()
        for worker in self.idle():
            self.start(worker, little, Claim(WARM_UP + worker, 1))
        while waiting:
            waiting = waiting[sum(event.part is not None for event in self.poll(0.1)) :]


def forget_peak() -> None:
    """Reset the peak memory of this process, where the system can (Linux)."""
    gc.collect()
    trim_heap()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_gb() -> float:
    """Peak memory of this process, in gigabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return (peaks or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] * 1024 / 1e9
