"""Relaxation of a graph: pass by pass, each node moves towards its neighbours, as sparse products.

A rule gives each node i weights over its neighbors, and the node moves to

    q_i = (hold q'_i + pull sum_j w_ij q_j) / scale_i

where q' is its initial position. The reported objective is

    sum_i importance_i (hold |q_i - q'_i|^2 + pull / 2 sum_j w_ij |q_i - q_j|^2)

If importance_i w_ij is fixed and symmetric and scale_i = hold + pull sum_j w_ij, this is convex, the move is
its minimum over q_i alone, and no pass of either order raises it: Gauss-Seidel is coordinate descent,
and for Jacobi the system is diagonally dominant.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from wordstill.postprocess.retrofit.graph import Csr, Distances, Floats, LinkDistances, Links

Order = Literal["jacobi", "gauss-seidel"]

FIXED = (None, "original")
"""Distances that do not change: with them, neither do the weights."""
NODES_AT_ONCE, FEWEST_NODES = 512, 32


@dataclass(frozen=True, eq=False)
class Pull:
    """How some nodes move, as in the equations above."""

    hold: float
    pull: float
    weights: Csr
    """w, (some, nodes) float32."""
    scale: NDArray[np.float64]
    """Shape (some,)."""
    importance: NDArray[np.float64]
    """Shape (some,)."""


class Rule(Protocol):
    """How strongly neighbours pull."""

    @property
    def distances(self) -> Distances | None:
        """Which distances it needs; None for none."""
        ...

    def __call__(self, links: Links, squared: NDArray[np.float64] | None) -> Pull:
        """The pull on some nodes, given the squared distances over their links, shape (links,)."""
        ...


def relax(original: Floats, weights: Csr, rule: Rule, *, passes: int, order: Order) -> tuple[Floats, tuple[float, ...]]:
    """The final positions of the nodes, and the objective before the first pass and after each.

    Positions are (nodes, dim), links (nodes, nodes) and symmetric. The order ``jacobi`` moves all nodes at once,
    from the positions of the last pass; ``gauss-seidel`` one after the other in row order, each from the others'
    current positions.
    """
    in_turn = order == "gauss-seidel"
    current = original.copy()
    target = current if in_turn else np.empty_like(original)
    groups = in_row_order(weights) if in_turn else [np.arange(len(original))]
    with ThreadPoolExecutor(_cores()) as pool:
        between = LinkDistances("current", weights, original, pool)
        needed = _needed(rule, weights, original, between, pool)
        moves = _Moves(rule, groups, weights, original, needed)
        objective = _Objective(rule, weights, original, needed, between)
        values = [objective.at(current, pool)]
        for _ in range(passes):
            moves.run(pool, current, target)
            current, target = target, current
            for distances in (between,) if needed in (None, between) else (between, needed):
                distances.update(current, in_turn=in_turn)
            values.append(objective.at(current, pool))
    return current, tuple(values)


def in_row_order(weights: Csr) -> list[NDArray[np.int64]]:
    """Groups of nodes that can move at once with the same result as one after the other in row order.

    A node comes one group after the last of the neighbors before it in row order. So no two nodes of a group
    are neighbors, and each node sees exactly the neighbors before it moved.
    """
    starts, neighbors = weights.indptr.tolist(), weights.indices.tolist()
    level = [0] * weights.shape[0]
    for node in range(len(level)):
        before = [level[other] for other in neighbors[starts[node] : starts[node + 1]] if other < node]
        level[node] = max(before, default=-1) + 1
    levels = np.array(level)
    nodes = np.argsort(levels, kind="stable")
    return np.split(nodes, np.flatnonzero(np.diff(levels[nodes])) + 1)


class _Moves:
    """The moves of one pass: groups of nodes in order, the blocks of a group in parallel."""

    def __init__(
        self,
        rule: Rule,
        groups: list[NDArray[np.int64]],
        weights: Csr,
        original: Floats,
        distances: LinkDistances | None,
    ) -> None:
        self._rule, self._original, self._distances = rule, original, distances
        self._groups = [_blocks(group, weights) for group in groups]
        self._fixed: list[list[Pull]] | None = None
        if rule.distances in FIXED:
            self._fixed = [[_pull(rule, links, distances) for links in group] for group in self._groups]

    def run(self, pool: Executor, current: Floats, target: Floats) -> None:
        """Write the new positions to ``target``, which may be ``current`` itself."""
        work = partial(self._move, current, target)
        for number, group in enumerate(self._groups):
            pulls: list[Pull] | list[None] = self._fixed[number] if self._fixed else [None] * len(group)
            list(pool.map(work, group, pulls) if len(group) > 1 else map(work, group, pulls))

    def _move(self, current: Floats, target: Floats, links: Links, fixed: Pull | None) -> None:
        pull = fixed or _pull(self._rule, links, self._distances, current if target is current else None)
        moved = pull.weights @ current
        moved *= (pull.pull / pull.scale).astype(np.float32)[:, None]
        held = self._original[links.nodes]
        held *= (pull.hold / pull.scale).astype(np.float32)[:, None]
        moved += held
        target[links.nodes] = moved


class _Objective:
    """The objective of the module's docstring."""

    def __init__(
        self, rule: Rule, weights: Csr, original: Floats, needed: LinkDistances | None, between: LinkDistances
    ) -> None:
        self._rule, self._original, self._needed, self._between = rule, original, needed, between
        self._whole = Links(np.arange(len(original)), weights, np.arange(weights.nnz))
        self._fixed = _pull(rule, self._whole, needed) if rule.distances in FIXED else None

    def at(self, current: Floats, pool: Executor) -> float:
        """Its value with all nodes at ``current``; the distances must be up to date."""
        pull = self._fixed or _pull(self._rule, self._whole, self._needed)
        pulled = np.add.reduceat(pull.weights.data * self._between.of(self._whole), pull.weights.indptr[:-1])
        starts = range(0, len(current), NODES_AT_ONCE)
        away = np.concatenate(list(pool.map(partial(self._away, current), starts)), dtype=np.float64)
        return float(pull.importance @ (pull.hold * away + pull.pull / 2 * pulled))

    def _away(self, current: Floats, start: int) -> Floats:
        """Squared distances of some nodes from their initial positions."""
        moved_by = current[start : start + NODES_AT_ONCE] - self._original[start : start + NODES_AT_ONCE]
        squared: Floats = np.einsum("ij,ij->i", moved_by, moved_by)
        return squared


def _needed(rule: Rule, weights: Csr, original: Floats, between: LinkDistances, pool: Executor) -> LinkDistances | None:
    """The distances that a rule needs."""
    if rule.distances is None:
        return None
    return between if rule.distances == "current" else LinkDistances(rule.distances, weights, original, pool)


def _pull(rule: Rule, links: Links, distances: LinkDistances | None, moving: Floats | None = None) -> Pull:
    """The pull on some nodes; ``moving`` has the current positions in the middle of a Gauss-Seidel pass."""
    if distances is None:
        return rule(links, None)
    return rule(links, distances.of(links) if moving is None else distances.of_moving(links, moving))


def _blocks(nodes: NDArray[np.int64], weights: Csr) -> list[Links]:
    """Nodes with their links, in blocks that fit a core's cache and occupy every core."""
    size = min(NODES_AT_ONCE, max(FEWEST_NODES, -(-len(nodes) // _cores())))
    return [Links.of(nodes[start : start + size], weights) for start in range(0, len(nodes), size)]


def _cores() -> int:
    """Threads worth starting: sparse products and numpy release the GIL."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
