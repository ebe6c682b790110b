"""From the items of a task to its score."""

from __future__ import annotations

from typing import NamedTuple

from wordstill.evaluate.items import Items
from wordstill.evaluate.protocol import Protocol
from wordstill.evaluate.score import Coverage, Part, Score
from wordstill.evaluate.statistics import Interval

POINTS = 100


class Source(NamedTuple):
    """What a score says of where it comes from."""

    task: str
    dataset: str
    metric: str
    protocol: Protocol
    source: str
    sha256: str


def make_score(
    source: Source,
    items: Items,
    coverage: Coverage,
    problem: str | None,
    seed: int,
    parts: tuple[Part, ...] = (),
) -> Score:
    """The score of some items: their figure with its interval, or why there is none."""
    value, interval = None, None
    if problem is None:
        low, high = items.interval(seed)
        value, interval = POINTS * items.value(), Interval(POINTS * low, POINTS * high)
    return Score(
        task=source.task,
        dataset=source.dataset,
        metric=source.metric,
        value=value,
        interval=interval,
        coverage=coverage,
        n=int(items.scored.sum()),
        protocol=source.protocol,
        source=source.source,
        sha256=source.sha256,
        problem=problem,
        parts=parts if problem is None else (),
        items=items,
    )


def points(value: float) -> float | None:
    """A fraction of one in points; None where it is not defined."""
    return None if value != value else POINTS * value
