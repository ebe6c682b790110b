"""The driver: assigns shards to workers, commits their parts, and adds them up."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from wordstill.core.progress import count_bar
from wordstill.core.resume import stop_requested
from wordstill.core.threads import OrderedPool
from wordstill.distillation.plan import Plan
from wordstill.errors import DataError, Interrupted, in_one_line
from wordstill.methods.base import Observer
from wordstill.scale.ledger import MOST_FAILURES, Claim, Ledger
from wordstill.scale.part_files import Part
from wordstill.scale.partition import Shard
from wordstill.scale.pools import Event, Pool
from wordstill.scale.work import Gathering, Piece

Total = TypeVar("Total", bound=Gathering)
POLL_SECONDS = 0.2
TOTALS = "totals"
CHECKERS = 3
"""Threads that verify the checksums of the next parts, which takes twice as long as adding one."""
PARTS_PER_SAVE = 4
"""Totals are saved, and their parts deleted, when the parts are this many times as large."""


class Totals:
    """The sums of the methods over all shards from the first one up to the first unfinished one.

    Parts are added in the order of the plan, on a grid, in float64, so the result has the same bits for any number and
    assignment of workers. Memory: two copies of the methods' sums, one in float64.
    """

    def __init__(self, plan: Plan, shards: list[Shard], ledger: Ledger, cache: Path) -> None:
        self.plan, self.shards, self.ledger, self.cache = plan, shards, ledger, cache
        self.methods = plan.build(torch.device("cpu"))
        self.next = self.cut = self._bytes = 0
        for method in self.methods.values():
            method.widen()
        self._incoming = plan.build(torch.device("cpu"))
        self._restore()

    @property
    def complete(self) -> bool:
        """Whether every shard is included."""
        return self.next == len(self.shards)

    def fold(self) -> None:
        """Add the finished parts that come next in the plan; damaged ones are reopened."""
        there = list(takewhile(self.ledger.done.__contains__, range(self.next, len(self.shards))))
        with closing(OrderedPool(self._checked, CHECKERS).map(there)) as parts:
            for part, size, damage in parts:
                if damage or (damage := self._added(part)):
                    self.ledger.reopen(self.next, damage)
                    return
                self._bytes += size
                self.next += 1
                self._save_if_worth()

    def _checked(self, shard: int) -> tuple[Part | None, int, str]:
        """A part, its size, and what is wrong with it, if anything; None for a shard that is left out."""
        if self.ledger.done[shard] is None:
            return None, 0, ""
        path = self.ledger.part(shard, self.cache)
        try:
            return Part.read(path)[0], path.stat().st_size, ""
        except (DataError, OSError) as error:
            return None, 0, in_one_line(error)

    def _added(self, part: Part | None) -> str:
        """Add a part; returns what is wrong with it, if anything."""
        if part is None:
            return ""
        try:
            part.load_into(self._incoming)
        except DataError as error:
            return in_one_line(error)
        for label, method in self.methods.items():
            method.merge(self._incoming[label])
        self.cut += part.cut
        return ""

    def finished(self) -> dict[str, Observer]:
        """The methods in float32 on the teacher's device, as `Plan.finish` expects them."""
        for method in self.methods.values():
            method.narrow()
        if self.plan.engine.teacher.device.type != "cpu":
            Part.of(self.methods).load_into(self.plan.engine.methods)
            self.methods = dict(self.plan.engine.methods)
        return self.methods

    def _save_if_worth(self) -> None:
        size = sum(method.memory() for method in self.methods.values())
        if self._bytes < PARTS_PER_SAVE * size or self.complete:
            return
        name, part = f"{TOTALS}/{self.next}.safetensors", Part.of(self.methods, self.cut)
        self.ledger.folder.store(name, part.write)
        for other in self.ledger.folder.names(TOTALS):
            if other != name:
                self.ledger.folder.remove(other)
        self.ledger.drop_parts(self.next)
        self._bytes = 0

    def _restore(self) -> None:
        saved = {int(Path(name).stem): name for name in self.ledger.folder.names(TOTALS)}
        if not saved:
            return
        self.next = max(saved)
        part, _ = Part.read(self.ledger.folder.fetch(saved[self.next], self.cache))
        part.load_into(self.methods)
        self.cut = part.cut


@dataclass(eq=False)
class Driver(Generic[Total]):
    """A process that works on a run, alone or with others that share its folder."""

    shards: Sequence[Piece]
    ledger: Ledger
    pool: Pool
    open_totals: Callable[[], Total | None]
    """The totals, if this process adds up; of several processes, only one does."""
    skip_bad: bool | None = False
    """Whether failing shards are left out; None if they cannot be."""
    doing: str = "reading text"
    unit: str = "words"
    totals: Total | None = None
    claims: set[Claim] = field(default_factory=set)
    """The claims of this process's workers."""
    _adding: Future[None] | None = field(default=None, init=False)
    """Parts being added up by a thread, so that no worker has to wait for its next shard."""
    _nothing_left: bool = False
    """Whether all shards were claimed at the last check."""

    def run(self, *, show_progress: bool = False) -> Total | None:
        """Work until every shard is finished; returns the totals, or None if another process adds them up.

        Raises:
            Interrupted: Ctrl-C or SIGTERM; finished shards are kept.
            DataError: A shard failed three times.
        """
        self.ledger.refresh()
        total = sum(shard.words for shard in self.shards)
        done = sum(self.shards[number].words for number in self.ledger.done)
        with stop_requested() as stop, count_bar(self._title(), total, self.unit, show=show_progress, done=done) as bar:
            try:
                with ThreadPoolExecutor(1) as thread, self.ledger.renewing(lambda: tuple(self.claims)):
                    self._loop(bar, stop, thread)
            except Interrupted:
                done = sum(self.shards[number].words for number in self.ledger.done)
                raise Interrupted(f"{self.doing} in shards", done, total, self.unit) from None
            finally:
                self.pool.close()
                with suppress(DataError):
                    # Others need not wait until these claims expire.
                    for claim in self.claims:
                        self.ledger.release(claim)
        return self.totals

    def _loop(self, bar: Any, stop: threading.Event, thread: ThreadPoolExecutor) -> None:
        refreshed = time.monotonic()
        self.totals = self.open_totals()
        while not self._finished(thread):
            if stop.is_set():
                raise Interrupted(self.doing, 0, 0, self.unit)
            if len(self.ledger.done) < len(self.shards) and not self._nothing_left:
                self._assign()
            for event in self.pool.poll(POLL_SECONDS):
                self._take(event, bar)
            now = time.monotonic()
            if now - refreshed > self.ledger.folder.pause:
                refreshed, self._nothing_left = now, False
                self.ledger.refresh()
                if self.totals is None:
                    if self.ledger.is_gone():
                        return
                    self.totals = self.open_totals()

    def _finished(self, thread: ThreadPoolExecutor) -> bool:
        all_read = len(self.ledger.done) == len(self.shards)
        if self.totals is None and all_read:
            # The process that added up may have died.
            self.totals = self.open_totals()
        if self.totals is None:
            return all_read
        if self._adding is not None and (all_read or self._adding.done()):
            self._adding.result()
            self._adding = None
        if all_read:
            self.totals.fold()
            return self.totals.complete
        if self._adding is None:
            self._adding = thread.submit(self.totals.fold)
        return False

    def _assign(self) -> None:
        idle = self.pool.idle()
        if not idle:
            return
        held, failures = self.ledger.held(), self.ledger.failures()
        mine = {claim.shard for claim in self.claims}
        for shard in self.shards:
            if not idle:
                return
            if shard.number in self.ledger.done or shard.number in mine:
                continue
            self._refuse_bad(shard, failures.get(shard.number, []))
            if shard.number not in self.ledger.done and (claim := self.ledger.claim(shard.number, held)):
                worker = idle.pop(0)
                self.claims.add(claim)
                self.pool.start(worker, shard, claim)
        self._nothing_left = True

    def _take(self, event: Event, bar: Any) -> None:
        bar.update(event.words)
        if event.claim is None:
            return
        self.claims.discard(event.claim)
        if event.part is not None:
            self.ledger.commit(event.claim, event.part)
            return
        if event.failed is not None:
            self.ledger.fail(event.claim, event.failed)
        else:
            self.ledger.release(event.claim)
        self._nothing_left = False

    def _refuse_bad(self, shard: Piece, failures: list[str]) -> None:
        if len(failures) < MOST_FAILURES:
            return
        if not self.skip_bad:
            rest = "" if self.skip_bad is None else "; --skip-bad skips the shard"
            raise DataError(
                f"{shard.place.capitalize()} failed {len(failures)} times; the last time: {failures[-1]}. "
                f"The same command tries again{rest}."
            )
        self.ledger.leave_out(shard.number, failures[-1])
        warnings.warn(
            f"{shard.place.capitalize()} failed {len(failures)} times and is skipped: {failures[-1]}", stacklevel=2
        )

    def _title(self) -> str:
        number = len(self.shards)
        return f"{self.doing.rpartition(' ')[2]} in {number} shard{'' if number == 1 else 's'}"
