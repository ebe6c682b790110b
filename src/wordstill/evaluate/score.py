"""One figure with everything that is needed to judge it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from wordstill.evaluate.items import Items
from wordstill.evaluate.protocol import Protocol
from wordstill.evaluate.statistics import Interval


class Coverage(NamedTuple):
    """How many items of a set the table has every word of."""

    used: int
    total: int


class Part(NamedTuple):
    """A figure beside the main one: of a section, a sub-corpus, a subset, another measure or one seed."""

    name: str
    metric: str
    value: float | None
    """In points; None where there is no figure."""
    n: int
    """Items that the figure is over."""


@dataclass(frozen=True)
class Score:
    """The result of one task on one data set.

    Either ``value`` and ``interval`` are given, or both are None and ``problem`` says why there is no figure.
    A table that knows none of the words has no figure; it does not have the figure 0.
    """

    task: str
    dataset: str
    metric: str
    value: float | None
    """In points: a correlation of 0.5 is 50."""
    interval: Interval | None
    """95 %, in points."""
    coverage: Coverage
    n: int
    """Items that the figure is over; more than are covered where the protocol fills in absent words."""
    protocol: Protocol
    source: str
    """Which file was used."""
    sha256: str
    problem: str | None = None
    parts: tuple[Part, ...] = ()
    deviation: float | None = None
    """Of a task that trains: the standard deviation over seeds, in points; ``value`` is their mean."""
    items: Items | None = field(default=None, compare=False, repr=False)
    """What the figure was worked out from, for tests between tables; it is not written to files."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "items"}
        plain["coverage"] = self.coverage._asdict()
        plain["interval"] = None if self.interval is None else self.interval._asdict()
        plain["protocol"] = self.protocol.name
        plain["parts"] = [part._asdict() for part in self.parts]
        return plain
