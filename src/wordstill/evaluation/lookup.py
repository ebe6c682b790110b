"""Looking words up under the rules of a protocol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluation.protocol import ABSENT, Protocol
from wordstill.evaluation.statistics import Floats
from wordstill.vectors.oov import fall_back
from wordstill.vectors.search import unit

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors
    from wordstill.vectors.sentences import TextTokenizer


@dataclass(frozen=True, eq=False)
class Lookup:
    """A small table of different words."""

    place: dict[str, int]
    """The row of each word below."""
    matrix: Floats
    """Shape (words, dim), in double precision; zeros for words without a vector."""
    known: NDArray[np.bool_]
    """Which words the table has, shape (words,)."""
    usable: NDArray[np.bool_]
    """Which words have a vector under the protocol: known words, and those that it fills in."""

    @classmethod
    def of(cls, words: Iterable[str], vectors: WordVectors, protocol: Protocol, *, split: bool = False) -> Lookup:
        """Look words up. Only the rows in use are read: the table may be a memory map of gigabytes.

        Args:
            words: The words, any number of times.
            vectors: The table.
            protocol: The rules.
            split: Whether a word's vector is the mean of its tokens if the table has its own tokenizer.
        """
        place = {word: number for number, word in enumerate(dict.fromkeys(words))}
        if split and vectors.tokenizer is not None:
            return cls._by_tokens(place, vectors, vectors.tokenizer)
        rows = protocol.rows(place, vectors)
        known = rows != ABSENT
        matrix = np.zeros((len(place), vectors.dim))
        matrix[known] = rows_of(vectors, rows[known])
        usable = known.copy()
        if not known.all():
            if protocol.oov == "mean" and len(vectors):
                matrix[~known], usable[:] = mean_vector(vectors, protocol), True
            elif protocol.oov == "backoff":
                _back_off(list(place), matrix, usable, vectors, protocol)
        return cls(place, matrix, known, usable)

    @classmethod
    def _by_tokens(cls, place: dict[str, int], vectors: WordVectors, tokenizer: TextTokenizer) -> Lookup:
        matrix, known = np.zeros((len(place), vectors.dim)), np.zeros(len(place), dtype=np.bool_)
        for word, number in place.items():
            if rows := [vectors.index(token) for token in tokenizer.tokenize(word) if token in vectors]:
                matrix[number] = rows_of(vectors, np.array(rows, dtype=np.int64)).mean(axis=0)
                known[number] = True
        return cls(place, matrix, known, known.copy())

    def numbers(self, words: Iterable[str]) -> NDArray[np.int64]:
        """The row of each word."""
        return np.array([self.place[word] for word in words], dtype=np.int64)

    def unit(self) -> Floats:
        """The vectors scaled to length one; zeros stay zeros."""
        return unit(self.matrix)


def rows_of(vectors: WordVectors, rows: NDArray[np.int64]) -> Floats:
    """Rows of the table in double precision; NaN or infinity is an error that names the word."""
    block = vectors.take(rows).astype(np.float64)
    broken = ~np.isfinite(block).all(axis=1)
    if broken.any():
        row = int(rows[broken][0])
        raise DataError(f"The vector of {vectors.words[row]!r} (row {row}) holds NaN or infinite values.")
    return block


def mean_vector(vectors: WordVectors, protocol: Protocol) -> Floats:
    """The mean of all vectors that count."""
    mean = np.mean(vectors.matrix[: protocol.limit(vectors)], axis=0, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise DataError("The mean of all vectors is not finite: the table holds NaN or infinite values.")
    return np.asarray(mean, dtype=np.float64)


def _back_off(
    words: list[str], matrix: Floats, usable: NDArray[np.bool_], vectors: WordVectors, protocol: Protocol
) -> None:
    """Give absent words vectors by the table's back-off policies, or by the default ones if it has none."""
    table = vectors if vectors.backoffs else vectors.with_backoff(*_policies(vectors))
    absent = np.flatnonzero(~usable).tolist()
    for number, answer in zip(absent, fall_back(table, [words[number] for number in absent])):
        if isinstance(answer, int):
            if answer >= protocol.limit(vectors):
                continue
            answer = rows_of(vectors, np.array([answer], dtype=np.int64))[0]
        if answer is not None:
            matrix[number], usable[number] = answer, True


def _policies(vectors: WordVectors) -> tuple[str, str]:
    return ("case", "ngrams" if vectors.subwords is None else "subwords")
