"""Bounds on the cosines of pairs of words, and the pull on each word where they do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordstill.postprocess.retrofit.distances import LINKS_AT_ONCE
from wordstill.postprocess.retrofit.graph import Floats, Graph, sparse

SCORE_BYTES = 64 << 20
APART, TOGETHER = -1.0, 1.0
ENOUGH = 1e-5
"""A bound that lacks no more holds: those that are just met must not pull by rounding."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Pairs of rows whose cosine shall be at most a bound (``APART``) or at least one (``TOGETHER``)."""

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
        """What is near one of some rows of a table, with a cosine of at least so much, shall stay as near."""
        found = list(_near(unit, rows, cosine))
        pairs = np.concatenate([pair for pair, _ in found], axis=1)
        return cls(pairs, TOGETHER, np.concatenate([cosines for _, cosines in found]), weight)

    def without(self, other: Bounds) -> Bounds:
        """The pairs that are not among others."""
        rows = 1 + max(self.pairs.max(initial=0), other.pairs.max(initial=0))
        keep = ~np.isin(_keys(self.pairs, rows), _keys(other.pairs, rows))
        return Bounds(self.pairs[:, keep], self.sign, self.cosines[keep], self.weight)


class Tension:
    """The pull of several bounds on the rows that they touch.

    Args:
        bounds: The bounds.

    Attributes:
        rows: The rows of the table that are touched, ascending, shape (nodes,).
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
        """How far the bounds are from holding in all, and the mean pull on each node.

        Args:
            current: Where the nodes are, of length one, (nodes, dim).
        """
        cosines = self._cosines(current)
        lacking = self._sign * (self._bound - cosines)
        open_ = lacking > ENOUGH
        first, second, cosines = self._first[open_], self._second[open_], cosines[open_]
        weight, signed = self._weight[open_], (self._weight * self._sign)[open_]
        ends, others = np.concatenate([first, second]), np.concatenate([second, first])
        nodes = len(self.rows)
        strength = np.bincount(ends, np.tile(weight, 2), minlength=nodes)
        strength[strength == 0] = 1.0
        shares = (np.tile(signed, 2) / strength[ends]).astype(np.float32)
        pulled = sparse().csr_matrix((shares, (ends, others)), shape=(nodes, nodes)) @ current
        along = np.bincount(ends, shares * np.tile(cosines, 2), minlength=nodes)
        pulled -= along.astype(np.float32)[:, None] * current
        return float(weight @ lacking[open_]), pulled

    def _cosines(self, current: Floats) -> NDArray[np.float64]:
        cosines = np.empty(len(self._first))
        for start in range(0, len(cosines), LINKS_AT_ONCE):
            block = slice(start, start + LINKS_AT_ONCE)
            cosines[block] = np.einsum("ij,ij->i", current[self._first[block]], current[self._second[block]])
        return cosines


def _near(
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
