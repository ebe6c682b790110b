"""Pulling every node of a graph towards its neighbours, pass by pass, as sparse products.

A rule gives each node i weights over its neighbours, and the node moves to

    q_i = (hold q'_i + pull sum_j w_ij q_j) / scale_i

with q' as it was in the beginning. What is reported is

    sum_i importance_i (hold |q_i - q'_i|^2 + pull / 2 sum_j w_ij |q_i - q_j|^2)

Where importance_i w_ij is fixed and symmetric and scale_i = hold + pull sum_j w_ij, this is convex, the move
is its minimum over q_i alone, and no pass of either order raises it: Gauss-Seidel descends along coordinates,
and Jacobi because the matrix of the system is diagonally dominant.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.postprocess.retrofit.graph import Csr

Floats: TypeAlias = NDArray[np.float32]
Order = Literal["jacobi", "gauss-seidel"]

NODES_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Links:
    """Some nodes with their links."""

    nodes: NDArray[np.int64]
    """Shape (some,)."""
    weights: Csr
    """The lexicon's weights, (some, nodes)."""


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
    def fixed(self) -> bool:
        """Whether the weights do not depend on where the nodes are now."""
        ...

    def __call__(self, links: Links, current: Floats, original: Floats) -> Pull:
        """The pull on some nodes, all nodes being at ``current``, (nodes, dim)."""
        ...


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Where the nodes ended, and the objective before the first pass and after each."""

    matrix: Floats
    objective: tuple[float, ...]


def relax(original: Floats, weights: Csr, rule: Rule, *, passes: int, order: Order) -> Relaxed:
    """Move every node ``passes`` times.

    Args:
        original: Where the nodes are, (nodes, dim).
        weights: The links between them, (nodes, nodes), symmetric.
        rule: How strongly neighbours pull.
        passes: How often each node is moved.
        order: ``jacobi`` moves all at once, from where they were after the last pass; ``gauss-seidel`` one
            after the other in the order of the rows, each from where the others are by then.
    """
    at_once = _Moves(rule, [_blocks(np.arange(len(original)), weights)], original)
    in_turn = _Moves(rule, in_row_order(weights), original) if order == "gauss-seidel" else None
    current, spare, objective = original.copy(), np.empty_like(original), []
    with ThreadPoolExecutor(_cores()) as pool:
        for number in range(passes + 1):
            last = number == passes
            objective.append(at_once.run(pool, current, None if last or in_turn else spare))
            if in_turn and not last:
                in_turn.run(pool, current, current)
            elif not last:
                current, spare = spare, current
    return Relaxed(current, tuple(objective))


def in_row_order(weights: Csr) -> list[list[Links]]:
    """Groups of nodes that may move at once with the same result as one after the other in row order.

    A node comes one group after the last of its neighbours that stand before it, so no two nodes of a group
    are neighbours, and each sees exactly those neighbours moved that precede it. Groups are lists of blocks.
    """
    starts, neighbours = weights.indptr.tolist(), weights.indices.tolist()
    level = [0] * weights.shape[0]
    for node in range(len(level)):
        before = [level[other] for other in neighbours[starts[node] : starts[node + 1]] if other < node]
        level[node] = max(before, default=-1) + 1
    levels = np.array(level)
    nodes = np.argsort(levels, kind="stable")
    groups = np.split(nodes, np.flatnonzero(np.diff(levels[nodes])) + 1)
    return [_blocks(group, weights) for group in groups]


class _Moves:
    """The moves of one pass: group after group of nodes, and the blocks of a group at once."""

    def __init__(self, rule: Rule, groups: list[list[Links]], original: Floats) -> None:
        self._rule, self._groups, self._original = rule, groups, original
        self._fixed = (
            [[rule(links, original, original) for links in group] for group in groups] if rule.fixed else None
        )

    def run(self, pool: ThreadPoolExecutor, current: Floats, target: Floats | None) -> float:
        """Write the new places of all nodes to ``target``, if there is one.

        Gives the objective before, except where nodes move in place and there is no such moment.
        """
        objective, lengths = 0.0, None if target is current else _row_dots(current, current)
        for number, group in enumerate(self._groups):
            pulls: list[Pull] | list[None] = self._fixed[number] if self._fixed else [None] * len(group)
            work = partial(self._move, current, target, lengths)
            done = pool.map(work, group, pulls) if len(group) > 1 else map(work, group, pulls)
            objective += sum(done)
        return objective

    def _move(
        self,
        current: Floats,
        target: Floats | None,
        lengths: NDArray[np.float64] | None,
        links: Links,
        fixed: Pull | None,
    ) -> float:
        pull = fixed or self._rule(links, current, self._original)
        origin, sums = self._original[links.nodes], pull.weights @ current
        objective = 0.0
        if lengths is not None:
            objective = _objective(pull, current[links.nodes], origin, sums, lengths)
        if target is not None:
            origin *= (pull.hold / pull.scale).astype(np.float32)[:, None]
            sums *= (pull.pull / pull.scale).astype(np.float32)[:, None]
            target[links.nodes] = origin + sums
        return objective


def _objective(pull: Pull, here: Floats, origin: Floats, sums: Floats, lengths: NDArray[np.float64]) -> float:
    """What some nodes add to the objective; float32 dots are summed in float64, where their errors cancel."""
    own = _row_dots(here, here)
    outgoing = np.asarray(pull.weights.sum(axis=1, dtype=np.float64)).ravel()
    edges = outgoing * own + pull.weights @ lengths - 2 * _row_dots(here, sums)
    away = here - origin
    return float(pull.importance @ (pull.hold * _row_dots(away, away) + pull.pull / 2 * edges))


def _row_dots(first: Floats, second: Floats) -> NDArray[np.float64]:
    dots: NDArray[np.float64] = np.einsum("ij,ij->i", first, second).astype(np.float64)
    return dots


def _blocks(nodes: NDArray[np.int64], weights: Csr) -> list[Links]:
    """Nodes with their links, in blocks whose vectors stay in a core's cache."""
    places = range(0, len(nodes), NODES_AT_ONCE)
    parts = [nodes[start : start + NODES_AT_ONCE] for start in places]
    return [Links(part, weights[part]) for part in parts]


def _cores() -> int:
    """Threads that are worth having: sparse products and numpy let each other run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
