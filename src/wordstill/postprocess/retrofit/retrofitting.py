"""``faruqui`` and ``context-graph``: words move towards those that a lexicon links them with."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import LARGEST, Config, Range
from wordstill.errors import UsageError, unknown_name
from wordstill.postprocess.base import WORDS, Transform, require_dim, with_matrix, words_digest
from wordstill.postprocess.retrofit.graph import Case, Csr, Distances, Floats, Graph, Links
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.relaxation import Order, Pull, relax
from wordstill.postprocess.retrofit.wordnet import open_lexicon
from wordstill.vectors import WordVectors
from wordstill.vectors.search import CACHED_ROWS

POSITIVE = Range(0, LARGEST, above=True)
Positive: TypeAlias = Annotated[float, POSITIVE]


@dataclass(frozen=True)
class RetrofitConfig(Config):
    """Settings that the methods share."""

    lexicon: str | Lexicon = ""
    """Which words belong together, or what `open_lexicon` makes it of."""
    passes: Annotated[int, Range(0)] = 10
    """How often each word is moved."""
    order: Order = "jacobi"
    """``jacobi`` moves all words at once; ``gauss-seidel`` one after the other in the order of the table."""
    unit: bool = True
    """Whether every vector of the table is brought to length one first."""
    case: Case = "fallback"
    """``fallback`` looks a word up as the lexicon has it, then in lower case; ``exact`` only the first."""


ROWS, SHIFTS, LENGTHS, OBJECTIVE, ORIGINS = "rows", "shifts", "lengths", "objective", "origins"
RELATIONS = {"antonyms": ("antonyms",)}
"""What is read of a wordnet, by setting; for all others its synonyms."""


class Moving(Transform):
    """A transform whose state is the way that each word goes. It applies to the words that it learnt from."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._origins: dict[str, Any] = {}

    @property
    def objective(self) -> tuple[float, ...]:
        """The objective before the first pass and after each."""
        return tuple(self.learnt[OBJECTIVE].tolist())

    @property
    def moved_words(self) -> int:
        """How many words were moved."""
        return len(self.learnt[ROWS])

    def lexicon(self, setting: str) -> Lexicon:
        """The lexicon that a setting names or is."""
        given = getattr(self.config, setting)
        if not isinstance(given, Lexicon):
            if not given:
                raise UsageError(f"{self.short_name}:{setting} must name a lexicon; got none.")
            given = open_lexicon(given, relations=RELATIONS.get(setting, ("synonyms",)))
        self._origins[setting] = dict(given.origin)
        return given

    def settings(self) -> dict[str, Any]:
        """The settings as plain data; a lexicon is told by where it came from."""
        origins = json.loads(self.state[ORIGINS].tobytes()) if self.state is not None else {}
        return {
            name: origins.get(name, dict(value.origin) if isinstance(value, Lexicon) else value)
            for name, value in vars(self.config).items()
        }

    def entry(self) -> dict[str, Any]:
        """Name, settings and digest, how many words were moved, and the objective of each pass."""
        return {**super().entry(), "moved_words": self.moved_words, "objective": list(self.objective)}

    @abstractmethod
    def _moved(
        self, vectors: WordVectors, matrix: Floats
    ) -> tuple[NDArray[np.int64], Floats, tuple[float, ...]]:
        """Rows that move, their new vectors in an array of its own, and the objective of each pass.

        Args:
            vectors: The table, for its words.
            matrix: Its vectors, of length one if the settings ask for that; not to be changed.
        """

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        matrix = vectors.unit if self.config.unit else np.asarray(vectors.matrix, dtype=np.float32)
        rows, moved, objective = self._moved(vectors, matrix)
        for block in _blocks(rows):
            moved[block] -= matrix[rows[block]]
        state: dict[str, NDArray[Any]] = {
            ROWS: rows,
            SHIFTS: moved,
            OBJECTIVE: np.array(objective),
            ORIGINS: np.frombuffer(json.dumps(self._origins, sort_keys=True).encode(), dtype=np.uint8),
            WORDS: words_digest(vectors.words),
        }
        # The lengths mark unit vectors; the digest in the provenance covers their values.
        return {**state, LENGTHS: _lengths(vectors)} if self.config.unit else state

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, state[SHIFTS].shape[1], self.short_name)
        _require_same(vectors, state, self.short_name)
        matrix = np.array(vectors.unit if LENGTHS in state else vectors.matrix, dtype=np.float32)
        for block in _blocks(state[ROWS]):
            matrix[state[ROWS][block]] += state[SHIFTS][block]
        return with_matrix(vectors, matrix)


def _blocks(rows: NDArray[np.int64]) -> list[slice]:
    """A few rows at a time, because a copy of all takes long."""
    return [slice(start, start + CACHED_ROWS) for start in range(0, len(rows), CACHED_ROWS)]


def _require_same(vectors: WordVectors, state: Mapping[str, NDArray[Any]], name: str) -> None:
    if not np.array_equal(words_digest(vectors.words), state[WORDS]):
        raise UsageError(f"{name} moves single words, and this table has others than it has learnt from.")


def _lengths(vectors: WordVectors) -> NDArray[np.float32]:
    """[words] the lengths of the vectors, 1 for zeros."""
    lengths = np.concatenate(
        [np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64)) for block in vectors.blocks()]
    )
    return np.where(lengths == 0, 1.0, lengths).astype(np.float32)


@dataclass(frozen=True)
class FaruquiConfig(RetrofitConfig):
    r"""Every word between its own vector and those of its neighbours.

    .. math::
        q_i = \frac{\alpha q'_i + \sum_j \beta_{ij} q_j}{\alpha + \sum_j \beta_{ij}}

    Paper: Faruqui, Dodge, Jauhar, Dyer, Hovy, Smith 2015, "Retrofitting Word Vectors to Semantic Lexicons":
    :math:`\alpha = 1`, :math:`\beta_{ij} = 1 / \mathrm{degree}(i)`, 10 passes.

    With those :math:`\beta`, which differ from either end of a link, the update is not the minimum of the
    paper's Eq. 1 but of the same sum with word i counted degree(i) times; that one is reported, and it never
    rises.

    Relations: a `ContextGraphConfig` whose kernel is flat.
    Deviations from the authors' script: words keep their case in the table; links count in both directions
    (all but 2 of PPDB's 374,550 are listed so); words with digits are not left out.
    """

    alpha: Positive = 1.0
    """How strongly a word is held by its own vector."""
    beta: Annotated[float | None, POSITIVE] = None
    """How strongly one neighbour pulls; None is the paper's 1 / degree, which shares 1 out among the
    neighbours of a word by their weights."""

    @property
    def convex(self) -> bool:
        """The objective never rises."""
        return True

    @property
    def distances(self) -> None:
        """The weights do not depend on the vectors."""
        return None

    def __call__(self, links: Links, squared: NDArray[np.float64] | None) -> Pull:
        """The pull on some nodes."""
        degree = np.asarray(links.weights.sum(axis=1, dtype=np.float64)).ravel()
        if self.beta is None:
            shares = links.weights.multiply(1 / degree[:, None]).tocsr().astype(np.float32)
            return Pull(self.alpha, 1.0, shares, np.full(len(degree), self.alpha + 1.0), degree)
        scale = self.alpha + self.beta * degree
        return Pull(self.alpha, self.beta, links.weights, scale, np.ones(len(degree)))


Divisor = Literal["sum", "count"]

LARGEST_NU = 1_000_000
"""Beyond it the kernel is exp(-d^2 / sigma) to six digits."""


@dataclass(frozen=True)
class ContextGraphConfig(RetrofitConfig):
    r"""Every word between its own vector and its neighbours', the nearer ones counting for more.

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
    ``PRINTED``  q_i and q_j          the number of neighbours    Gauss-Seidel    no
    ============ ==================== =========================== =============== ============

    With the sum, :math:`C_\nu` cancels, and the whole is divided by :math:`\alpha + \beta`, which makes it a
    weighted mean; at :math:`\nu = 100` on unit vectors the weights are a softmax of twice the cosine. With
    the number, vectors get shorter.

    Relations: `FaruquiConfig` is the same with equal weights.
    Deviations from the authors' script: words move in the order of the table and not in that of a set's
    hashes; words keep their case; the gamma function is taken in logarithms.
    """

    alpha: Positive = 0.5
    """How strongly a word is held by its own vector."""
    beta: Positive = 0.5
    """How strongly its neighbours pull."""
    nu: Annotated[float, Range(0, LARGEST_NU, above=True)] = 100.0
    """Degrees of freedom of the kernel; fewer make its tail heavier."""
    sigma: Positive = 1.0
    """Scale of squared distances; less lets near neighbours count for more."""
    distances: Distances = "original"
    """Between vectors as they were (``original``), as they are (``current``), or a word as it was and its
    neighbours as they are (``mixed``)."""
    divisor: Divisor = "sum"
    """``sum`` of the weights, or ``count`` of the neighbours."""

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
        # The largest weight of a row is taken out first, so that far neighbours do not all become zero.
        starts = links.weights.indptr[:-1]
        largest = np.maximum.reduceat(logs, starts)
        shares = np.exp(logs - _spread(largest, links.weights))
        total = np.add.reduceat(shares, starts)
        shares /= _spread(total, links.weights)
        scale = np.full(len(total), self.alpha + self.beta)
        return Pull(self.alpha, self.beta, _like(links.weights, shares), scale, total * np.exp(largest))


PRINTED = ContextGraphConfig(distances="current", divisor="count", order="gauss-seidel")
RELEASED = ContextGraphConfig(distances="mixed", divisor="sum", order="gauss-seidel")


def log_kernel(squared: NDArray[np.floating], nu: float, sigma: float = 1.0) -> NDArray[np.float64]:
    """The logarithm of C (1 + d^2 / (sigma nu))^-(nu + 1), for squared distances."""
    logs: NDArray[np.float64] = np.log1p(np.asarray(squared, dtype=np.float64) / (sigma * nu))
    return log_normaliser(nu) - (nu + 1) * logs


def log_normaliser(nu: float) -> float:
    """The logarithm of C = 2 pi (Gamma((nu + 1) / 2) / (sqrt(nu pi) Gamma(nu / 2)))^2.

    The gamma function itself leaves the range of float64 at nu = 342.
    """
    ratio = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - math.log(nu * math.pi) / 2
    return math.log(2 * math.pi) + 2 * ratio


def _spread(values: NDArray[np.float64], weights: Csr) -> NDArray[np.float64]:
    """A value of each row, for each link of it."""
    return np.repeat(values, np.diff(weights.indptr))


def _like(weights: Csr, values: NDArray[np.float64]) -> Csr:
    """A sparse matrix with the same links and other values."""
    return type(weights)((values.astype(np.float32), weights.indices, weights.indptr), weights.shape)


PRESETS: Mapping[str, FaruquiConfig | ContextGraphConfig] = {
    "context-graph": ContextGraphConfig(),
    "context-graph-printed": PRINTED,
    "context-graph-released": RELEASED,
    "faruqui": FaruquiConfig(),
}
"""Methods by the names that the command line has for them."""


class _Retrofit(Moving):
    config: FaruquiConfig | ContextGraphConfig

    def _moved(
        self, vectors: WordVectors, matrix: Floats
    ) -> tuple[NDArray[np.int64], Floats, tuple[float, ...]]:
        graph = Graph.of(self.lexicon("lexicon"), vectors, self.config.case)
        done = relax(
            matrix[graph.rows],
            graph.links,
            self.config,
            passes=self.config.passes,
            order=self.config.order,
        )
        return graph.rows, done.matrix, done.objective


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
    """The transform of a method by its name.

    Args:
        method: A name of ``PRESETS``.
        lexicon: Which words belong together.
        settings: What is not as in the preset.
    """
    if method not in PRESETS:
        raise unknown_name("method of retrofitting", method, PRESETS)
    preset = PRESETS[method]
    if unknown := sorted(settings.keys() - vars(preset).keys()):
        raise UsageError(
            f"{method} has no setting {' or '.join(unknown)}; it has {', '.join(sorted(vars(preset)))}."
        )
    config = replace(preset, lexicon=lexicon, **settings)
    return Faruqui(config) if isinstance(config, FaruquiConfig) else ContextGraph(config)
