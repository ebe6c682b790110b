"""A lexicon: which words belong together, and how strongly."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Link = tuple[str, str, float]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """An undirected graph over words: each link once, from the smaller word number to the larger."""

    words: tuple[str, ...]
    first: NDArray[np.int64]
    """The number of the first word of each link, shape (links,)."""
    second: NDArray[np.int64]
    weights: NDArray[np.float32]
    """The strength of each link, above 0, shape (links,)."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Where it came from, for the provenance of what is made with it."""

    @classmethod
    def from_links(cls, links: Iterable[Link], origin: Mapping[str, Any] | None = None) -> Lexicon:
        """Collect links between words.

        A link of a word with itself is left out; of a link that is given again, in either direction, the
        larger weight counts.
        """
        numbers: dict[str, int] = {}
        first, second, weights = array("q"), array("q"), array("f")
        for one, other, weight in links:
            first.append(numbers.setdefault(one, len(numbers)))
            second.append(numbers.setdefault(other, len(numbers)))
            weights.append(weight)
        ends = np.array([first, second], dtype=np.int64).reshape(2, -1)
        return cls(tuple(numbers), *_once(ends, np.array(weights, np.float32), len(numbers)), origin or {})

    @classmethod
    def union(cls, lexicons: Iterable[Lexicon]) -> Lexicon:
        """The links of several lexicons together."""
        parts = list(lexicons)
        if len(parts) == 1:
            return parts[0]
        links = (link for part in parts for link in part.links())
        return cls.from_links(links, {"union": [dict(part.origin) for part in parts]})

    def __len__(self) -> int:
        return len(self.weights)

    def links(self) -> Iterable[Link]:
        """Every link as two words and a weight."""
        ends = zip(self.first.tolist(), self.second.tolist(), self.weights.tolist())
        return ((self.words[one], self.words[other], weight) for one, other, weight in ends)


def _once(
    ends: NDArray[np.int64], weights: NDArray[np.float32], words: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Each pair of different words once, with its largest weight, in the order of word numbers."""
    low, high = ends.min(axis=0), ends.max(axis=0)
    keys = low * words + high
    order = np.argsort(keys, kind="stable")
    order = order[(low != high)[order]]
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    if not len(starts):
        return low[:0], high[:0], weights[:0]
    kept = order[starts]
    return low[kept], high[kept], np.maximum.reduceat(weights[order], starts)
