"""Fewer words or numbers of a table, on the way from one file of vectors to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError, UsageError
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class TrimConfig:
    """What is kept of a table; None keeps all."""

    top: int | None = None
    """So many words: the most frequent if counts are known, else the first, as files are mostly sorted."""

    dim: int | None = None
    """So many numbers of each vector, the first ones."""

    words: tuple[str, ...] | None = None
    """These words, in this order; those outside the table get a vector if it has sub-words."""

    def __post_init__(self) -> None:
        for name in ("top", "dim"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}, expected 1 or more.")


def trim(vectors: WordVectors, config: TrimConfig) -> WordVectors:
    """The words and numbers of a table that are wanted; what was done is noted in the provenance."""
    if config.dim is not None and config.dim > vectors.dim:
        raise UsageError(f"{config.dim} numbers of each vector are wanted, there are {vectors.dim}.")
    words, matrix, counts = vectors.words, np.asarray(vectors.matrix), vectors.counts
    if config.words is not None:
        words, counts = config.words, _counts_of(vectors, config.words)
        matrix = _matrix_of(vectors, config.words)
    if config.top is not None and config.top < len(words):
        rows = _most_frequent(counts, config.top)
        words, matrix = tuple(words[row] for row in rows), matrix[rows]
        counts = None if counts is None else counts[rows]
    matrix = matrix[:, : config.dim]
    if words is vectors.words and matrix.shape == vectors.matrix.shape:
        return vectors
    change = {"from": list(vectors.matrix.shape), "to": list(matrix.shape)}
    provenance = {**vectors.provenance, "trimmed": [*vectors.provenance.get("trimmed", ()), change]}
    # Sub-words would go on giving vectors of the old length.
    subwords = vectors.subwords if matrix.shape[1] == vectors.dim else None
    return WordVectors(
        words, np.ascontiguousarray(matrix), counts=counts, provenance=provenance, subwords=subwords
    )


def read_word_list(path: Path) -> tuple[str, ...]:
    """Words from a text file, one on each line, without repetitions."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 at byte {error.start}.") from None
    words = tuple(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))
    if not words:
        raise DataError(f"{path} is empty, expected words, one on each line.")
    return words


def _matrix_of(vectors: WordVectors, words: Sequence[str]) -> NDArray[np.float32] | NDArray[np.float16]:
    """The vectors of words, of those outside the table by their sub-words."""
    missing = [word for word in words if word not in vectors]
    if not missing:
        return vectors.matrix[[vectors.index(word) for word in words]]
    if vectors.subwords is None:
        raise UsageError(
            f"{len(missing)} of {len(words)} words are not in the table, {missing[0]!r} first, and the table "
            "has no sub-words to make their vectors from. Leave them out of the list."
        )
    known = set(words) - set(missing)
    return np.stack([vectors[word] if word in known else vectors.subwords.vector(word) for word in words])


def _counts_of(vectors: WordVectors, words: Sequence[str]) -> NDArray[np.int64] | None:
    """The counts of words, zero for those outside the table."""
    if vectors.counts is None:
        return None
    return np.array([vectors.counts[vectors.index(word)] if word in vectors else 0 for word in words])


def _most_frequent(counts: NDArray[np.int64] | None, top: int) -> NDArray[np.int64]:
    """The rows of the most frequent words, in the order of the table."""
    if counts is None:
        return np.arange(top)
    return np.sort(np.argsort(-counts, kind="stable")[:top])
