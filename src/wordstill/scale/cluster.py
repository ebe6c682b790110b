"""Work on a Ray cluster: actors with a GPU or a core read shards, tasks prepare text. Only this module knows Ray."""

from __future__ import annotations

import socket
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from wordstill import __version__
from wordstill.core.files import write_file
from wordstill.corpus.paragraphs import Block
from wordstill.corpus.preparation import MadeShards, ShardRunner
from wordstill.corpus.shards import Shard as TextShard
from wordstill.corpus.shards import ShardMaker, Tally
from wordstill.errors import MissingExtra, UsageError, WordstillError, in_one_line
from wordstill.scale.ledger import Claim
from wordstill.scale.pools import MOST_STARTS, Event, Pool, Storing, taken
from wordstill.scale.shared_folder import SharedFolder
from wordstill.scale.work import Made, Piece, Work, refuse_version

GROW_SECONDS = 15.0
CONNECT_SECONDS = 5.0
MOST_WAITING = 2
"""Parts of an actor that are not stored yet; with more it waits."""
WAIT_SECONDS = 30.0
"""After which a run that has no actor says so."""


@dataclass(eq=False)
class _Actor:
    handle: Any
    pending: Any
    """What is waited for: that it is ready, or that a shard is read."""
    part: Any = None
    """What will come of the shard."""
    claim: Claim | None = None
    storing: set[Claim] = field(default_factory=set)
    ready: bool = False
    size: int = 0
    """Words of its shard, and"""
    words: int = 0
    """those that the progress bar has already."""


class ClusterPool(Pool):
    """Actors of a Ray cluster; those of nodes that die are replaced, and nodes that come later get theirs.

    Parts travel through Ray, so nodes need not share the folder of the run, but each must find the prepared text under
    the same path, and have the same version of wordstill.

    Args:
        work: What they do.
        address: Of the cluster, or ``auto``.
        folder: Where parts go.
        size: Actors; None takes one for each GPU, or for each core where there is none. More than there are GPUs
            share them.
    """

    def __init__(self, work: Work, address: str, folder: SharedFolder, size: int | None = None) -> None:
        self._connection = ExitStack()
        self.ray = self._connection.enter_context(connected(address))
        self.work, self.size = work, size
        self._ended: SimpleQueue[Event] = SimpleQueue()
        self._storing = Storing(folder, lambda *end: self._ended.put(Event(-1, 0, *end)))
        gpus = int(self.ray.cluster_resources().get("GPU", 0))
        self._gpu = work.device != "cpu" and gpus >= 1
        self._share = share_of_gpu(gpus, size) if self._gpu else 1.0
        self._actors: dict[int, _Actor] = {}
        self._next = self._lost = 0
        self._grown = -GROW_SECONDS
        self._started: float | None = time.monotonic()
        self._tally = self.ray.remote(_Tally).options(num_cpus=0).remote()
        self._words = self._tally.take.remote()
        self._grow()

    def idle(self) -> list[int]:
        """Those that have loaded everything and do nothing."""
        return [
            number
            for number, actor in self._actors.items()
            if actor.ready and actor.claim is None and len(actor.storing) < MOST_WAITING
        ]

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Let an actor read a shard."""
        actor = self._actors[worker]
        actor.claim, actor.size, actor.words = claim, shard.words, 0
        actor.pending, actor.part = actor.handle.read.options(num_returns=2).remote(shard, self._tally, worker)

    def poll(self, seconds: float) -> list[Event]:
        """Wait until an actor has something, or is lost."""
        self._grow()
        self._warn_if_none_starts()
        events = self._read_so_far() + self._stored()
        waiting = {actor.pending: number for number, actor in self._actors.items() if actor.pending is not None}
        if not waiting:
            time.sleep(seconds)
            return events
        done, _ = self.ray.wait(list(waiting), num_returns=1, timeout=seconds)
        return events + [event for reference in done for event in self._heard(waiting[reference], reference)]

    def close(self) -> None:
        """Kill the actors; the cluster stays."""
        for handle in (self._tally, *(actor.handle for actor in self._actors.values())):
            self.ray.kill(handle)
        self._connection.close()

    def _stored(self) -> list[Event]:
        events = taken(self._ended)
        for event, actor in ((event, actor) for event in events for actor in self._actors.values()):
            actor.storing.discard(event.claim)
        return events

    def _read_so_far(self) -> list[Event]:
        """Words that were read since the last look; a tally that is lost with its node costs progress only."""
        if not self.ray.wait([self._words], timeout=0)[0]:
            return []
        try:
            read = self.ray.get(self._words)
        except self.ray.exceptions.RayError:
            return []
        self._words = self._tally.take.remote()
        events = []
        for number, words in read.items():
            # What comes after the end of a shard was counted there.
            if (actor := self._actors.get(number)) is not None and actor.claim is not None:
                actor.words += words
                events.append(Event(number, words))
        return events

    def _warn_if_none_starts(self) -> None:
        if self._started is None or time.monotonic() - self._started < WAIT_SECONDS:
            return
        self._started = None
        if not any(actor.ready for actor in self._actors.values()):
            kind = "GPU" if self._gpu else "CPU"
            free, total = (
                int(resources.get(kind, 0))
                for resources in (self.ray.available_resources(), self.ray.cluster_resources())
            )
            warnings.warn(
                f"No worker is ready after {WAIT_SECONDS:.0f} s: {free} of {total} {kind}s of the Ray cluster are "
                "free. The run continues when workers have started; see them with: ray status",
                stacklevel=2,
            )

    def _heard(self, number: int, reference: Any) -> list[Event]:
        actor = self._actors[number]
        claim, actor.pending = actor.claim, None
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            # The actor's own code failed, and the actor lives.
            cause = error.cause if isinstance(error.cause, Exception) else error
            actor.claim = actor.part = None
            return [] if claim is None else [Event(number, claim=claim, failed=in_one_line(cause))]
        except self.ray.exceptions.RayError as error:
            return self._replace(number, error, claim)
        if claim is None:
            actor.ready, self._lost = True, 0
            return []
        part, actor.claim, actor.part = actor.part, None, None
        actor.storing.add(claim)
        self._storing.put(claim, lambda: self.ray.get(part))
        return [Event(number, max(0, actor.size - actor.words))]

    def _replace(self, number: int, error: Exception, claim: Claim | None) -> list[Event]:
        actor = self._actors.pop(number)
        cause = getattr(error, "cause", None)
        if not actor.ready and isinstance(cause, WordstillError):
            raise cause
        # One that could only not be reached must not come back: its shard is given to another.
        self.ray.kill(actor.handle)
        if not actor.ready:
            self._lost += 1
            if self._lost >= MOST_STARTS:
                raise WordstillError(f"Ray workers stop before they can start: {in_one_line(error)}")
        self._grown = -GROW_SECONDS
        return [] if claim is None else [Event(number, claim=claim, failed=in_one_line(error))]

    def _grow(self) -> None:
        """Start as many actors as are wanted, or as the cluster has room for."""
        if time.monotonic() - self._grown < GROW_SECONDS:
            return
        self._grown = time.monotonic()
        kind = "GPU" if self._gpu else "CPU"
        room = int(self.ray.available_resources().get(kind, 0) / self._share)
        wanted = room if self.size is None else min(room, self.size - len(self._actors))
        if self.size is not None and not self._actors:
            # They wait for nodes that are still to come.
            wanted = self.size
        share = {"num_gpus": self._share} if self._gpu else {"num_cpus": 1}
        remote = self.ray.remote(_Reader)
        for _ in range(max(0, wanted)):
            options = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD", **share}
            handle = remote.options(**options).remote(self.work)
            self._actors[self._next] = _Actor(handle, handle.ready.remote())
            self._next += 1


def share_of_gpu(gpus: int, workers: int | None) -> float:
    """What a worker takes of a GPU: all of it, or an equal part where there are more workers than GPUs."""
    return 1 / max(1, -(-(workers or 1) // gpus))


class _Tally:
    """Words that readers have read, by their number: a shard may take minutes, and the user wants to see something."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {}

    def add(self, reader: int, words: int) -> None:
        """A reader has read a batch."""
        self.words[reader] = self.words.get(reader, 0) + words

    def take(self) -> dict[int, int]:
        """What was added since the last time."""
        words, self.words = self.words, {}
        return words


class _Reader:
    """What an actor does; a plain class, so that it can be imported without Ray."""

    def __init__(self, work: Work) -> None:
        self.reader = work.open(cores=1)

    def ready(self) -> bool:
        """Answers when everything is loaded."""
        return True

    def read(self, shard: Piece, tally: Any, number: int) -> tuple[bool, Made]:
        """What came of a shard, after an object that says so and is not large."""
        return True, self.reader.read(shard, lambda words: tally.add.remote(number, words))


def shards_on_cluster(address: str, size: int | None = None) -> ShardRunner:
    """What `prepare` takes as ``run``: its blocks are worked on by tasks of a Ray cluster.

    Blocks and what is made of them travel through Ray, so nodes need not share a folder. A task whose node dies is done
    again elsewhere. The merge of all shards stays on this machine.

    Args:
        address: Of the cluster, or ``auto``.
        size: Tasks at a time; None takes one for each core of the cluster.
    """
    _ray()

    def run(make: ShardMaker, blocks: Iterable[Block]) -> MadeShards:
        under_way: dict[Any, Block] = {}
        with connected(address) as ray:
            try:
                task = ray.remote(num_cpus=1, max_retries=MOST_STARTS)(make_shard)
                limit = size or int(ray.cluster_resources().get("CPU", 1))
                shared = ray.put(make)
                for block in blocks:
                    under_way[task.remote(shared, block, __version__)] = block
                    if len(under_way) >= limit:
                        yield from _stored(ray, under_way, make.folder)
                while under_way:
                    yield from _stored(ray, under_way, make.folder)
            finally:
                for reference in under_way:
                    ray.cancel(reference, force=True)

    return run


def _stored(ray: Any, under_way: dict[Any, Block], folder: Path) -> MadeShards:
    """Wait for a task, and write the files that it has made, the record last."""
    (done, *_), _ = ray.wait(list(under_way), num_returns=1)
    block = under_way.pop(done)
    try:
        tally, files = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, WordstillError):
            raise error.cause from None
        raise
    shard = TextShard(folder, block.index)
    shard.record.unlink(missing_ok=True)
    for path in (shard.forms, shard.arrays, shard.record):
        write_file(path, files[path.name])
    yield block, tally


def make_shard(make: ShardMaker, block: Block, version: str) -> tuple[Tally, dict[str, bytes]]:
    """A task: the files of a block's shard."""
    refuse_version(version)
    with TemporaryDirectory(prefix="wordstill-") as folder:
        make = copy(make)
        make.folder = Path(folder)
        tally = make(block)
        return tally, {path.name: path.read_bytes() for path in make.folder.iterdir()}


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster inside the block; a connection that was there before stays.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: There is no cluster.
    """
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    _connect(ray, address)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    host, colon, port = address.rpartition(":")
    answers = False
    try:
        if colon and port.isdigit() and "/" not in host:
            # Ray itself would wait for minutes.
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            answers = True
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        reason = in_one_line(error)
        if address == "auto" and isinstance(error, ConnectionError):
            raise UsageError(
                "--ray auto found no Ray cluster on this machine. Start one with: ray start --head, or give the "
                "address of another machine's."
            ) from error
        if answers:
            raise UsageError(
                f"{address} answers, but Ray cannot connect to it ({reason}). Ray on both machines must be of the same "
                "version, and a cluster that asks for a token needs it in the environment of this command; on a "
                "machine of the cluster try --ray auto."
            ) from error
        raise UsageError(
            f"There is no Ray cluster at {address!r} ({reason}). Start one with: ray start --head"
        ) from error


def _ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise MissingExtra("ray", "scale", "--ray") from None
    return ray
