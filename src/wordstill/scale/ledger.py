"""The ledger of a run in shards: claims on shards and the parts that count, as files of a shared folder.

    plan.json       recipe, shards and versions of the run; processes that join must have the same
    held/42.1       the first attempt at shard 42, and its worker; renewed as long as the worker lives
    failed/42.1     why an attempt failed
    parts/42.1-x    the result of an attempt, with a unique name
    done/42         which part counts, or that the shard is left out; written once

Records are created atomically, and only if they do not exist: if two workers finish the same shard, the first one
counts. A claim that has not been renewed for some time is given up, and its shard is read again.
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
"""In place of a shard number, in the claim of the process that adds up, if there is no file lock."""
PLAN, HELD, FAILED, DONE, PARTS = "plan.json", "held", "failed", "done", "parts"
SHARDS = "shards"
"""Key of the shards of text in a plan."""


@dataclass(frozen=True)
class Claim:
    """An attempt at a shard by this process."""

    shard: int
    attempt: int

    @property
    def name(self) -> str:
        """Name of its records."""
        return f"{self.shard}.{self.attempt}"

    def new_part(self) -> str:
        """A unique name for its part."""
        return f"{PARTS}/{self.name}-{secrets.token_hex(8)}"


@dataclass(eq=False)
class Ledger:
    """The records of a run."""

    folder: SharedFolder
    remedy: str = "start again with --overwrite"
    """What to do if the folder is damaged or belongs to another run, for messages."""
    lease: float = LEASE_SECONDS
    me: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}")
    done: dict[int, str | None] = field(default_factory=dict)
    """Finished shards with the part that counts; None for a shard that is left out."""
    forgiven: frozenset[str] = frozenset()
    """Failures that no longer count."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards ``done``: the thread that adds up may reopen a shard while another one refreshes."""

    def open_plan(self, plan: dict[str, Any]) -> None:
        """Record the plan of the run, or check that it is the same.

        Raises:
            DataError: The recorded plan is different.
        """
        if self.folder.create(PLAN, _encoded(plan)):
            return
        before, now = self._record(PLAN), json.loads(json.dumps(plan))
        if before is None or before == now:
            return
        # With another text all shards differ, which adds no information.
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
        """Discard all claims and failures, for a run whose other processes are known to have ended."""
        for name in [*self.folder.names(HELD), *self.folder.names(FAILED)]:
            self.folder.remove(name)

    def forgive(self) -> None:
        """Ignore earlier failures, without deleting them, because other processes may still read them."""
        self.forgiven = frozenset(self.folder.names(FAILED))

    def refresh(self) -> None:
        """Update the list of finished shards."""
        with self._lock:
            for name in self.folder.names(DONE):
                number = int(name.rpartition("/")[2])
                if number not in self.done and (record := self._record(name, "part")) is not None:
                    self.done[number] = record["part"]

    def held(self) -> dict[int, Claim]:
        """The last attempt at each shard that is claimed."""
        last: dict[int, Claim] = {}
        for name in self.folder.names(HELD):
            shard, attempt = map(int, name.rpartition("/")[2].split("."))
            if shard not in last or attempt > last[shard].attempt:
                last[shard] = Claim(shard, attempt)
        return last

    def claim(self, shard: int, held: dict[int, Claim]) -> Claim | None:
        """Claim a shard without a live claim; None if another process was faster."""
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
        """Claim the right to add up; yields False if another process has it."""
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
        """Renew these claims regularly inside the block."""
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
        """Renew a claim."""
        self.folder.touch(f"{HELD}/{claim.name}")

    def release(self, claim: Claim) -> None:
        """Release a claim."""
        self.folder.remove(f"{HELD}/{claim.name}")

    def commit(self, claim: Claim, part: str) -> bool:
        """Commit a part, or remove it if another part of the same shard was committed first."""
        self._finish(claim.shard, {"part": part, "by": self.me})
        # An object store may report that a record exists although this call created it, so its content decides.
        counts = self.done.get(claim.shard) == part
        if not counts:
            self.folder.remove(part)
        self.release(claim)
        return counts

    def reopen(self, shard: int, reason: str) -> None:
        """Reopen a shard whose part is damaged."""
        with self._lock:
            if name := self.done.pop(shard):
                self.folder.remove(name)
            self._note_failure(shard, reason)
            self.folder.remove(f"{DONE}/{shard}")

    def leave_out(self, shard: int, reason: str) -> None:
        """Finish a shard without a part."""
        self._finish(shard, {"part": None, "reason": reason, "by": self.me})

    def fail(self, claim: Claim, reason: str) -> None:
        """Record that an attempt failed; the shard can be claimed again."""
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
        """The content of a record, None if it does not exist."""
        content = self.folder.read(name)
        if content is None:
            return None
        remedy = f"{self.remedy.capitalize()}."
        with reading(f"{self.folder}/{name}", remedy=remedy):
            record = unsigned(json.loads(content))
            if not all(isinstance(record[key], str | None) for key in keys):
                raise DataError(f"{self.folder}/{name} is damaged: {keys[0]} is not text. {remedy}")
            return record

    def left_out(self) -> list[int]:
        """Shards without a part."""
        return sorted(number for number, part in self.done.items() if part is None)

    def part(self, shard: int, cache: Path) -> Path:
        """A local path of the part that counts."""
        name = self.done[shard]
        assert name is not None
        return self.folder.fetch(name, cache)

    def drop_parts(self, before: int) -> None:
        """Delete the parts of shards that are included in a saved total."""
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
