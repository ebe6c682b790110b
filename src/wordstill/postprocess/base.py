"""The interface of transforms, which are fitted to a table of vectors and make a new table."""

from __future__ import annotations

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Configurable
from wordstill.errors import UsageError
from wordstill.vectors.compressed import Matrix
from wordstill.vectors.sentences import has_sentence_lengths
from wordstill.vectors.table import WordVectors

RECORD = "transforms"
"""Key of the provenance with the list of applied transforms."""
WORDS = "words"
DIGEST_LETTERS = 16
WORDS_AT_ONCE = 1 << 16


@dataclasses.dataclass(frozen=True)
class NoConfig:
    """Settings of a transform without any."""


class Transform(Configurable, ABC):
    """A transform; ``state`` has the fitted arrays by name, and is None before `fit`."""

    config_type: ClassVar[type[Any]] = NoConfig
    of_directions: ClassVar[bool] = False
    """Whether only directions matter. If so, tables whose lengths are sentence weights are transformed as unit
    vectors, and the lengths are restored afterwards."""

    def __init__(self, config: Any = None) -> None:
        self.config = self.config_type() if config is None else config
        self.state: Mapping[str, NDArray[Any]] | None = None

    def fit(self, vectors: WordVectors) -> Self:
        """Fit the transform to a table."""
        if not len(vectors):
            raise UsageError(f"{self.short_name} cannot learn from a table without words.")
        vectors.check_finite()
        self.state = self._learn(self._seen(vectors))
        return self

    def transform(self, vectors: WordVectors) -> WordVectors:
        """The transformed table, with this step appended to its record."""
        table = self._apply(self._seen(vectors), self.learnt)
        if self._keeps_lengths(vectors):
            table = with_lengths(table, vectors)
        record = [*record_of(vectors), self.entry()]
        return table.replace(provenance={**vectors.provenance, **table.provenance, RECORD: record})

    def fit_transform(self, vectors: WordVectors) -> WordVectors:
        """Fit the transform to a table, and return the transformed table."""
        return self.fit(vectors).transform(vectors)

    def entry(self) -> dict[str, Any]:
        """Name, settings and a digest of the fitted state, for provenance."""
        return {"name": self.name, **self.settings(), "learnt": self.digest}

    def settings(self) -> dict[str, Any]:
        """The settings as plain data."""
        return dataclasses.asdict(self.config)

    @property
    def digest(self) -> str:
        """A short digest of the fitted state."""
        digest = hashlib.sha256()
        for key, array in sorted(self.learnt.items()):
            digest.update(f"{key} {array.dtype.str} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:DIGEST_LETTERS]

    @property
    def short_name(self) -> str:
        """The name without its version."""
        return self.name.partition(".")[0]

    @property
    def learnt(self) -> Mapping[str, NDArray[Any]]:
        """The fitted state."""
        if self.state is None:
            raise UsageError(f"{self.short_name} has learned nothing yet: call fit first.")
        return self.state

    def _keeps_lengths(self, vectors: WordVectors) -> bool:
        return self.of_directions and has_sentence_lengths(vectors)

    def _seen(self, vectors: WordVectors) -> WordVectors:
        return vectors.replace(matrix=vectors.unit) if self._keeps_lengths(vectors) else vectors

    def _learn(self, vectors: WordVectors) -> Mapping[str, NDArray[Any]]:
        """Compute the fitted state, as arrays of at least one dimension; empty by default."""
        return {}

    @abstractmethod
    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        """Make the new table, whose provenance is added to that of the old one."""


def with_rows(
    vectors: WordVectors, change: Callable[[NDArray[np.float64]], NDArray[np.floating]], dim: int | None = None
) -> WordVectors:
    """The same words with rows transformed block by block in float64; ``dim`` is the new dimension if it changes."""
    matrix = np.empty((len(vectors), vectors.dim if dim is None else dim), dtype=np.float32)
    start = 0
    for block in vectors.blocks():
        end = start + len(block)
        with np.errstate(over="ignore"):
            matrix[start:end] = change(block.astype(np.float64))
        start = end
    return with_matrix(vectors, matrix)


def with_matrix(vectors: WordVectors, matrix: Matrix) -> WordVectors:
    """The same words, counts and provenance with another matrix, without subwords."""
    return vectors.replace(matrix=matrix, subwords=None)


def with_lengths(vectors: WordVectors, before: WordVectors) -> WordVectors:
    """Restore the lengths of words; new words get the median length."""
    old = np.sqrt(np.einsum("ij,ij->i", before.matrix, before.matrix, dtype=np.float64))
    if vectors.words != before.words:
        rows = [before.index(word) if word in before else len(old) for word in vectors.words]
        old = np.append(old, np.median(old))[rows]
    matrix = vectors.unit * old[:, None].astype(np.float32)
    return vectors.replace(matrix=matrix)


def require_dim(vectors: WordVectors, dim: int, name: str) -> None:
    """Refuse a table with another dimension than the one fitted on."""
    if vectors.dim != dim:
        raise UsageError(f"{name} has learned from vectors of {dim} numbers; this table has {vectors.dim}.")


def words_digest(words: Sequence[str]) -> NDArray[np.uint8]:
    """[32] a digest of words in order, for transforms fitted to single words."""
    digest = hashlib.sha256()
    for start in range(0, len(words), WORDS_AT_ONCE):
        joined = "\0".join(words[start : start + WORDS_AT_ONCE]) + "\0"
        digest.update(joined.encode("utf-8", "surrogatepass"))
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def record_of(vectors: WordVectors) -> list[Any]:
    """The transforms applied to a table, in order."""
    record = vectors.provenance.get(RECORD, [])
    return list(record) if isinstance(record, list) else [record]
