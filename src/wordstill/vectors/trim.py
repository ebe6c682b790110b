"""Trimming: fewer words or numbers of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors.table import Matrix, WordVectors, most_frequent


def trim(
    vectors: WordVectors, *, top: int | None = None, dim: int | None = None, words: Sequence[str] | None = None
) -> WordVectors:
    """Keep some words and numbers of a table, and note that in its provenance.

    ``top`` keeps the most frequent words, or the first if there are no counts; ``dim`` the first numbers of each
    vector; ``words`` these words, in this order, where subwords of the table give vectors to unknown ones.
    """
    if dim is not None and dim > vectors.dim:
        raise UsageError(f"dim must be at most {vectors.dim}, that of the table; got {dim}.")
    kept, matrix, counts = vectors.words, np.asarray(vectors.matrix), vectors.counts
    if words is not None:
        kept = tuple(dict.fromkeys(words))
        matrix, counts = _matrix_of(vectors, kept), _counts_of(vectors, kept)
    if top is not None and top < len(kept):
        rows = most_frequent(counts, len(kept), top)
        kept, matrix = tuple(kept[row] for row in rows), matrix[rows]
        counts = None if counts is None else counts[rows]
    matrix = matrix[:, :dim]
    if kept is vectors.words and matrix.shape == vectors.matrix.shape:
        return vectors
    change = {"from": list(vectors.matrix.shape), "to": list(matrix.shape)}
    provenance = {**vectors.provenance, "trimmed": [*vectors.provenance.get("trimmed", ()), change]}
    # Sub-words would still give vectors of the old length.
    subwords = vectors.subwords if matrix.shape[1] == vectors.dim else None
    return WordVectors(
        kept,
        np.ascontiguousarray(matrix),
        counts=counts,
        provenance=provenance,
        subwords=subwords,
        splitter=vectors.splitter,
    )


def _matrix_of(vectors: WordVectors, words: Sequence[str]) -> Matrix:
    """The vectors of words, of those outside the table by their sub-words."""
    missing = [word for word in words if word not in vectors]
    if not missing:
        return vectors.matrix[[vectors.index(word) for word in words]]
    if vectors.subwords is None:
        raise UsageError(
            f"{len(missing)} of {len(words)} words are not in the table, {missing[0]!r} first, and the table "
            "has no subwords to make their vectors from. Remove them from the list."
        )
    known = set(words) - set(missing)
    return np.stack([vectors[word] if word in known else vectors.subwords.vector(word) for word in words])


def _counts_of(vectors: WordVectors, words: Sequence[str]) -> NDArray[np.int64] | None:
    """The counts of words, zero for those outside the table."""
    if vectors.counts is None:
        return None
    return np.array([vectors.counts[vectors.index(word)] if word in vectors else 0 for word in words])
