"""Totals: the sums of all shards, added in the order of the plan, in float64."""

from __future__ import annotations

from pathlib import Path

import torch

from wordstill.distillation.plan import Plan
from wordstill.errors import DataError, in_one_line
from wordstill.methods import Method
from wordstill.scale.ledger import Ledger
from wordstill.scale.part_files import Part
from wordstill.scale.partition import Shard

TOTALS = "totals"
PARTS_PER_SAVE = 4
"""Totals are saved, and the parts in them removed, when these are so many times as large."""


class Totals:
    """What the methods have seen of the shards so far, from the first on without a gap.

    Because parts are added in the order of the plan, on a grid, in float64, the result is the same to the last bit
    for any number of workers, and whoever read what. Memory: two copies of the methods' sums, one in float64.
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
        """Whether every shard is in."""
        return self.next == len(self.shards)

    def fold(self) -> None:
        """Add the parts that are next in the plan and there; damaged ones are to be read again."""
        while not self.complete and self.next in self.ledger.done:
            if self.ledger.done[self.next] is not None:
                path = self.ledger.part(self.next, self.cache)
                try:
                    part, _ = Part.read(path)
                    part.load_into(self._incoming)
                except (DataError, OSError) as error:
                    self.ledger.reopen(self.next, in_one_line(error))
                    return
                for label, method in self.methods.items():
                    method.merge(self._incoming[label])
                self.cut += part.cut
                self._bytes += path.stat().st_size
            self.next += 1
            self._save_if_worth()

    def finished(self) -> dict[str, Method]:
        """The methods as `Plan.finish` takes them: in float32, on the teacher's device."""
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
