"""The base of retrofitting transforms: how far each word moves, learnt from a table and a lexicon."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Range
from wordstill.errors import UsageError
from wordstill.postprocess.base import WORDS, Transform, require_dim, with_matrix, words_digest
from wordstill.postprocess.retrofit.graph import Floats
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.wordnet import open_lexicon
from wordstill.vectors import WordVectors
from wordstill.vectors.search import CACHED_ROWS, unit_rows

ROWS, SHIFTS, LENGTHS, OBJECTIVE, ORIGINS = "rows", "shifts", "lengths", "objective", "origins"
LeastCosine: TypeAlias = Annotated[float | None, Range(0, 1, below=True)]
RELATIONS = {"antonyms": ("antonyms",)}
"""The relations of a wordnet that a setting reads; all other settings read synonyms."""


class LexiconUpdate(Transform):
    """A transform that shifts the vectors of single words. It applies only to the table it learnt from."""

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
        """How many words were moved."""
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
        """Name, settings and digest, how many words were moved, and the objective of each pass."""
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
    """Vectors that have turned too far from what they were, turned back to the least cosine; lengths stay."""
    lengths = np.linalg.norm(after, axis=1, keepdims=True)
    old, new = unit_rows(before), unit_rows(after)
    cosines = np.einsum("ij,ij->i", old, new)[:, None]
    aside = unit_rows(new - cosines * old)
    nearest = least * old + np.float32(np.sqrt(1 - least * least)) * aside
    bounded: Floats = np.where(cosines < least, lengths * unit_rows(nearest), after)
    return bounded


def _blocks(rows: NDArray[np.int64]) -> list[slice]:
    """Blocks of rows that fit the cache: one copy of all rows is slow."""
    return [slice(start, start + CACHED_ROWS) for start in range(0, len(rows), CACHED_ROWS)]


def _lengths(vectors: WordVectors) -> NDArray[np.float32]:
    """[words] the lengths of the vectors, 1 for zero vectors."""
    lengths = np.concatenate(
        [np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64)) for block in vectors.blocks()]
    )
    return np.where(lengths == 0, 1.0, lengths).astype(np.float32)
