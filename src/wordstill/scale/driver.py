"""The driver: gives shards to workers, lets their parts count, and adds them up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wordstill.core.progress import count_bar
from wordstill.core.resume import stop_requested
from wordstill.distillation.plan import Plan
from wordstill.errors import DataError, Interrupted
from wordstill.scale.ledger import MOST_FAILURES, RENEW_SECONDS, Claim, Ledger
from wordstill.scale.partition import Shard
from wordstill.scale.pools import Event, Pool
from wordstill.scale.totals import Totals

POLL_SECONDS = 0.2


@dataclass(eq=False)
class Driver:
    """One process that works on a run, alone or with others that share its folder."""

    plan: Plan
    shards: list[Shard]
    ledger: Ledger
    pool: Pool
    open_totals: Callable[[], Totals | None]
    """The totals, if this process may add up; with others only one of them may."""
    skip_bad: bool = False
    totals: Totals | None = None
    claims: dict[int, Claim] = field(default_factory=dict)
    """What the workers of this process hold."""
    _nothing_left: bool = False
    """Whether all shards were held by somebody when this process looked for the last time."""

    def run(self, *, show_progress: bool = False) -> Totals | None:
        """Read until every shard is finished; the totals, or None if another process adds them up.

        Raises:
            Interrupted: Ctrl-C or SIGTERM came; finished shards are kept.
            DataError: A shard has failed three times.
        """
        self.ledger.refresh()
        total = sum(shard.words for shard in self.shards)
        done = sum(self.shards[number].words for number in self.ledger.done)
        with stop_requested() as stop, count_bar(self._title(), total, "words", show=show_progress, done=done) as bar:
            try:
                self._loop(bar, stop)
            except Interrupted:
                done = sum(self.shards[number].words for number in self.ledger.done)
                raise Interrupted("reading text in shards", done, total, "words") from None
            finally:
                self.pool.close()
        return self.totals

    def _loop(self, bar: Any, stop: threading.Event) -> None:
        renewed = refreshed = time.monotonic()
        self.totals = self.open_totals()
        while not self._finished():
            if stop.is_set():
                raise Interrupted("reading", 0, 0, "words")
            if len(self.ledger.done) < len(self.shards) and not self._nothing_left:
                self._assign()
            for event in self.pool.poll(POLL_SECONDS):
                self._take(event, bar)
            now = time.monotonic()
            if now - renewed > RENEW_SECONDS:
                renewed = now
                for claim in self.claims.values():
                    self.ledger.renew(claim)
            if now - refreshed > self.ledger.folder.pause:
                refreshed, self._nothing_left = now, False
                self.ledger.refresh()
                if self.totals is None:
                    if self.ledger.is_gone():
                        return
                    self.totals = self.open_totals()

    def _finished(self) -> bool:
        all_read = len(self.ledger.done) == len(self.shards)
        if self.totals is None and all_read:
            # The process that was adding up may have died.
            self.totals = self.open_totals()
        if self.totals is None:
            return all_read
        self.totals.fold()
        return self.totals.complete

    def _assign(self) -> None:
        idle = self.pool.idle()
        if not idle:
            return
        held, failures = self.ledger.held(), self.ledger.failures()
        mine = {claim.shard for claim in self.claims.values()}
        for shard in self.shards:
            if not idle:
                return
            if shard.number in self.ledger.done or shard.number in mine:
                continue
            self._refuse_bad(shard, failures.get(shard.number, []))
            if shard.number not in self.ledger.done and (claim := self.ledger.claim(shard.number, held)):
                worker = idle.pop(0)
                self.claims[worker] = claim
                self.pool.start(worker, shard, claim)
        self._nothing_left = True

    def _take(self, event: Event, bar: Any) -> None:
        bar.update(event.words)
        claim = self.claims.get(event.worker)
        if claim is None:
            return
        if event.part is not None:
            self.ledger.commit(self.claims.pop(event.worker), event.part)
        elif event.failed is not None:
            self.ledger.fail(self.claims.pop(event.worker), event.failed)
            self._nothing_left = False

    def _refuse_bad(self, shard: Shard, failures: list[str]) -> None:
        if len(failures) < MOST_FAILURES:
            return
        place = shard.place(self.plan.engine.stages[shard.stage].isolated)
        if not self.skip_bad:
            raise DataError(
                f"{place[0].upper()}{place[1:]} failed {len(failures)} times; the last time: {failures[-1]}. "
                "The same command tries again; with --skip-bad the run leaves it out."
            )
        self.ledger.leave_out(shard.number, failures[-1])

    def _title(self) -> str:
        return f"text in {len(self.shards)} shards"
