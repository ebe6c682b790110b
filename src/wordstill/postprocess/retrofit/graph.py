"""The graph of a lexicon over the rows of a table: a sparse matrix of links, and the distances over them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Range
from wordstill.errors import DataError, MissingExtra, UsageError
from wordstill.postprocess.base import WORDS, Transform, require_dim, with_matrix, words_digest
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.wordnet import open_lexicon
from wordstill.vectors import WordVectors
from wordstill.vectors.search import CACHED_ROWS, unit_rows

Floats: TypeAlias = NDArray[np.float32]
Csr: TypeAlias = Any
"""A ``scipy.sparse.csr_matrix``; scipy has no types of its own."""
Case = Literal["fallback", "exact"]
Distances = Literal["original", "mixed", "current"]
"""Between initial positions, an initial position and neighbors' current ones, or current positions."""
ABSENT = -1
LINKS_AT_ONCE = 512
"""Two blocks of this many rows stay in a core's cache."""
BLOCKS_PER_TASK = 16
ROWS, SHIFTS, LENGTHS, OBJECTIVE, ORIGINS = "rows", "shifts", "lengths", "objective", "origins"
LeastCosine: TypeAlias = Annotated[float | None, Range(0, 1, below=True)]
RELATIONS = {"antonyms": ("antonyms",)}
"""The relations of a wordnet that a setting reads; all other settings read synonyms."""


@dataclass(frozen=True, eq=False)
class Graph:
    """The words of a table that have a link, and the links between them."""

    rows: NDArray[np.int64]
    """The row in the table of each node, ascending, shape (nodes,)."""
    links: Csr
    """(nodes, nodes) float32, symmetric, without a diagonal; every row has a link."""

    @classmethod
    def of(cls, lexicon: Lexicon, vectors: WordVectors, case: Case = "fallback") -> Graph:
        """Look the words of a lexicon up in a table; ``fallback`` tries a word as it is, then in lower case."""
        place = _places(lexicon, vectors, case)
        first, second = place[lexicon.first], place[lexicon.second]
        known = (first != ABSENT) & (second != ABSENT) & (first != second)
        if not known.any():
            raise DataError(
                f"None of the {len(lexicon):,} links of the lexicon is between two of the {len(vectors):,} "
                f"words of the table ({int((place != ABSENT).sum()):,} of its {len(lexicon.words):,} words "
                "are in the table). Check that both are in the same language and case."
            )
        rows, nodes = np.unique(np.concatenate([first[known], second[known]]), return_inverse=True)
        ends = nodes.reshape(2, -1)
        return cls(rows, _symmetric(ends, lexicon.weights[known], len(rows)))


@dataclass(frozen=True, eq=False)
class Links:
    """Some nodes with their links."""

    nodes: NDArray[np.int64]
    """Shape (some,)."""
    weights: Csr
    """The lexicon's weights, (some, nodes)."""
    places: NDArray[np.int64]
    """Index of each link in the whole matrix, shape (links,)."""

    @classmethod
    def of(cls, nodes: NDArray[np.int64], weights: Csr) -> Links:
        """The rows of a matrix for some nodes."""
        part = weights[nodes]
        before = np.repeat(weights.indptr[nodes].astype(np.int64) - part.indptr[:-1], np.diff(part.indptr))
        return cls(nodes, part, before + np.arange(part.nnz))


class LinkDistances:
    """The squared distance over each link, in the order of the sparse matrix.

    Each link is stored from both ends; from the node with the smaller number it leads to a *later* neighbor.
    Nodes move one after the other by number, or all at once. One after the other, a node sees its later
    neighbors at their positions of the last pass. So only distances to earlier neighbors are computed when
    it moves; those to later ones follow after the pass.
    """

    def __init__(self, kind: Distances, weights: Csr, original: Floats, pool: Executor) -> None:
        self._kind, self._original, self._pool = kind, original, pool
        self._rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
        self._columns: NDArray[np.int32] = weights.indices
        self._later = np.flatnonzero(self._columns > self._rows)
        # Sorted by column and then by row, the links of a symmetric matrix are those seen from the other end.
        self._earlier = np.argsort(self._columns, kind="stable")[self._later]
        self._squared = np.empty(len(self._columns), dtype=np.float64)
        self._compute_all(self._later, original, original)
        self._mirror()

    def of(self, links: Links) -> NDArray[np.float64]:
        """The squared distances over the links of some nodes, as of the last pass."""
        squared: NDArray[np.float64] = self._squared[links.places]
        return squared

    def of_moving(self, links: Links, current: Floats) -> NDArray[np.float64]:
        """The same for nodes that move now: their earlier neighbors have moved in this pass."""
        if self._kind != "original":
            earlier = links.places[self._columns[links.places] < self._rows[links.places]]
            self._compute(self._centers(current), current, earlier)
        return self.of(links)

    def update(self, current: Floats, *, in_turn: bool) -> None:
        """Update the distances after all nodes have moved, one after the other (``in_turn``) or at once."""
        if self._kind == "original":
            return
        self._compute_all(self._later, self._centers(current), current)
        if self._kind == "current":
            self._mirror()
        elif not in_turn:
            self._compute_all(self._earlier, self._original, current)

    def _centers(self, current: Floats) -> Floats:
        return current if self._kind == "current" else self._original

    def _mirror(self) -> None:
        self._squared[self._earlier] = self._squared[self._later]

    def _compute_all(self, numbers: NDArray[np.int64], centers: Floats, neighbors: Floats) -> None:
        parts = range(0, len(numbers), LINKS_AT_ONCE * BLOCKS_PER_TASK)
        blocks = [numbers[start : start + parts.step] for start in parts]
        list(self._pool.map(partial(self._compute, centers, neighbors), blocks))

    def _compute(self, centers: Floats, neighbors: Floats, numbers: NDArray[np.int64]) -> None:
        for start in range(0, len(numbers), LINKS_AT_ONCE):
            block = numbers[start : start + LINKS_AT_ONCE]
            between = np.take(centers, self._rows[block], axis=0)
            between -= np.take(neighbors, self._columns[block], axis=0)
            self._squared[block] = np.einsum("ij,ij->i", between, between)


def sparse(feature: str = "Retrofitting") -> Any:
    """The module ``scipy.sparse``; ``feature`` is what needs it."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise MissingExtra("scipy", "retrofit", feature) from error
    return scipy.sparse


def _places(lexicon: Lexicon, vectors: WordVectors, case: Case) -> NDArray[np.int64]:
    """The row of each word of the lexicon, ``ABSENT`` for words not in the table."""
    place = np.full(len(lexicon.words), ABSENT, dtype=np.int64)
    for number, word in enumerate(lexicon.words):
        for form in (word, word.lower()) if case == "fallback" else (word,):
            if form in vectors:
                place[number] = vectors.index(form)
                break
    return place


def _symmetric(ends: NDArray[np.int64], weights: NDArray[np.float32], nodes: int) -> Csr:
    """Each link in both directions; where two words share a row, the larger weight counts."""
    low, high = ends.min(axis=0), ends.max(axis=0)
    keys, inverse = np.unique(low * nodes + high, return_inverse=True)
    largest = np.zeros(len(keys), dtype=np.float32)
    np.maximum.at(largest, inverse, weights)
    low, high = np.divmod(keys, nodes)
    both = (np.concatenate([low, high]), np.concatenate([high, low]))
    links = sparse().csr_matrix((np.tile(largest, 2), both), shape=(nodes, nodes))
    links.sort_indices()
    return links


class LexiconUpdate(Transform):
    """A transform that shifts the vectors of single words. It applies only to the table it learned from."""

    of_directions: ClassVar[bool] = True

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._origins: dict[str, Any] = {}

    @property
    def objective(self) -> tuple[float, ...]:
        """The objective before the first pass and after each."""
        return tuple(self.learnt[OBJECTIVE].tolist())

    @property
    def moved_words(self) -> int:
        """Number of moved words."""
        return len(self.learnt[ROWS])

    def lexicon(self, setting: str) -> Lexicon:
        """The lexicon that a setting holds or names."""
        given = getattr(self.config, setting)
        if not isinstance(given, Lexicon):
            if not given:
                raise UsageError(f"{self.short_name}:{setting} must name a lexicon; got none.")
            given = open_lexicon(given, relations=RELATIONS.get(setting, ("synonyms",)))
        self._origins[setting] = dict(given.origin)
        return given

    def settings(self) -> dict[str, Any]:
        """The settings as plain data; a lexicon is recorded by its origin."""
        origins = json.loads(self.state[ORIGINS].tobytes()) if self.state is not None else {}
        return {
            name: origins.get(name, dict(value.origin) if isinstance(value, Lexicon) else value)
            for name, value in vars(self.config).items()
        }

    def entry(self) -> dict[str, Any]:
        """Name, settings and digest, the number of moved words, and the objective of each pass."""
        return {**super().entry(), "moved_words": self.moved_words, "objective": list(self.objective)}

    @abstractmethod
    def _moved(self, vectors: WordVectors, matrix: Floats) -> tuple[NDArray[np.int64], Floats, tuple[float, ...]]:
        """The rows that move, their new vectors in a new array, and the objective of each pass.

        ``matrix`` has the table's vectors, of length one if the settings say so; it is read-only.
        """

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        matrix = vectors.unit if self.config.unit else np.asarray(vectors.matrix, dtype=np.float32)
        rows, moved, objective = self._moved(vectors, matrix)
        for block in _blocks(rows):
            before = matrix[rows[block]]
            if self.config.least_cosine is not None:
                moved[block] = turned_back(before, moved[block], self.config.least_cosine)
            moved[block] -= before
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
        if not np.array_equal(words_digest(vectors.words), state[WORDS]):
            raise UsageError(
                f"{self.short_name} moves single words, and this table has other words than it has learned from."
            )
        matrix = np.array(vectors.unit if LENGTHS in state else vectors.matrix, dtype=np.float32)
        for block in _blocks(state[ROWS]):
            matrix[state[ROWS][block]] += state[SHIFTS][block]
        return with_matrix(vectors, matrix)


def turned_back(before: Floats, after: Floats, least: float) -> Floats:
    """Rotate vectors that have turned too far back to the least cosine with the original; lengths are kept."""
    lengths = np.linalg.norm(after, axis=1, keepdims=True)
    old, new = unit_rows(before), unit_rows(after)
    cosines = np.einsum("ij,ij->i", old, new)[:, None]
    aside = unit_rows(new - cosines * old)
    nearest = least * old + np.float32(np.sqrt(1 - least * least)) * aside
    bounded: Floats = np.where(cosines < least, lengths * unit_rows(nearest), after)
    return bounded


def _blocks(rows: NDArray[np.int64]) -> list[slice]:
    """Blocks of rows that fit into the cache, because copying all rows at once is slow."""
    return [slice(start, start + CACHED_ROWS) for start in range(0, len(rows), CACHED_ROWS)]


def _lengths(vectors: WordVectors) -> NDArray[np.float32]:
    """[words] the lengths of the vectors, 1 for zero vectors."""
    lengths = np.concatenate(
        [np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64)) for block in vectors.blocks()]
    )
    return np.where(lengths == 0, 1.0, lengths).astype(np.float32)
