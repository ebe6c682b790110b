"""Word similarity: do the cosines of pairs of words order them as people do?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.similarity_sets import WordPairs, read_own_pairs
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.score import Coverage, ItemScores, Score, correlation_problem, make_score
from wordstill.evaluation.statistics import Floats
from wordstill.evaluation.tasks.base import Task

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

COSINE_DECIMALS = 12


class SimilarityTask(Task[WordPairs]):
    """Spearman's correlation between cosines and human scores."""

    kind = "similarity"
    metric = "spearman"
    needs = (WordPairs.holds,)
    own_reader = staticmethod(read_own_pairs)

    def words(self) -> tuple[str, ...]:
        """The words of all pairs."""
        return (*self.dataset.content.first, *self.dataset.content.second)

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; the seed is that of the bootstrap interval."""
        protocol = resolve(protocol)
        found = self._lookup(vectors, protocol)
        pairs = self.dataset.content
        keys = tuple("\t".join(sorted((a.lower(), b.lower()))) for a, b in zip(pairs.first, pairs.second))
        items = ItemScores("spearman", self._cosines(found, protocol), pairs.gold, keys=keys)
        coverage = Coverage(int(self._both(found, found.known).sum()), len(self.dataset.content))
        return make_score(self.source(protocol), items, coverage, correlation_problem(coverage, items), seed)

    def similarities(self, vectors: WordVectors, protocol: str | Protocol = "default") -> Floats:
        """The cosine of every pair of the set, NaN for those that the protocol leaves out, shape (pairs,)."""
        protocol = resolve(protocol)
        return self._cosines(self._lookup(vectors, protocol), protocol)

    def _lookup(self, vectors: WordVectors, protocol: Protocol) -> Lookup:
        return Lookup.of(self.words(), vectors, protocol, split=True)

    def _both(self, found: Lookup, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which pairs have two words that are marked, shape (pairs,)."""
        pairs = self.dataset.content
        both: NDArray[np.bool_] = marked[found.numbers(pairs.first)] & marked[found.numbers(pairs.second)]
        return both

    def _cosines(self, found: Lookup, protocol: Protocol) -> Floats:
        pairs, unit = self.dataset.content, found.unit()
        first, second = unit[found.numbers(pairs.first)], unit[found.numbers(pairs.second)]
        # Rounded so that equal cosines are ties: a word with itself is 1, whatever the last bit says.
        cosines: Floats = np.round(np.einsum("pd,pd->p", first, second), COSINE_DECIMALS)
        left_out = 0.0 if protocol.oov == "zero" else np.nan
        return np.where(self._both(found, found.usable), cosines, left_out)
