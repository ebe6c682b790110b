"""Word similarity: do the cosines of pairs of words order them as people do?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluate.locate import locate
from wordstill.evaluate.pairs import WordPairs
from wordstill.evaluate.protocol import ABSENT, Protocol, resolve
from wordstill.evaluate.score import Coverage, Score
from wordstill.evaluate.statistics import Floats, Interval, bootstrap_interval, spearman

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

FEWEST_PAIRS = 3
POINTS = 100
COSINE_DECIMALS = 12


@dataclass(frozen=True, eq=False)
class PairSet:
    """Pairs that are ready to be scored, with their name and where they came from."""

    name: str
    pairs: WordPairs
    source: str
    sha256: str

    @classmethod
    def load(cls, name: str | Path) -> PairSet:
        """Read a set of the registry by name, or a user's own file of pairs by path."""
        found = locate(name)
        pairs: WordPairs = found.reader(found.path)
        return cls(found.name, pairs, found.source, found.sha256)


class SimilarityTask:
    """Spearman's correlation between cosines and human scores.

    Args:
        dataset: The name of a set of the registry, the path of an own file of pairs, or a ``PairSet``.
    """

    kind = "similarity"
    metric = "spearman"

    def __init__(self, dataset: str | Path | PairSet) -> None:
        self.dataset = dataset if isinstance(dataset, PairSet) else PairSet.load(dataset)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.dataset.name

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; the seed is that of the bootstrap interval."""
        protocol = resolve(protocol)
        rows = self._rows(vectors, protocol)
        coverage = Coverage(int((rows != ABSENT).all(axis=0).sum()), rows.shape[1])
        cosines = _cosines(rows, vectors, protocol)
        scored = ~np.isnan(cosines)
        gold, cosines = self.dataset.pairs.gold[scored], cosines[scored]
        problem = _problem(coverage, gold, cosines)
        value, interval = None, None
        if problem is None:
            low, high = bootstrap_interval(gold, cosines, seed=seed)
            value, interval = POINTS * spearman(gold, cosines), Interval(POINTS * low, POINTS * high)
        return Score(
            task=self.kind,
            dataset=self.dataset.name,
            metric=self.metric,
            value=value,
            interval=interval,
            coverage=coverage,
            n=len(gold),
            protocol=protocol,
            source=self.dataset.source,
            sha256=self.dataset.sha256,
            problem=problem,
        )

    def similarities(self, vectors: WordVectors, protocol: str | Protocol = "default") -> Floats:
        """The cosine of every pair of the set, NaN for those that the protocol leaves out, shape (pairs,)."""
        protocol = resolve(protocol)
        return _cosines(self._rows(vectors, protocol), vectors, protocol)

    def _rows(self, vectors: WordVectors, protocol: Protocol) -> NDArray[np.int64]:
        """Rows of the first and second words, shape (2, pairs)."""
        pairs = self.dataset.pairs
        return np.stack([protocol.rows(words, vectors) for words in (pairs.first, pairs.second)])


def _cosines(rows: NDArray[np.int64], vectors: WordVectors, protocol: Protocol) -> Floats:
    absent = (rows == ABSENT).any(axis=0)
    if protocol.oov == "mean" and len(vectors):
        return _row_cosines(rows, vectors, _mean(vectors, protocol) if absent.any() else None)
    cosines = np.full(rows.shape[1], 0.0 if protocol.oov == "zero" else np.nan)
    cosines[~absent] = _row_cosines(rows[:, ~absent], vectors, None)
    return cosines


def _row_cosines(rows: NDArray[np.int64], vectors: WordVectors, filler: Floats | None) -> Floats:
    """Cosines of pairs of rows, absent ones being the filler; a zero vector has the cosine 0 with all."""
    # Only the rows in use, in double precision: the table may be a memory map of gigabytes.
    wanted, place = np.unique(rows, return_inverse=True)
    present = wanted[wanted != ABSENT]
    block = np.asarray(vectors.matrix[present], dtype=np.float64)
    broken = ~np.isfinite(block).all(axis=1)
    if broken.any():
        word = vectors.words[int(present[broken][0])]
        raise DataError(f"The vector of {word!r} (row {present[broken][0]}) holds NaN or infinite values.")
    if filler is not None:
        block = np.concatenate([filler[None, :], block])
    lengths = np.linalg.norm(block, axis=1, keepdims=True)
    block = np.divide(block, lengths, out=np.zeros_like(block), where=lengths > 0)
    first, second = block[place.reshape(rows.shape)]
    # Rounded so that equal cosines are ties: a word with itself is 1, whatever the last bit says.
    cosines: Floats = np.round(np.einsum("pd,pd->p", first, second), COSINE_DECIMALS)
    return cosines


def _mean(vectors: WordVectors, protocol: Protocol) -> Floats:
    mean = np.mean(vectors.matrix[: protocol.limit(vectors)], axis=0, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise DataError("The mean of all vectors is not finite: the table holds NaN or infinite values.")
    return np.asarray(mean, dtype=np.float64)


def _problem(coverage: Coverage, gold: Floats, cosines: Floats) -> str | None:
    """Why there is no figure, or None if there is one."""
    used, total = coverage
    if used == 0:
        return f"none of the {total} pairs is covered"
    if used < FEWEST_PAIRS:
        return f"only {used} of the {total} pairs covered; a correlation needs at least {FEWEST_PAIRS}"
    if np.ptp(gold) == 0:
        return "the human scores of the covered pairs are all the same"
    if np.ptp(cosines) == 0:
        return "the cosines of the covered pairs are all the same"
    return None
