"""Fewer words: the transforms ``trim`` and ``merge-case``, and `trim` of words and numbers for a conversion."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.postprocess.base import Transform
from wordstill.vectors.table import WordVectors
from wordstill.vectors.table_checks import Matrix, most_frequent

SAMPLE = 5000
ROWS_PER_NUMBER = 10
"""With fewer, the principal directions are those of these rows only."""
ORDERED = 0.9
"""Share of the variance below which the leading numbers are not the best."""


@dataclass(frozen=True)
class TrimConfig(Config):
    """Settings of `Trim`."""

    words: Annotated[int | None, Range(1)] = None
    """Keep so many most frequent words; None keeps all."""
    min_count: Annotated[int, Range(0)] = 0
    """Keep words that were seen so often at least."""
    longest: Annotated[int | None, Range(1)] = None
    """Keep words of so many letters at most; None keeps all."""


class Trim(Transform):
    """Keep some words only, in their order. Without counts the first rows are the most frequent words."""

    name: ClassVar[str] = "trim.v1"
    config_type: ClassVar[type[TrimConfig]] = TrimConfig
    config: TrimConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        if self.config.min_count and vectors.counts is None:
            raise UsageError("trim:min_count needs counts, and this table has none. Use trim:words.")
        return {}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        kept = np.ones(len(vectors), dtype=np.bool_)
        if self.config.min_count and vectors.counts is not None:
            kept &= vectors.counts >= self.config.min_count
        if self.config.longest is not None:
            kept &= np.fromiter(map(len, vectors.words), np.int64, len(vectors)) <= self.config.longest
        rows = np.flatnonzero(kept)
        if self.config.words is not None:
            counts = None if vectors.counts is None else vectors.counts[rows]
            rows = rows[most_frequent(counts, len(rows), self.config.words)]
        if not len(rows):
            raise UsageError("trim leaves no words; keep more of them.")
        return vectors if len(rows) == len(vectors) else vectors.select(rows)


class MergeCase(Transform):
    r"""Make one word of words that differ in case only: lower case, with the mean of their vectors.

    .. math:: v_{\mathrm{lower}(w)} = \sum_{u} n_u v_u \Big/ \sum_u n_u

    over the words u of the same lower case, weighed by their counts where these are known. The new word has
    the sum of the counts, and the place of the first of them.
    """

    name: ClassVar[str] = "merge-case.v1"

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        places: dict[str, int] = {}
        owner = np.array([places.setdefault(word.lower(), len(places)) for word in vectors.words], dtype=np.int64)
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(len(places)))
        matrix = vectors.take(order[starts])
        several = np.bincount(owner) > 1
        if several.any():
            rows = order[several[owner[order]]]
            weighed = vectors.take(rows) * _weights(vectors.counts, owner)[rows, None]
            matrix[several] = np.add.reduceat(weighed, np.unique(owner[rows], return_index=True)[1], axis=0)
        counts = None if vectors.counts is None else np.add.reduceat(vectors.counts[order], starts)
        return WordVectors(list(places), matrix, counts=counts, provenance=vectors.provenance, distinct=True)


def _weights(counts: NDArray[np.int64] | None, owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """[words] the share of each word in its group; those of a group that was never seen share equally."""
    weights = np.ones(len(owner)) if counts is None else counts.astype(np.float64)
    unseen = np.bincount(owner, weights=weights) == 0
    weights = np.where(unseen[owner], 1.0, weights)
    shares: NDArray[np.float64] = weights / np.bincount(owner, weights=weights)[owner]
    return shares


def trim(
    vectors: WordVectors, *, top: int | None = None, dim: int | None = None, words: Sequence[str] | None = None
) -> WordVectors:
    """Keep some words and numbers of a table, and note that in its provenance.

    ``top`` keeps the most frequent words, or the first if there are no counts; ``dim`` the first numbers of each
    vector; ``words`` these words, in this order, where subwords of the table give vectors to unknown ones.
    """
    if dim is not None and dim > vectors.dim:
        raise UsageError(f"dim must be at most {vectors.dim}, that of the table; got {dim}.")
    kept = vectors if words is None else _listed(vectors, _known(vectors, tuple(dict.fromkeys(words))))
    if top is not None and top < len(kept):
        kept = kept.select(most_frequent(kept.counts, len(kept), top))
    if dim is not None and dim < vectors.dim:
        _warn_of_order(vectors, dim)
        # Sub-words would still give vectors of the old length.
        kept = kept.replace(matrix=np.ascontiguousarray(kept.matrix[:, :dim]), subwords=None)
    if kept is vectors:
        return vectors
    change = {"from": [len(vectors), vectors.dim], "to": [len(kept), kept.dim]}
    return kept.replace(provenance={**vectors.provenance, "trimmed": [*vectors.provenance.get("trimmed", ()), change]})


def _known(vectors: WordVectors, words: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the words that can have a vector; the others are reported."""
    missing = [word for word in words if word not in vectors] if vectors.subwords is None else []
    if not missing:
        return words
    told = (
        f"{len(missing):,} of {len(words):,} words are not in the table, {missing[0]!r} first, and it has no subwords "
        "to make their vectors from"
    )
    if len(missing) == len(words):
        raise UsageError(f"{told}. Use a list with words of the table.")
    warnings.warn(f"{told}; they are skipped.", stacklevel=4)
    gone = set(missing)
    return tuple(word for word in words if word not in gone)


def _listed(vectors: WordVectors, words: tuple[str, ...]) -> WordVectors:
    """The table of these words."""
    if all(word in vectors for word in words):
        return vectors.subset(words)
    return vectors.replace(words=words, matrix=_matrix_of(vectors, words), counts=_counts_of(vectors, words))


def _warn_of_order(vectors: WordVectors, dim: int) -> None:
    """Warn if the first numbers of the vectors say much less than as many principal directions would.

    That share is near 1 for tables in the order of their variance, such as those of ``still`` and ``pca``.
    """
    if len(vectors) < ROWS_PER_NUMBER * vectors.dim:
        return
    sample = vectors.take(np.linspace(0, len(vectors) - 1, min(len(vectors), SAMPLE)).astype(np.int64))
    moment = np.cov(sample, rowvar=False).reshape(vectors.dim, vectors.dim)
    best = np.linalg.eigvalsh(moment)[::-1][:dim].sum()
    share = np.trace(moment[:dim, :dim]) / best if best > 0 else 1.0
    if share < ORDERED:
        warnings.warn(
            f"The first {dim} of {vectors.dim} numbers hold {share:.0%} of what {dim} principal directions would: "
            f"the table is not in their order. Reduce it with: wordstill transform TABLE --chain pca:dim={dim}",
            UserWarning,
            stacklevel=3,
        )


def _matrix_of(vectors: WordVectors, words: Sequence[str]) -> Matrix:
    """The vectors of words, of those outside the table by their sub-words."""
    missing = [word for word in words if word not in vectors]
    assert vectors.subwords is not None
    known = set(words) - set(missing)
    return np.stack([vectors[word] if word in known else vectors.subwords.vector(word) for word in words])


def _counts_of(vectors: WordVectors, words: Sequence[str]) -> NDArray[np.int64] | None:
    """The counts of words, zero for those outside the table."""
    if vectors.counts is None:
        return None
    return np.array([vectors.counts[vectors.index(word)] if word in vectors else 0 for word in words])
