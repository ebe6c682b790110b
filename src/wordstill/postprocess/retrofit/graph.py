"""A lexicon over the rows of one table, as a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError, MissingExtra
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.vectors import WordVectors

Floats: TypeAlias = NDArray[np.float32]
Csr: TypeAlias = Any
"""A ``scipy.sparse.csr_matrix``; scipy has no types of its own."""

Case = Literal["fallback", "exact"]
ABSENT = -1


@dataclass(frozen=True, eq=False)
class Graph:
    """The words of a table that have a link, and the links between them."""

    rows: NDArray[np.int64]
    """The row in the table of each node, ascending, shape (nodes,)."""
    links: Csr
    """(nodes, nodes) float32, symmetric, without a diagonal; every row has a link."""

    @classmethod
    def of(cls, lexicon: Lexicon, vectors: WordVectors, case: Case = "fallback") -> Graph:
        """Look the words of a lexicon up in a table.

        Args:
            lexicon: The links.
            vectors: The table.
            case: ``fallback`` takes the word as it is written in the lexicon, or else in lower case;
                ``exact`` only as it is written.
        """
        place = _places(lexicon, vectors, case)
        first, second = place[lexicon.first], place[lexicon.second]
        known = (first != ABSENT) & (second != ABSENT) & (first != second)
        if not known.any():
            raise DataError(
                f"None of the {len(lexicon):,} links of the lexicon is between two of the {len(vectors):,} "
                f"words of the table ({int((place != ABSENT).sum()):,} of its {len(lexicon.words):,} words "
                "are there). Is it of the same language and case?"
            )
        rows, nodes = np.unique(np.concatenate([first[known], second[known]]), return_inverse=True)
        ends = nodes.reshape(2, -1)
        return cls(rows, _symmetric(ends, lexicon.weights[known], len(rows)))

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Links:
    """Some nodes with their links."""

    nodes: NDArray[np.int64]
    """Shape (some,)."""
    weights: Csr
    """The lexicon's weights, (some, nodes)."""
    places: NDArray[np.int64]
    """Where in the whole matrix each link stands, shape (links,)."""

    @classmethod
    def of(cls, nodes: NDArray[np.int64], weights: Csr) -> Links:
        """The rows of a matrix for some nodes."""
        part = weights[nodes]
        before = np.repeat(weights.indptr[nodes].astype(np.int64) - part.indptr[:-1], np.diff(part.indptr))
        return cls(nodes, part, before + np.arange(part.nnz))


def sparse() -> Any:
    """The module ``scipy.sparse``."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise MissingExtra("scipy", "retrofit", "Retrofitting") from error
    return scipy.sparse


def _places(lexicon: Lexicon, vectors: WordVectors, case: Case) -> NDArray[np.int64]:
    """The row of each word of the lexicon, ``ABSENT`` for those that the table does not have."""
    place = np.full(len(lexicon.words), ABSENT, dtype=np.int64)
    for number, word in enumerate(lexicon.words):
        for form in (word, word.lower()) if case == "fallback" else (word,):
            if form in vectors:
                place[number] = vectors.index(form)
                break
    return place


def _symmetric(ends: NDArray[np.int64], weights: NDArray[np.float32], nodes: int) -> Csr:
    """Each link in both directions; where two words share a row, their links meet and the larger counts."""
    low, high = ends.min(axis=0), ends.max(axis=0)
    keys, inverse = np.unique(low * nodes + high, return_inverse=True)
    largest = np.zeros(len(keys), dtype=np.float32)
    np.maximum.at(largest, inverse, weights)
    low, high = np.divmod(keys, nodes)
    both = (np.concatenate([low, high]), np.concatenate([high, low]))
    links = sparse().csr_matrix((np.tile(largest, 2), both), shape=(nodes, nodes))
    links.sort_indices()
    return links
