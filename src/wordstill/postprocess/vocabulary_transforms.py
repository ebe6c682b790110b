"""``trim`` and ``merge-case``: fewer words; ``quantise``: fewer bits of each number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.postprocess.base import Transform
from wordstill.vectors.compressed import quantize
from wordstill.vectors.table import WordVectors
from wordstill.vectors.table_checks import most_frequent


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


class Quantize(Transform):
    r"""Round each vector to whole numbers from -127 to 127 times a scale of its own.

    .. math:: v_w \leftarrow s_w\, \mathrm{round}(v_w / s_w), \qquad s_w = \max_i |v_{wi}| / 127

    The result keeps its rows as int8 and decodes them as they are asked for; so does an artifact of it.
    """

    name: ClassVar[str] = "quantise.v1"

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        return vectors.replace(matrix=quantize(vectors))
