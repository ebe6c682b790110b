"""How far two tables of vectors agree, without any human judgement: neighbours and cosines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluate.statistics import Interval, spearman
from wordstill.neighbours import nearest

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

COMMON_WORDS = 20_000
RANDOM_PAIRS = 10_000
FEWEST_WORDS = 3


@dataclass(frozen=True)
class Agreement:
    """How much of what one table says the other says too, over words that both have."""

    shared: int
    """Words that are in both tables."""
    topn: int
    words: tuple[str, ...]
    """Words whose neighbours were compared, drawn from the most frequent ones."""
    overlaps: tuple[float, ...]
    """For each of them, the share of its ``topn`` nearest shared words that both tables give it."""
    cosines: float
    """Spearman's correlation between the two tables' cosines of random pairs of those words."""

    @property
    def overlap(self) -> float:
        """The mean share of common neighbours."""
        return float(np.mean(self.overlaps))

    @property
    def interval(self) -> Interval:
        """95 %, of the mean share over draws of words."""
        spread = 1.96 * float(np.std(self.overlaps)) / max(1, len(self.overlaps)) ** 0.5
        return Interval(max(0.0, self.overlap - spread), min(1.0, self.overlap + spread))

    def least(self, count: int) -> list[tuple[str, float]]:
        """The words that the tables agree least on, the more frequent first among equals."""
        order = np.argsort(self.overlaps, kind="stable")[:count]
        return [(self.words[place], self.overlaps[place]) for place in order]


def agreement(
    first: WordVectors, second: WordVectors, *, topn: int = 10, sample: int = 1000, seed: int = 0
) -> Agreement:
    """Compare the neighbours and cosines of two tables.

    Args:
        first: A table.
        second: Another one; of any dimension.
        topn: How many neighbours count.
        sample: How many words to compare at most, drawn from the 20,000 most frequent that both have.
        seed: Of the draw.
    """
    shared = [word for word in first.words if word in second]
    if len(shared) < FEWEST_WORDS:
        raise DataError(
            f"The tables share {len(shared)} of their {len(first):,} and {len(second):,} words; a comparison "
            f"needs at least {FEWEST_WORDS}. Are they of one language, and both in lower case or not?"
        )
    sides = [table.subset(shared).unit for table in (first, second)]
    random = np.random.default_rng(seed)
    common = _most_common(first, shared)
    drawn = np.sort(random.permutation(len(common))[:sample])
    rows = common[drawn]
    topn = min(topn, len(shared) - 1)
    found = [_neighbours(side, rows, topn) for side in sides]
    overlaps = [len(np.intersect1d(one, other)) / topn for one, other in zip(*found)]
    pairs = rows[random.integers(0, len(rows), size=(2, RANDOM_PAIRS))]
    pairs = pairs[:, pairs[0] != pairs[1]]
    cosines = [np.einsum("ij,ij->i", *side[pairs]).astype(np.float64) for side in sides]
    words = tuple(shared[row] for row in rows.tolist())
    return Agreement(len(shared), topn, words, tuple(overlaps), spearman(*cosines))


def _most_common(table: WordVectors, shared: list[str]) -> NDArray[np.int64]:
    """Places in ``shared`` of the most frequent words, the most frequent first; without counts, the first."""
    order = np.arange(len(shared))
    if table.counts is not None:
        counts = table.counts[[table.index(word) for word in shared]]
        order = np.argsort(-counts, kind="stable")
    return order[:COMMON_WORDS]


def _neighbours(unit: NDArray[np.float32], rows: NDArray[np.int64], topn: int) -> list[NDArray[np.int64]]:
    exclude = [[row] for row in rows.tolist()]
    return [found[0] for found in nearest(unit, unit[rows], topn, exclude)]
