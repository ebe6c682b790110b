"""Workers that read shards: in this process, or each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from wordstill.errors import Interrupted, UsageError, WordstillError, in_one_line
from wordstill.scale.ledger import Claim
from wordstill.scale.shared_folder import SharedFolder
from wordstill.scale.work import Piece, Reader, Work

PARENT_POLL_SECONDS = 1.0
MOST_STARTS = 3
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
"""Libraries look at these when they are loaded."""


@dataclass(frozen=True)
class Event:
    """Something that a worker said, or that happened to it."""

    worker: int
    words: int = 0
    """Words that were read since its last event."""
    part: str | None = None
    """A shard is read; this is its part."""
    failed: str | None = None
    """Why its attempt failed; the worker is there again."""


class Pool(ABC):
    """Workers, by number."""

    @abstractmethod
    def idle(self) -> list[int]:
        """Those that can be given a shard."""

    @abstractmethod
    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Let a worker read a shard and store its part."""

    @abstractmethod
    def poll(self, seconds: float) -> list[Event]:
        """What has happened, after at most so many seconds.

        Raises:
            WordstillError: No worker can work: its text, model or version is another one.
        """

    def close(self) -> None:  # noqa: B027
        """End all workers at once; nothing to do where there are none."""


class InlinePool(Pool):
    """One worker, in this process."""

    def __init__(self, reader: Reader, folder: SharedFolder) -> None:
        self.reader, self.folder = reader, folder
        self._given: tuple[Piece, Claim] | None = None

    def idle(self) -> list[int]:
        """The one, unless it has something to do."""
        return [0] if self._given is None else []

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Remember what is to be done."""
        self._given = shard, claim

    def poll(self, seconds: float) -> list[Event]:
        """Read the shard."""
        if self._given is None:
            threading.Event().wait(seconds)
            return []
        (shard, claim), self._given = self._given, None
        name = claim.new_part()
        try:
            part = self.reader.read(shard)
            self.folder.store(name, part.write)
        except Interrupted:
            raise
        except Exception as error:
            return [Event(0, failed=in_one_line(error))]
        return [Event(0, shard.words, part=name)]


@dataclass(eq=False)
class _Worker:
    process: Any
    connection: Connection[Any, Any]
    ready: bool = False
    busy: bool = False
    starts: int = 1


class ProcessPool(Pool):
    """Processes of this machine, each with its share of the cores or a GPU of its own.

    Args:
        work: What they do.
        size: How many.
        folder: Where parts go.
        cores: Cores in all; None takes those that this process may use.
    """

    def __init__(self, work: Work, size: int, folder: SharedFolder, cores: int | None = None) -> None:
        self.work, self.size, self.folder = work, size, folder
        self.cores = max(1, (cores or usable_cores()) // size)
        self._gpus = torch.cuda.device_count() if work.device in ("auto", "cuda") else 0
        self._context = multiprocessing.get_context("spawn")
        self._workers = {number: self._started(number) for number in range(size)}

    def idle(self) -> list[int]:
        """Those that have loaded everything and do nothing."""
        return [number for number, worker in self._workers.items() if worker.ready and not worker.busy]

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Send the shard."""
        self._workers[worker].busy = True
        with suppress(OSError):
            # A worker that has just died is noticed by `poll`.
            self._workers[worker].connection.send((shard, claim))

    def poll(self, seconds: float) -> list[Event]:
        """Wait for a message or a death."""
        ready = set(wait([worker.connection for worker in self._workers.values()], seconds))
        events: list[Event] = []
        for number, worker in list(self._workers.items()):
            if worker.connection in ready:
                events += self._heard(number, worker)
        return events

    def close(self) -> None:
        """Kill them: what they have not stored is read again."""
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
                else:
                    worker.busy = False
                    yield Event(number, part=value) if kind == "part" else Event(number, failed=value)
        except (EOFError, OSError):
            yield from self._died(number, worker)

    def _died(self, number: int, worker: _Worker) -> Iterator[Event]:
        worker.process.join()
        worker.connection.close()
        code = worker.process.exitcode
        reason = f"its process was killed by signal {-code}" if code < 0 else f"its process ended with code {code}"
        if not worker.ready and worker.starts >= MOST_STARTS:
            raise WordstillError(
                f"Worker {number} ended {MOST_STARTS} times before it could begin: {reason}. There may be too little "
                "memory for this many workers, since each loads the model."
            )
        self._workers[number] = self._started(number, starts=1 if worker.ready else worker.starts + 1)
        if worker.busy:
            yield Event(number, failed=reason)

    def _started(self, number: int, starts: int = 1) -> _Worker:
        mine, theirs = self._context.Pipe()
        work = self.work.on(f"cuda:{number % self._gpus}") if self._gpus else self.work
        process = self._context.Process(
            target=_serve, args=(work, theirs, self.folder, self.cores, os.getpid()), daemon=True
        )
        with _threads(self.cores):
            process.start()
        theirs.close()
        return _Worker(process, mine, starts=starts)


def open_pool(work: Work, folder: SharedFolder, workers: int | None, ray: str | None) -> Pool:
    """Processes of this machine, or actors of a Ray cluster."""
    if ray is None:
        return ProcessPool(work, workers or 1, folder)
    from wordstill.scale.cluster import ClusterPool

    return ClusterPool(work, ray, folder, workers)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def refuse_too_many(workers: int, cores: int) -> None:
    """Refuse more workers than there are cores: they would only wait for each other."""
    if not torch.cuda.is_available() and workers > cores:
        raise UsageError(f"--workers {workers} is more than this machine has cores ({cores}). Use {cores} or fewer.")


@contextmanager
def _threads(cores: int) -> Iterator[None]:
    """Environment for a process that is started inside the block."""
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
    """Sends messages to the driver; the number of words now and then, not for every batch."""

    connection: Connection[Any, Any]
    words: int = 0
    batches: int = field(default=0)

    def report(self, words: int) -> None:
        """Words of a batch were read."""
        self.words, self.batches = self.words + words, self.batches + 1
        if self.batches % 8 == 0:
            self.flush()

    def flush(self) -> None:
        """Send what has not been sent."""
        self.connection.send(("words", self.words))
        self.words = 0


def _serve(work: Work, connection: Connection[Any, Any], folder: SharedFolder, cores: int, parent: int) -> None:
    """The life of a worker: load everything, then read one shard after another."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        reader = work.open(cores)
    except Exception as error:
        connection.send(("refused", error if isinstance(error, WordstillError) else in_one_line(error)))
        return
    connection.send(("ready", None))
    sender = _Sender(connection)
    while True:
        try:
            shard, claim = connection.recv()
        except (EOFError, OSError):
            return
        name = claim.new_part()
        try:
            part = reader.read(shard, sender.report)
            sender.flush()
            folder.store(name, part.write)
        except Exception as error:
            connection.send(("failed", in_one_line(error)))
        else:
            connection.send(("part", name))


def _end_with(parent: int) -> None:
    """End this process when the driver was killed: nobody would take what it makes."""
    while os.getppid() == parent:
        threading.Event().wait(PARENT_POLL_SECONDS)
    os._exit(1)
