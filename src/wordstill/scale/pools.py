"""Pools of workers that read shards: in this process, or in separate processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from typing import Any

import torch

from wordstill.errors import Interrupted, UsageError, WordstillError, in_one_line
from wordstill.scale.ledger import Claim
from wordstill.scale.shared_folder import SharedFolder
from wordstill.scale.work import Made, Piece, Reader, Work
from wordstill.teacher.teacher import MOST_READERS

PARENT_POLL_SECONDS = 1.0
MOST_STARTS = 3
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
"""Environment variables that libraries read when they are loaded."""


@dataclass(frozen=True)
class Event:
    """A message from a worker, or its death."""

    worker: int
    words: int = 0
    """Words read since the last event."""
    claim: Claim | None = None
    """A finished attempt; without a part or an error, the attempt was not at fault."""
    part: str | None = None
    """Name of its stored part."""
    failed: str | None = None
    """Why it failed, if it did."""


class Storing:
    """A thread that stores the result of one piece while the next is read. Memory: one additional result.

    Args:
        folder: Where parts are stored.
        tell: Called by the thread with the name of a stored part, or the reason if storing failed.
    """

    def __init__(self, folder: SharedFolder, tell: Callable[[Claim, str | None, str | None], None]) -> None:
        self.folder, self.tell = folder, tell
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def put(self, claim: Claim, made: Callable[[], Made]) -> None:
        """Store the result of a call, after all earlier ones."""
        self._last = self._thread.submit(self._store, claim, made)

    def wait(self) -> None:
        """Wait until everything is stored."""
        if self._last is not None:
            self._last.result()

    def _store(self, claim: Claim, made: Callable[[], Made]) -> None:
        name = claim.new_part()
        try:
            self.folder.store(name, made().write)
        except Exception as error:
            self.tell(claim, None, in_one_line(error))
        else:
            self.tell(claim, name, None)


class Pool(ABC):
    """A pool of numbered workers."""

    @abstractmethod
    def idle(self) -> list[int]:
        """Workers that can start a shard."""

    @abstractmethod
    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Start a shard on a worker, which may become idle before its part is stored."""

    @abstractmethod
    def poll(self, seconds: float) -> list[Event]:
        """Wait for events, at most this many seconds.

        Raises:
            WordstillError: No worker can work, because its text, model or version differs.
        """

    def close(self) -> None:  # noqa: B027
        """End all workers immediately."""


class InlinePool(Pool):
    """One worker, in this process."""

    def __init__(self, reader: Reader, folder: SharedFolder) -> None:
        self.reader = reader
        self._given: tuple[Piece, Claim] | None = None
        self._ended: SimpleQueue[Event] = SimpleQueue()
        self._storing = Storing(folder, lambda *end: self._ended.put(Event(0, 0, *end)))

    def idle(self) -> list[int]:
        """The worker, unless it has a shard."""
        return [0] if self._given is None else []

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Remember the shard, which is read by `poll`."""
        self._given = shard, claim

    def poll(self, seconds: float) -> list[Event]:
        """Read the shard."""
        if self._given is None:
            return taken(self._ended, seconds)
        (shard, claim), self._given = self._given, None
        try:
            part = self.reader.read(shard)
        except Interrupted:
            raise
        except Exception as error:
            return [*taken(self._ended), Event(0, claim=claim, failed=in_one_line(error))]
        self._storing.wait()
        self._storing.put(claim, lambda: part)
        return [*taken(self._ended), Event(0, shard.words)]

    def close(self) -> None:
        """Finish storing."""
        self._storing.wait()


def taken(events: SimpleQueue[Event], seconds: float = 0.0) -> list[Event]:
    """All events of a queue, waiting at most this long for the first."""
    found: list[Event] = []
    with suppress(Empty):
        found.append(events.get(timeout=seconds) if seconds else events.get_nowait())
        while True:
            found.append(events.get_nowait())
    return found


@dataclass(eq=False)
class _Worker:
    process: Any
    connection: Connection[Any, Any]
    ready: bool = False
    reading: Claim | None = None
    storing: set[Claim] = field(default_factory=set)
    starts: int = 1


class ProcessPool(Pool):
    """Processes on this machine, each with a share of the cores or its own GPU.

    Args:
        work: The work.
        size: Number of processes.
        folder: Where parts are stored.
        cores: Total number of cores; None means all that this process may use.
    """

    def __init__(self, work: Work, size: int, folder: SharedFolder, cores: int | None = None) -> None:
        self.work, self.size, self.folder = work, size, folder
        self.cores = max(1, (cores or usable_cores()) // size)
        self._gpus = torch.cuda.device_count() if work.device in ("auto", "cuda") else 0
        self._context = multiprocessing.get_context("spawn")
        self._workers = {number: self._started(number) for number in range(size)}

    def idle(self) -> list[int]:
        """Workers that have loaded everything and have no shard."""
        return [number for number, worker in self._workers.items() if worker.ready and worker.reading is None]

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Send the shard."""
        self._workers[worker].reading = claim
        with suppress(OSError):
            # If the worker has just died, `poll` notices.
            self._workers[worker].connection.send((shard, claim))

    def poll(self, seconds: float) -> list[Event]:
        """Wait for a message or the death of a worker."""
        ready = set(wait([worker.connection for worker in self._workers.values()], seconds))
        events: list[Event] = []
        for number, worker in list(self._workers.items()):
            if worker.connection in ready:
                events += self._heard(number, worker)
        return events

    def close(self) -> None:
        """Kill all workers; shards that are not stored will be read again."""
        for worker in self._workers.values():
            worker.process.kill()
        for worker in self._workers.values():
            worker.process.join()
            worker.connection.close()

    def _heard(self, number: int, worker: _Worker) -> Iterator[Event]:
        try:
            while worker.connection.poll():
                kind, value = worker.connection.recv()
                if kind == "refused":
                    raise value if isinstance(value, WordstillError) else WordstillError(str(value))
                if kind == "ready":
                    worker.ready, worker.starts = True, 1
                elif kind == "words":
                    yield Event(number, words=value)
                elif kind == "read" and worker.reading == value:
                    worker.storing.add(value)
                    worker.reading = None
                elif kind == "over":
                    # A part may be stored before the message that its shard was read.
                    worker.storing.discard(value[0])
                    worker.reading = None if worker.reading == value[0] else worker.reading
                    yield Event(number, 0, *value)
        except (EOFError, OSError):
            yield from self._died(number, worker)

    def _died(self, number: int, worker: _Worker) -> Iterator[Event]:
        worker.process.join()
        worker.connection.close()
        code = worker.process.exitcode
        reason = f"its process was killed by signal {-code}" if code < 0 else f"its process ended with code {code}"
        if not worker.ready and worker.starts >= MOST_STARTS:
            raise WordstillError(
                f"Worker {number} failed {MOST_STARTS} times before it was ready: {reason}. There may be too little "
                "memory for so many workers, because each loads the model. Use fewer."
            )
        starts = 1 if worker.ready else worker.starts + 1
        # In case memory was short, the next worker uses less.
        self._workers[number] = self._started(number, starts, beside=False)
        for claim in worker.storing:
            yield Event(number, claim=claim, failed=None if worker.reading else reason)
        if worker.reading is not None:
            yield Event(number, claim=worker.reading, failed=reason)

    def _started(self, number: int, starts: int = 1, *, beside: bool = True) -> _Worker:
        mine, theirs = self._context.Pipe()
        work = self.work.on(f"cuda:{number % self._gpus}") if self._gpus else self.work
        process = self._context.Process(
            target=_serve, args=(work, theirs, self.folder, self.cores, os.getpid(), beside), daemon=True
        )
        with _threads(self.cores):
            process.start()
        theirs.close()
        return _Worker(process, mine, starts=starts)


def on_cluster(address: str | None) -> AbstractContextManager[Any]:
    """Connect to a Ray cluster, if one is used, before anything is loaded."""
    if address is None:
        return nullcontext()
    from wordstill.scale.cluster import connected

    return connected(address)


def open_pool(work: Work, folder: SharedFolder, workers: int | None, ray: str | None) -> Pool:
    """Open a pool of processes on this machine, or of actors on a Ray cluster."""
    if ray is None:
        return ProcessPool(work, workers or 1, folder)
    from wordstill.scale.cluster import ClusterPool

    return ClusterPool(work, ray, folder, workers)


def usable_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slowdown(workers: int, *, ray: bool, on_gpu: bool) -> float:
    """How much slower a worker is than a single process, because it has fewer cores or part of a GPU."""
    if on_gpu:
        return 1.0 if ray else max(1.0, workers / max(1, torch.cuda.device_count()))
    cores = 1 if ray else max(1, usable_cores() // workers)
    return min(usable_cores(), MOST_READERS) / min(cores, MOST_READERS)


def refuse_too_many(workers: int, cores: int) -> None:
    """Refuse more workers than cores, which would only wait for each other."""
    if not torch.cuda.is_available() and workers > cores:
        raise UsageError(f"--workers {workers} is more than this machine has cores ({cores}). Use {cores} or fewer.")


@contextmanager
def _threads(cores: int) -> Iterator[None]:
    """Set environment variables for processes started inside the block."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, str(cores)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@dataclass(eq=False)
class _Sender:
    """Sends messages to the driver; numbers of words are sent at intervals, not for every batch."""

    connection: Connection[Any, Any]
    words: int = 0
    batches: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, kind: str, value: Any = None) -> None:
        """Send a message; used by two threads."""
        with self._lock:
            self.connection.send((kind, value))

    def report(self, words: int) -> None:
        """Report the words of a batch."""
        self.words, self.batches = self.words + words, self.batches + 1
        if self.batches % 8 == 0:
            self.flush()

    def flush(self) -> None:
        """Send the words that have not been sent."""
        self.send("words", self.words)
        self.words = 0


def _serve(
    work: Work, connection: Connection[Any, Any], folder: SharedFolder, cores: int, parent: int, beside: bool
) -> None:
    """The main loop of a worker: load everything, then read shards, storing each while reading the next."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        reader = work.open(cores)
    except Exception as error:
        connection.send(("refused", error if isinstance(error, WordstillError) else in_one_line(error)))
        return
    sender = _Sender(connection)
    storing = Storing(folder, lambda *end: sender.send("over", end))
    sender.send("ready")
    while True:
        try:
            shard, claim = connection.recv()
        except (EOFError, OSError):
            return
        _read(reader, shard, claim, sender, storing, beside)


def _read(reader: Reader, shard: Piece, claim: Claim, sender: _Sender, storing: Storing, beside: bool) -> None:
    try:
        part = reader.read(shard, sender.report)
        sender.flush()
    except Exception as error:
        sender.send("over", (claim, None, in_one_line(error)))
        return
    # The previous part is stored and freed before this one is kept.
    storing.wait()
    storing.put(claim, lambda: part)
    if not beside:
        storing.wait()
    sender.send("read", claim)


def _end_with(parent: int) -> None:
    """End this process if the driver was killed, since nobody would use its results."""
    while os.getppid() == parent:
        threading.Event().wait(PARENT_POLL_SECONDS)
    os._exit(1)
