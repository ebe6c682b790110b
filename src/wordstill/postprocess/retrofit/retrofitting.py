"""``faruqui`` and ``context-graph``: retrofitting moves words towards their neighbors in a lexicon."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import LARGEST, Config, Range
from wordstill.errors import UsageError, unknown_name
from wordstill.postprocess.retrofit.graph import (
    Case,
    Csr,
    Distances,
    Floats,
    Graph,
    LeastCosine,
    LexiconUpdate,
    LinkDistances,
    Links,
)
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.vectors import WordVectors

Order = Literal["jacobi", "gauss-seidel"]

FIXED = (None, "original")
"""Distances that do not change: with them, neither do the weights."""
NODES_AT_ONCE, FEWEST_NODES = 512, 32
POSITIVE = Range(0, LARGEST, above=True)
Positive: TypeAlias = Annotated[float, POSITIVE]
LARGEST_NU = 1_000_000
"""Beyond it the kernel is exp(-d^2 / sigma) to six digits."""


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
    """How strongly neighbors pull."""

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


@dataclass(frozen=True)
class RetrofitConfig(Config):
    """Settings shared by the methods of retrofitting."""

    lexicon: str | Lexicon = ""
    """The lexicon, or a source for `open_lexicon`."""
    passes: Annotated[int, Range(0)] = 10
    """Moves of each word."""
    order: Order = "jacobi"
    """``jacobi`` moves all words at once; ``gauss-seidel`` one after the other in the order of the table."""
    unit: bool = True
    """Scale every vector of the table to length one first."""
    case: Case = "fallback"
    """``fallback`` looks up a word as written in the lexicon, then in lower case; ``exact`` only as written."""
    least_cosine: LeastCosine = None
    """Minimum cosine of a word with its original vector; words that turn further are turned back, which recovers
    analogies before it costs similarity. None sets no bound."""


@dataclass(frozen=True)
class FaruquiConfig(RetrofitConfig):
    r"""Retrofitting: each word becomes a mean of its own vector and its neighbors'.

    .. math::
        q_i = \frac{\alpha q'_i + \sum_j \beta_{ij} q_j}{\alpha + \sum_j \beta_{ij}}

    Paper: Faruqui, Dodge, Jauhar, Dyer, Hovy, Smith 2015, "Retrofitting Word Vectors to Semantic Lexicons":
    :math:`\alpha = 1`, :math:`\beta_{ij} = 1 / \mathrm{degree}(i)`, 10 passes.

    These :math:`\beta` differ between the two ends of a link, so the update minimizes not the paper's Eq. 1
    but the same sum with word i counted degree(i) times. That sum is the reported objective; it never rises.

    Relations: a `ContextGraphConfig` whose kernel is flat.
    Deviations from the authors' script: words keep their case in the table; links count in both directions
    (all but 2 of PPDB's 374,550 are listed so); words with digits are kept.
    """

    alpha: Positive = 1.0
    """How strongly a word is held by its own vector."""
    beta: Annotated[float | None, POSITIVE] = None
    """How strongly one neighbor pulls; None is the paper's 1 / degree, a total of 1 split among
    the neighbors by their weights."""

    convex: ClassVar[bool] = True
    """The objective never rises."""
    distances: ClassVar[None] = None
    """The weights do not depend on the vectors."""

    def __call__(self, links: Links, squared: NDArray[np.float64] | None) -> Pull:
        """The pull on some nodes."""
        degree = np.asarray(links.weights.sum(axis=1, dtype=np.float64)).ravel()
        if self.beta is None:
            shares = links.weights.multiply(1 / degree[:, None]).tocsr().astype(np.float32)
            return Pull(self.alpha, 1.0, shares, np.full(len(degree), self.alpha + 1.0), degree)
        scale = self.alpha + self.beta * degree
        return Pull(self.alpha, self.beta, links.weights, scale, np.ones(len(degree)))


@dataclass(frozen=True)
class ContextGraphConfig(RetrofitConfig):
    r"""Graph retrofitting: the same mean, with a kernel that gives nearer neighbors more weight.

    .. math::
        q_i = \alpha q'_i + \beta \frac{\sum_j \gamma_{ij} q_j}{Z_i}, \qquad
        \gamma_{ij} = C_\nu \left( 1 + \frac{d_{ij}^2}{\sigma \nu} \right)^{-(\nu + 1)}, \qquad
        C_\nu = 2 \pi \left( \frac{\Gamma((\nu + 1) / 2)}{\sqrt{\nu \pi}\, \Gamma(\nu / 2)} \right)^2

    Paper: Zheng, Wang, Wang, Xia, Huang, Zhao, Zhang, Li 2022, "Using Context-to-Vector with Graph
    Retrofitting to Improve Word Embeddings", Eq. 9 to 13. Three settings of it have names:

    ============ ==================== =========================== =============== ============
    name         d is between         Z is                        order           convex
    ============ ==================== =========================== =============== ============
    (default)    q'_i and q'_j        the sum of gamma            Jacobi          yes
    ``RELEASED`` q'_i and q_j         the sum of gamma            Gauss-Seidel    no
    ``PRINTED``  q_i and q_j          the number of neighbors    Gauss-Seidel    no
    ============ ==================== =========================== =============== ============

    With the sum, :math:`C_\nu` cancels, and the whole is divided by :math:`\alpha + \beta`, which makes it a
    weighted mean; at :math:`\nu = 100` on unit vectors the weights are a softmax of twice the cosine. With
    the number, vectors get shorter.

    Relations: `FaruquiConfig` is the same with equal weights.
    Deviations from the authors' script: words move in the order of the table and not in that of a set's
    hashes; words keep their case; the gamma function is computed in logarithms.
    """

    alpha: Positive = 0.5
    """How strongly a word is held by its own vector."""
    beta: Positive = 0.5
    """How strongly its neighbors pull."""
    nu: Annotated[float, Range(0, LARGEST_NU, above=True)] = 100.0
    """Degrees of freedom of the kernel; fewer make its tail heavier."""
    sigma: Positive = 1.0
    """Scale of squared distances; a smaller one favors near neighbors."""
    distances: Distances = "original"
    """Between initial vectors (``original``), current ones (``current``), or the initial vector of a word and
    the current ones of its neighbors (``mixed``)."""
    divisor: Literal["sum", "count"] = "sum"
    """``sum`` of the weights, or ``count`` of the neighbors."""

    @property
    def convex(self) -> bool:
        """Whether the objective never rises."""
        return self.distances == "original" and self.divisor == "sum"

    def __call__(self, links: Links, squared: NDArray[np.float64] | None) -> Pull:
        """The pull on some nodes."""
        assert squared is not None
        logs = log_kernel(squared, self.nu, self.sigma)
        logs += np.log(links.weights.data)
        if self.divisor == "count":
            count = np.asarray(links.weights.sum(axis=1, dtype=np.float64)).ravel()
            shares = np.exp(logs) / _spread(count, links.weights)
            return Pull(self.alpha, self.beta, _like(links.weights, shares), np.ones(len(count)), count)
        # Subtracting the largest log-weight of a row keeps far neighbors from all becoming zero.
        starts = links.weights.indptr[:-1]
        largest = np.maximum.reduceat(logs, starts)
        shares = np.exp(logs - _spread(largest, links.weights))
        total = np.add.reduceat(shares, starts)
        shares /= _spread(total, links.weights)
        scale = np.full(len(total), self.alpha + self.beta)
        return Pull(self.alpha, self.beta, _like(links.weights, shares), scale, total * np.exp(largest))


PRINTED = ContextGraphConfig(distances="current", divisor="count", order="gauss-seidel")
RELEASED = ContextGraphConfig(distances="mixed", divisor="sum", order="gauss-seidel")
PRESETS: Mapping[str, FaruquiConfig | ContextGraphConfig] = {
    "context-graph": ContextGraphConfig(),
    "context-graph-printed": PRINTED,
    "context-graph-released": RELEASED,
    "faruqui": FaruquiConfig(),
}
"""The named configurations of the command line."""


class _Retrofit(LexiconUpdate):
    config: FaruquiConfig | ContextGraphConfig

    def _moved(self, vectors: WordVectors, matrix: Floats) -> tuple[NDArray[np.int64], Floats, tuple[float, ...]]:
        graph = Graph.of(self.lexicon("lexicon"), vectors, self.config.case)
        config = self.config
        moved, objective = relax(matrix[graph.rows], graph.links, config, passes=config.passes, order=config.order)
        return graph.rows, moved, objective


class Faruqui(_Retrofit):
    """Retrofitting as in Faruqui et al. 2015; see `FaruquiConfig`.

    Example:
        >>> Faruqui(FaruquiConfig(lexicon="ppdb-xl.txt")).fit_transform(vectors)  # doctest: +SKIP
    """

    name: ClassVar[str] = "faruqui.v1"
    config_type: ClassVar[type[FaruquiConfig]] = FaruquiConfig


class ContextGraph(_Retrofit):
    """Retrofitting as in Zheng et al. 2022; see `ContextGraphConfig`."""

    name: ClassVar[str] = "context-graph.v1"
    config_type: ClassVar[type[ContextGraphConfig]] = ContextGraphConfig


def retrofitter(method: str, lexicon: str | Lexicon, **settings: Any) -> Faruqui | ContextGraph:
    """The transform of a method by its name in ``PRESETS``; ``settings`` are fields that differ from the preset."""
    if method not in PRESETS:
        raise unknown_name("method of retrofitting", method, PRESETS)
    preset = PRESETS[method]
    if unknown := sorted(settings.keys() - vars(preset).keys()):
        raise UsageError(f"{method} has no setting {' or '.join(unknown)}; it has {', '.join(sorted(vars(preset)))}.")
    config = replace(preset, lexicon=lexicon, **settings)
    return Faruqui(config) if isinstance(config, FaruquiConfig) else ContextGraph(config)


def log_kernel(squared: NDArray[np.floating], nu: float, sigma: float = 1.0) -> NDArray[np.float64]:
    """The logarithm of C (1 + d^2 / (sigma nu))^-(nu + 1), for squared distances."""
    logs: NDArray[np.float64] = np.log1p(np.asarray(squared, dtype=np.float64) / (sigma * nu))
    return log_normalizer(nu) - (nu + 1) * logs


def log_normalizer(nu: float) -> float:
    """The logarithm of C = 2 pi (Gamma((nu + 1) / 2) / (sqrt(nu pi) Gamma(nu / 2)))^2.

    The gamma function itself leaves the range of float64 at nu = 342.
    """
    ratio = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - math.log(nu * math.pi) / 2
    return math.log(2 * math.pi) + 2 * ratio


def _spread(values: NDArray[np.float64], weights: Csr) -> NDArray[np.float64]:
    """The value of each row, repeated for each of its links."""
    return np.repeat(values, np.diff(weights.indptr))


def _like(weights: Csr, values: NDArray[np.float64]) -> Csr:
    """A sparse matrix with the same links and other values."""
    return type(weights)((values.astype(np.float32), weights.indices, weights.indptr), weights.shape)
