"""The ledger of a run in shards: who holds a shard, and which part of it counts, as files of a shared folder.

    plan.json       what the run is: recipe, shards, versions; those who join must have the same
    held/42.1       the first attempt at shard 42: who makes it; renewed as long as they live
    failed/42.1     why an attempt failed
    parts/42.1-x    what came of an attempt, under a name that nothing else ever has
    done/42         which part counts, or that the shard is left out; made once and never changed

Every record is created whole or not at all, and only if it is not there: of two who finish the same shard the first
one counts. A holder that has not renewed its record for some time is given up, and its shard is read again.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordstill.core.guard import reading
from wordstill.core.resume import differences, signed, unsigned
from wordstill.errors import DataError
from wordstill.scale.shared_folder import SharedFolder

LEASE_SECONDS = 120.0
RENEW_SECONDS = 20.0
MOST_FAILURES = 3
ADDING_UP = -1
"""Held like a shard by the process that adds up, where there is no lock."""
PLAN, HELD, FAILED, DONE, PARTS = "plan.json", "held", "failed", "done", "parts"
SHARDS = "shards"
"""In a plan, those of the text."""


@dataclass(frozen=True)
class Claim:
    """An attempt at a shard that this process makes."""

    shard: int
    attempt: int

    @property
    def name(self) -> str:
        """Of its records."""
        return f"{self.shard}.{self.attempt}"

    def new_part(self) -> str:
        """A name for its part that was never used before."""
        return f"{PARTS}/{self.name}-{secrets.token_hex(8)}"


@dataclass(eq=False)
class Ledger:
    """The records of a run."""

    folder: SharedFolder
    remedy: str = "start again with --overwrite"
    """For a folder that is another run's, or damaged."""
    lease: float = LEASE_SECONDS
    me: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}")
    done: dict[int, str | None] = field(default_factory=dict)
    """Shards that are finished, with the part that counts; None for one that is left out."""
    forgiven: frozenset[str] = frozenset()
    """Failures that no longer count."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """A thread that adds up may reopen a shard while another one looks what is finished."""

    def open_plan(self, plan: dict[str, Any]) -> None:
        """Note what the run is, or make sure that it is the same.

        Raises:
            DataError: It is another one.
        """
        if self.folder.create(PLAN, _encoded(plan)):
            return
        before, now = self._record(PLAN), json.loads(json.dumps(plan))
        if before is None or before == now:
            return
        # Of another text all shards are others, which says nothing more.
        causes = [{name: value for name, value in one.items() if name != SHARDS} for one in (before, now)]
        different = differences(*causes) or differences(before, now)
        raise DataError(
            f"The run in {self.folder} was started with something else: {different[:1000]}. Use the same text, model, "
            f"settings and version of wordstill, or {self.remedy}."
        )

    def is_gone(self) -> bool:
        """Whether another process has finished the run and removed its folder."""
        return self.folder.read(PLAN) is None

    def forget_attempts(self) -> None:
        """Give up all attempts of processes that are known to be gone, and their failures."""
        for name in [*self.folder.names(HELD), *self.folder.names(FAILED)]:
            self.folder.remove(name)

    def forgive(self) -> None:
        """Count failures from now on only, because others may still look at the earlier ones."""
        self.forgiven = frozenset(self.folder.names(FAILED))

    def refresh(self) -> None:
        """See what others have finished."""
        with self._lock:
            for name in self.folder.names(DONE):
                number = int(name.rpartition("/")[2])
                if number not in self.done and (record := self._record(name, "part")) is not None:
                    self.done[number] = record["part"]

    def held(self) -> dict[int, Claim]:
        """The last attempt at each shard that somebody may still be making."""
        last: dict[int, Claim] = {}
        for name in self.folder.names(HELD):
            shard, attempt = map(int, name.rpartition("/")[2].split("."))
            if shard not in last or attempt > last[shard].attempt:
                last[shard] = Claim(shard, attempt)
        return last

    def claim(self, shard: int, held: dict[int, Claim]) -> Claim | None:
        """Take a shard that nobody holds, or whose holder is given up; None if another one was faster."""
        last = held.get(shard)
        if last is not None and not self._given_up(last):
            return None
        mine = Claim(shard, 1 if last is None else last.attempt + 1)
        if not self.folder.create(f"{HELD}/{mine.name}", _encoded({"by": self.me})):
            return None
        if self.folder.read(f"{DONE}/{shard}") is None:
            return mine
        # Its last holder has just finished it.
        self.folder.remove(f"{HELD}/{mine.name}")
        self.refresh()
        return None

    @contextmanager
    def adding_up(self) -> Iterator[bool]:
        """Hold the right to add up, as others hold shards; False in the block if another process has it."""
        claim = self.claim(ADDING_UP, self.held())
        if claim is None:
            yield False
            return
        try:
            with self.renewing(lambda: (claim,)):
                yield True
        finally:
            self.release(claim)

    @contextmanager
    def renewing(self, claims: Callable[[], Iterable[Claim]]) -> Iterator[None]:
        """Show from time to time that the holder of these claims lives, whatever it does in the block."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(RENEW_SECONDS):
                for claim in claims():
                    with suppress(DataError):
                        self.renew(claim)

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def renew(self, claim: Claim) -> None:
        """Show that the holder lives."""
        self.folder.touch(f"{HELD}/{claim.name}")

    def release(self, claim: Claim) -> None:
        """Let others take a shard."""
        self.folder.remove(f"{HELD}/{claim.name}")

    def commit(self, claim: Claim, part: str) -> bool:
        """Let a part count, unless another one of the same shard does already; then it is removed."""
        self._finish(claim.shard, {"part": part, "by": self.me})
        # An object store may have made the record and yet said that it was there: what it says counts.
        counts = self.done.get(claim.shard) == part
        if not counts:
            self.folder.remove(part)
        self.release(claim)
        return counts

    def reopen(self, shard: int, reason: str) -> None:
        """Let a shard be read again, because its part is damaged."""
        with self._lock:
            if name := self.done.pop(shard):
                self.folder.remove(name)
            self._note_failure(shard, reason)
            self.folder.remove(f"{DONE}/{shard}")

    def leave_out(self, shard: int, reason: str) -> None:
        """Finish a shard without any part."""
        self._finish(shard, {"part": None, "reason": reason, "by": self.me})

    def fail(self, claim: Claim, reason: str) -> None:
        """Note that an attempt failed; the shard can be taken again."""
        self._note_failure(claim.shard, reason)
        self.release(claim)

    def failures(self) -> dict[int, list[str]]:
        """Why attempts at shards failed."""
        found: dict[int, list[str]] = {}
        for name in self.folder.names(FAILED):
            if name not in self.forgiven and (record := self._record(name, "reason")):
                found.setdefault(int(name.rpartition("/")[2].partition(".")[0]), []).append(record["reason"])
        return found

    def _record(self, name: str, *keys: str) -> dict[str, Any] | None:
        """What a record says, None where there is none."""
        content = self.folder.read(name)
        if content is None:
            return None
        remedy = f"{self.remedy.capitalize()}."
        with reading(f"{self.folder}/{name}", remedy=remedy):
            record = unsigned(json.loads(content))
            if not all(isinstance(record[key], str | None) for key in keys):
                raise DataError(f"{self.folder}/{name} is damaged: {keys[0]} is no text. {remedy}")
            return record

    def left_out(self) -> list[int]:
        """Shards without a part."""
        return sorted(number for number, part in self.done.items() if part is None)

    def part(self, shard: int, cache: Path) -> Path:
        """The file of the part that counts, on this machine."""
        name = self.done[shard]
        assert name is not None
        return self.folder.fetch(name, cache)

    def drop_parts(self, before: int) -> None:
        """Remove the parts of shards that are in a saved total."""
        for name in self.folder.names(PARTS):
            if int(name.rpartition("/")[2].partition(".")[0]) < before:
                self.folder.remove(name)

    def _note_failure(self, shard: int, reason: str) -> None:
        self.folder.create(f"{FAILED}/{shard}.{secrets.token_hex(8)}", _encoded({"by": self.me, "reason": reason}))

    def _finish(self, shard: int, record: dict[str, Any]) -> None:
        self.folder.create(f"{DONE}/{shard}", _encoded(record))
        self.refresh()

    def _given_up(self, claim: Claim) -> bool:
        age = self.folder.age(f"{HELD}/{claim.name}")
        return age is not None and age > self.lease


def _encoded(record: dict[str, Any]) -> bytes:
    return json.dumps(signed(record), sort_keys=True).encode()
