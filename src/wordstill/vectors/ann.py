"""Approximate nearest neighbors with vicinity, for tables where exact search is too slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import MissingExtra, UsageError, unknown_name
from wordstill.vectors.queries import NO_ROW, Scored, resolve

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors


class ApproximateNeighbors:
    """An index of unit vectors; most of its results are those of an exact search.

    Args:
        vectors: The table.
        backend: A backend of vicinity, such as ``usearch``, ``hnsw``, ``faiss`` or the exact ``basic``.
        settings: Settings of the backend.

    Raises:
        MissingExtra: vicinity or the backend's package is not installed.
    """

    def __init__(self, vectors: WordVectors, backend: str = "usearch", **settings: Any) -> None:
        try:
            from vicinity import Backend, Vicinity
        except ModuleNotFoundError as error:
            raise MissingExtra(str(error.name), "ann", "Approximate search") from error
        names = [known.value for known in Backend]
        if backend not in names:
            raise unknown_name("backend of vicinity", backend, names)
        self.vectors = vectors
        try:
            self._index: Any = Vicinity.from_vectors_and_items(
                vectors.unit, range(len(vectors)), backend_type=backend, metric="cosine", **settings
            )
        except (ImportError, ModuleNotFoundError) as error:
            raise MissingExtra(backend, "ann", f"The backend {backend} of vicinity") from error

    def neighbors(self, queries: Sequence[str] | NDArray[np.floating], topn: int = 10) -> list[Scored]:
        """Approximately `WordVectors.neighbors`: the words nearest to each word or to each row of a matrix."""
        if isinstance(queries, str):
            raise UsageError(f"neighbors needs a list of words; got {queries!r}.")
        found = resolve(self.vectors, list(queries))
        if topn < 1 or not len(queries):
            return [[] for _ in queries]
        own = int((found.rows != NO_ROW).any())
        answers = self._index.query(found.vectors, k=min(topn + own, len(self.vectors)))
        return [
            [(self.vectors.words[near], 1 - float(distance)) for near, distance in answer if near != row][:topn]
            for row, answer in zip(found.rows.tolist(), answers)
        ]
