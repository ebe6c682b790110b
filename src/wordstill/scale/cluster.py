"""Ray clusters: actors with a GPU or a core read shards, tasks prepare text. Only this module imports Ray."""

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
"""Maximum number of an actor's parts waiting to be stored; with as many, it gets no new shard."""
WAIT_SECONDS = 30.0
"""Seconds without a ready actor before a warning."""


@dataclass(eq=False)
class _Actor:
    handle: Any
    pending: Any
    """Ray reference that resolves when the actor is ready, or has read its shard."""
    part: Any = None
    """Ray reference of the part of the shard."""
    claim: Claim | None = None
    storing: set[Claim] = field(default_factory=set)
    ready: bool = False
    size: int = 0
    """Number of words in its shard."""
    words: int = 0
    """Words of the shard already reported."""


class ClusterPool(Pool):
    """A pool of actors on a Ray cluster. Actors on nodes that die are replaced, and nodes that join later get actors.

    Parts are sent through Ray, so nodes need not share the folder of the run. Every node needs the prepared text at the
    same path, and the same version of wordstill.

    Args:
        work: The work.
        address: Address of the cluster, or ``auto``.
        folder: Where parts are stored.
        size: Number of actors; None means one per GPU, or one per core if there are no GPUs. If there are more actors
            than GPUs, they share them.
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
        """Actors that have loaded everything and have no shard."""
        return [
            number
            for number, actor in self._actors.items()
            if actor.ready and actor.claim is None and len(actor.storing) < MOST_WAITING
        ]

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Start a shard on an actor."""
        actor = self._actors[worker]
        actor.claim, actor.size, actor.words = claim, shard.words, 0
        actor.pending, actor.part = actor.handle.read.options(num_returns=2).remote(shard, self._tally, worker)

    def poll(self, seconds: float) -> list[Event]:
        """Wait for a message from an actor, or its loss."""
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
        """Kill the actors and disconnect; the cluster keeps running."""
        for handle in (self._tally, *(actor.handle for actor in self._actors.values())):
            self.ray.kill(handle)
        self._connection.close()

    def _stored(self) -> list[Event]:
        events = taken(self._ended)
        for event, actor in ((event, actor) for event in events for actor in self._actors.values()):
            actor.storing.discard(event.claim)
        return events

    def _read_so_far(self) -> list[Event]:
        """Words read since the last call; if the tally is lost with its node, only the progress bar suffers."""
        if not self.ray.wait([self._words], timeout=0)[0]:
            return []
        try:
            read = self.ray.get(self._words)
        except self.ray.exceptions.RayError:
            return []
        self._words = self._tally.take.remote()
        events = []
        for number, words in read.items():
            # Words that arrive after the end of a shard were counted there.
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
            # The actor's own code failed, but the actor is alive.
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
        # An actor that was only unreachable must not come back, because another one gets its shard.
        self.ray.kill(actor.handle)
        if not actor.ready:
            self._lost += 1
            if self._lost >= MOST_STARTS:
                raise WordstillError(f"Ray workers fail before they are ready: {in_one_line(error)}")
        self._grown = -GROW_SECONDS
        return [] if claim is None else [Event(number, claim=claim, failed=in_one_line(error))]

    def _grow(self) -> None:
        """Start the missing actors, as far as the cluster has room."""
        if time.monotonic() - self._grown < GROW_SECONDS:
            return
        self._grown = time.monotonic()
        kind = "GPU" if self._gpu else "CPU"
        room = int(self.ray.available_resources().get(kind, 0) / self._share)
        wanted = room if self.size is None else min(room, self.size - len(self._actors))
        if self.size is not None and not self._actors:
            # Actors without room wait for nodes that join later.
            wanted = self.size
        share = {"num_gpus": self._share} if self._gpu else {"num_cpus": 1}
        remote = self.ray.remote(_Reader)
        for _ in range(max(0, wanted)):
            options = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD", **share}
            handle = remote.options(**options).remote(self.work)
            self._actors[self._next] = _Actor(handle, handle.ready.remote())
            self._next += 1


def share_of_gpu(gpus: int, workers: int | None) -> float:
    """Each worker's share of a GPU: a whole one, or an equal part if there are more workers than GPUs."""
    return 1 / max(1, -(-(workers or 1) // gpus))


class _Tally:
    """Words read so far, by the number of the reader, for progress within a shard, which may take minutes."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {}

    def add(self, reader: int, words: int) -> None:
        """Count the words of a batch."""
        self.words[reader] = self.words.get(reader, 0) + words

    def take(self) -> dict[int, int]:
        """Return the words added since the last call."""
        words, self.words = self.words, {}
        return words


class _Reader:
    """The class of the actors, without a decorator so that it can be imported without Ray."""

    def __init__(self, work: Work) -> None:
        self.reader = work.open(cores=1)

    def ready(self) -> bool:
        """Return once everything is loaded."""
        return True

    def read(self, shard: Piece, tally: Any, number: int) -> tuple[bool, Made]:
        """The part of a shard, after a small object that tells the driver that it is there."""
        return True, self.reader.read(shard, lambda words: tally.add.remote(number, words))


def shards_on_cluster(address: str, size: int | None = None) -> ShardRunner:
    """The ``run`` argument of `prepare` that processes blocks in tasks on a Ray cluster.

    Blocks and their results are sent through Ray, so nodes need not share a folder. A task whose node dies is repeated
    on another node. All shards are merged on this machine.

    Args:
        address: Address of the cluster, or ``auto``.
        size: Number of concurrent tasks; None means one per core of the cluster.
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
    """Wait for a task, and write its files, the record last."""
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
    """The function of a task: make the files of a block's shard."""
    refuse_version(version)
    with TemporaryDirectory(prefix="wordstill-") as folder:
        make = copy(make)
        make.folder = Path(folder)
        tally = make(block)
        return tally, {path.name: path.read_bytes() for path in make.folder.iterdir()}


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect Ray to a cluster for the block; an existing connection is reused and kept.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: No cluster answers at the address.
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
            # Ray itself would try for minutes.
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            answers = True
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        reason = in_one_line(error)
        if address == "auto" and isinstance(error, ConnectionError):
            raise UsageError(
                "--ray auto found no Ray cluster on this machine. Start one with: ray start --head, or give "
                "the address of a cluster, HOST:PORT."
            ) from error
        if answers:
            raise UsageError(
                f"{address} answers, but Ray cannot connect to it ({reason}). Both machines need the same version "
                "of Ray, and if the cluster requires a token, this command needs it in its environment. On a machine "
                "of the cluster, use --ray auto."
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
