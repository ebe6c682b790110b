"""How far apart linked nodes are, worked out anew only over links whose ends have moved."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordstill.postprocess.retrofit.graph import Csr, Floats, Links

Distances = Literal["original", "mixed", "current"]
"""Between nodes as they were, as they are, or a node as it was and its neighbours as they are."""

LINKS_AT_ONCE = 512
"""Two blocks of so many rows stay in a core's cache."""
BLOCKS_FOR_A_THREAD = 16


class LinkDistances:
    """The squared distance over each link, in the order of the sparse matrix.

    A link is looked at from both of its ends; seen from the node with the smaller number it is a *later* one.
    Nodes move in the order of their numbers, or all at once. In order, a node sees its later neighbours where
    they were after the last pass, so only the distances to earlier ones are worked out when it moves; and
    after the pass those to later ones, because the earlier ones have not moved since.

    Args:
        kind: Between which places distances are.
        weights: The links, (nodes, nodes), symmetric.
        original: Where the nodes were, (nodes, dim).
        pool: Does the work.
    """

    def __init__(self, kind: Distances, weights: Csr, original: Floats, pool: Executor) -> None:
        self._kind, self._original, self._pool = kind, original, pool
        self._rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
        self._columns: NDArray[np.int32] = weights.indices
        self._later = np.flatnonzero(self._columns > self._rows)
        # Sorted by column and then by row, the links of a symmetric matrix are those seen from the other end.
        self._earlier = np.argsort(self._columns, kind="stable")[self._later]
        self._squared = np.empty(len(self._columns), dtype=np.float64)
        self._work_out_all(self._later, original, original)
        self._mirror()

    def of(self, links: Links) -> NDArray[np.float64]:
        """The squared distances over the links of some nodes, as they were after the last pass."""
        squared: NDArray[np.float64] = self._squared[links.places]
        return squared

    def seen_in_turn(self, links: Links, current: Floats) -> NDArray[np.float64]:
        """The same for nodes whose turn it is: their earlier neighbours have moved already."""
        if self._kind != "original":
            earlier = links.places[self._columns[links.places] < self._rows[links.places]]
            self._work_out(self._centres(current), current, earlier)
        return self.of(links)

    def update(self, current: Floats, *, in_turn: bool) -> None:
        """All nodes have moved, one after the other (``in_turn``) or at once."""
        if self._kind == "original":
            return
        self._work_out_all(self._later, self._centres(current), current)
        if self._kind == "current":
            self._mirror()
        elif not in_turn:
            self._work_out_all(self._earlier, self._original, current)

    def _centres(self, current: Floats) -> Floats:
        return current if self._kind == "current" else self._original

    def _mirror(self) -> None:
        self._squared[self._earlier] = self._squared[self._later]

    def _work_out_all(self, numbers: NDArray[np.int64], centres: Floats, neighbours: Floats) -> None:
        parts = range(0, len(numbers), LINKS_AT_ONCE * BLOCKS_FOR_A_THREAD)
        blocks = [numbers[start : start + parts.step] for start in parts]
        list(self._pool.map(partial(self._work_out, centres, neighbours), blocks))

    def _work_out(self, centres: Floats, neighbours: Floats, numbers: NDArray[np.int64]) -> None:
        for start in range(0, len(numbers), LINKS_AT_ONCE):
            block = numbers[start : start + LINKS_AT_ONCE]
            between = np.take(centres, self._rows[block], axis=0)
            between -= np.take(neighbours, self._columns[block], axis=0)
            self._squared[block] = np.einsum("ij,ij->i", between, between)
