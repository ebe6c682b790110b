"""``counterfit``: counter-fitting pushes antonyms apart and pulls synonyms together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.postprocess.retrofit.graph import LINKS_AT_ONCE, Case, Floats, Graph, LeastCosine, LexiconUpdate, sparse
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.retrofitting import Positive
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows

SCORE_BYTES = 64 << 20
APART, TOGETHER = -1.0, 1.0
TOLERANCE = 1e-5
"""A bound missed by no more than this holds, so that rounding errors do not pull."""


@dataclass(frozen=True)
class CounterFitConfig(Config):
    """Settings of `CounterFit`; the paper's values, except for margin and step.

    The margin was chosen on every second pair of eight similarity sets; the paper's is 1.
    """

    antonyms: str | Lexicon = ""
    """The lexicon of antonyms, or a source for `open_lexicon`."""
    synonyms: str | Lexicon = ""
    """The lexicon of synonyms; empty for none."""
    margin: Annotated[float, Range(0, 2, above=True)] = 0.8
    """Least distance of antonyms, as 1 - cosine."""
    nearness: Annotated[float, Range(0, 1, below=True)] = 0.0
    """Largest distance of synonyms, as 1 - cosine."""
    radius: Annotated[float, Range(0, 1, below=True)] = 0.2
    """Words within this distance, as 1 - cosine, must not drift further apart; 0 turns this off."""
    repel: Positive = 0.1
    """Weight of the antonyms."""
    attract: Positive = 0.1
    """Weight of the synonyms."""
    keep: Positive = 0.1
    """Weight of the words within the radius."""
    step: Positive = 0.1
    """Step of a word in a pass, as a fraction of the mean pull on it."""
    passes: Annotated[int, Range(0)] = 20
    """Moves of each word."""
    case: Case = "fallback"
    """As in `RetrofitConfig`."""
    least_cosine: LeastCosine = None
    """As in `RetrofitConfig`."""

    unit: ClassVar[bool] = True


class CounterFit(LexiconUpdate):
    r"""Counter-fitting: antonyms move apart, synonyms together, and neighbors stay near.

    .. math::
        \min_Q\; k_r \sum_{ant} \big[\delta - d(q_i, q_j)\big]_+
        + k_a \sum_{syn} \big[d(q_i, q_j) - \gamma\big]_+
        + k_k \sum_{near} \big[d(q_i, q_j) - d(q'_i, q'_j)\big]_+

    with :math:`d = 1 - \cos`. In each pass all words move at once along the mean gradient of the
    nonzero terms, and are rescaled to length one.

    Paper: Mrkšić, Ó Séaghdha, Thomson, Gašić, Rojas-Barahona, Su, Vandyke, Wen, Young 2016, "Counter-fitting
    Word Vectors to Linguistic Constraints".
    Cost: a product of the words in the lexicons with the whole table, and a sparse product for each pass.
    Deviations from the paper: all words step at once, not in random order.
    """

    name: ClassVar[str] = "counterfit.v1"
    config_type: ClassVar[type[CounterFitConfig]] = CounterFitConfig
    config: CounterFitConfig

    def _moved(self, vectors: WordVectors, matrix: Floats) -> tuple[NDArray[np.int64], Floats, tuple[float, ...]]:
        bounds = self._bounds(vectors)
        moving = np.unique(np.concatenate([part.pairs.ravel() for part in bounds]))
        if self.config.radius:
            near = Bounds.near(matrix, moving, 1 - self.config.radius, self.config.keep)
            bounds.append(near.without(bounds[0]))
        loss = BoundsLoss(bounds)
        places = np.searchsorted(loss.rows, moving)
        current, objective = matrix[loss.rows], []
        for number in range(self.config.passes + 1):
            value, pulled = loss.at(current)
            objective.append(value)
            if number < self.config.passes:
                current[places] = unit_rows(current[places] + self.config.step * pulled[places])
        return moving, current[places], tuple(objective)

    def _bounds(self, vectors: WordVectors) -> list[Bounds]:
        """The bounds of the antonyms, and of the synonyms if there are any."""
        config = self.config
        opposite = Graph.of(self.lexicon("antonyms"), vectors, config.case)
        bounds = [Bounds.of(opposite, APART, 1 - config.margin, config.repel)]
        if config.synonyms:
            alike = Graph.of(self.lexicon("synonyms"), vectors, config.case)
            bounds.append(Bounds.of(alike, TOGETHER, 1 - config.nearness, config.attract))
        return bounds


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on the cosines of pairs of rows: upper bounds (``APART``) or lower ones (``TOGETHER``)."""

    pairs: NDArray[np.int64]
    """(2, pairs), each pair once."""
    sign: float
    cosines: NDArray[np.float64]
    """The bound of each pair, shape (pairs,)."""
    weight: float

    @classmethod
    def of(cls, graph: Graph, sign: float, cosine: float, weight: float) -> Bounds:
        """The same bound for every link of a graph."""
        upper = sparse().triu(graph.links, k=1).tocoo()
        pairs = graph.rows[np.stack([upper.row, upper.col]).astype(np.int64)]
        return cls(pairs, sign, np.full(pairs.shape[1], cosine), weight)

    @classmethod
    def near(cls, unit: Floats, rows: NDArray[np.int64], cosine: float, weight: float) -> Bounds:
        """Lower bounds that keep neighbors of some rows, with at least this cosine, as near as they are."""
        found = list(_neighbor_pairs(unit, rows, cosine))
        pairs = np.concatenate([pair for pair, _ in found], axis=1)
        return cls(pairs, TOGETHER, np.concatenate([cosines for _, cosines in found]), weight)

    def without(self, other: Bounds) -> Bounds:
        """The pairs that another set of bounds does not have."""
        rows = 1 + max(self.pairs.max(initial=0), other.pairs.max(initial=0))
        keep = ~np.isin(_keys(self.pairs, rows), _keys(other.pairs, rows))
        return Bounds(self.pairs[:, keep], self.sign, self.cosines[keep], self.weight)


class BoundsLoss:
    """The loss and gradient of several bounds over the rows that they concern.

    Attributes:
        rows: Those rows of the table, ascending, shape (nodes,).
    """

    def __init__(self, bounds: list[Bounds]) -> None:
        pairs = np.concatenate([part.pairs for part in bounds], axis=1)
        self.rows, places = np.unique(pairs, return_inverse=True)
        self._first, self._second = places.reshape(pairs.shape)
        self._bound = np.concatenate([part.cosines for part in bounds])
        self._sign, self._weight = (
            np.concatenate([np.full(len(part.cosines), getattr(part, name)) for part in bounds])
            for name in ("sign", "weight")
        )

    def at(self, current: Floats) -> tuple[float, Floats]:
        """The total violation of the bounds, and the mean pull on each node, for unit rows (nodes, dim)."""
        cosines = self._cosines(current)
        violation = self._sign * (self._bound - cosines)
        violated = violation > TOLERANCE
        first, second, cosines = self._first[violated], self._second[violated], cosines[violated]
        weight, signed = self._weight[violated], (self._weight * self._sign)[violated]
        ends, others = np.concatenate([first, second]), np.concatenate([second, first])
        nodes = len(self.rows)
        strength = np.bincount(ends, np.tile(weight, 2), minlength=nodes)
        strength[strength == 0] = 1.0
        shares = (np.tile(signed, 2) / strength[ends]).astype(np.float32)
        pulled = sparse().csr_matrix((shares, (ends, others)), shape=(nodes, nodes)) @ current
        along = np.bincount(ends, shares * np.tile(cosines, 2), minlength=nodes)
        pulled -= along.astype(np.float32)[:, None] * current
        return float(weight @ violation[violated]), pulled

    def _cosines(self, current: Floats) -> NDArray[np.float64]:
        cosines = np.empty(len(self._first))
        for start in range(0, len(cosines), LINKS_AT_ONCE):
            block = slice(start, start + LINKS_AT_ONCE)
            cosines[block] = np.einsum("ij,ij->i", current[self._first[block]], current[self._second[block]])
        return cosines


def _neighbor_pairs(
    unit: Floats, rows: NDArray[np.int64], cosine: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Pairs of one of ``rows`` with any row, each pair once, and their cosines."""
    among = np.zeros(len(unit), dtype=np.bool_)
    among[rows] = True
    block = max(1, SCORE_BYTES // (unit.itemsize * len(unit)))
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        scores = unit[part] @ unit.T
        place, other = np.nonzero(scores >= cosine)
        once = (part[place] < other) | ~among[other]
        place, other = place[once], other[once]
        yield np.stack([part[place], other]), scores[place, other].astype(np.float64)


def _keys(pairs: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = pairs.min(axis=0) * rows + pairs.max(axis=0)
    return keys
