"""Fewer words or bytes: ``trim``, ``merge-case`` and quantization, and `trim` for conversions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import SEEDS, Config, Range
from wordstill.errors import UsageError
from wordstill.postprocess.base import Transform, require_dim
from wordstill.vectors.compressed import CODES, Matrix, ProductRows, Single, most_frequent, part_bounds, quantize
from wordstill.vectors.search import unit_rows
from wordstill.vectors.table import WordVectors

SAMPLE = 5000
ROWS_PER_NUMBER = 10
"""Minimum number of rows for estimating principal directions."""
ORDERED = 0.9
"""Minimum share of variance for the first dimensions to count as the most important."""
COLUMNS_PER_BYTE = 4
SAME_LENGTH = 1e-3
"""Relative differences of lengths up to this are due to rounding."""
HALF = np.finfo(np.float16)
SMALLEST = 1e-12


@dataclass(frozen=True)
class TrimConfig(Config):
    """Settings of `Trim`."""

    words: Annotated[int | None, Range(1)] = None
    """Keep this many of the most frequent words; None keeps all."""
    min_count: Annotated[int, Range(0)] = 0
    """Keep words with at least this count."""
    longest: Annotated[int | None, Range(1)] = None
    """Keep words of at most this many characters; None keeps all."""


class Trim(Transform):
    """Keep some words, in table order. Without counts, the first rows are the most frequent words."""

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
    r"""Merge words that differ only in case into one in lower case, with the mean of their vectors.

    .. math:: v_{\mathrm{lower}(w)} = \sum_{u} n_u v_u \Big/ \sum_u n_u

    over the words u with the same lower case, weighted by their counts if known. The new word has the sum of the
    counts, and the position of the first of them.
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
            weighted = vectors.take(rows) * _weights(vectors.counts, owner)[rows, None]
            matrix[several] = np.add.reduceat(weighted, np.unique(owner[rows], return_index=True)[1], axis=0)
        counts = None if vectors.counts is None else np.add.reduceat(vectors.counts[order], starts)
        return WordVectors(list(places), matrix, counts=counts, provenance=vectors.provenance, distinct=True)


def _weights(counts: NDArray[np.int64] | None, owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """[words] the share of each word in its group; words of a group with count 0 share equally."""
    weights = np.ones(len(owner)) if counts is None else counts.astype(np.float64)
    unseen = np.bincount(owner, weights=weights) == 0
    weights = np.where(unseen[owner], 1.0, weights)
    shares: NDArray[np.float64] = weights / np.bincount(owner, weights=weights)[owner]
    return shares


def trim(
    vectors: WordVectors, *, top: int | None = None, dim: int | None = None, words: Sequence[str] | None = None
) -> WordVectors:
    """Keep some words and dimensions of a table, and note that in its provenance.

    ``top`` keeps the most frequent words, or the first if there are no counts; ``dim`` the first dimensions;
    ``words`` these words in this order, where the table's subwords give vectors to unknown words.
    """
    if dim is not None and dim > vectors.dim:
        raise UsageError(f"dim must be at most {vectors.dim}, that of the table; got {dim}.")
    kept = vectors if words is None else _listed(vectors, _known(vectors, tuple(dict.fromkeys(words))))
    if top is not None and top < len(kept):
        kept = kept.select(most_frequent(kept.counts, len(kept), top))
    if dim is not None and dim < vectors.dim:
        _warn_of_order(vectors, dim)
        # Subword vectors would still have the old dimension.
        kept = kept.replace(matrix=np.ascontiguousarray(kept.matrix[:, :dim]), subwords=None)
    if kept is vectors:
        return vectors
    change = {"from": [len(vectors), vectors.dim], "to": [len(kept), kept.dim]}
    return kept.replace(provenance={**vectors.provenance, "trimmed": [*vectors.provenance.get("trimmed", ()), change]})


def _known(vectors: WordVectors, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that can have a vector; others are reported."""
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
    """Warn if the first dimensions have much less variance than as many principal components.

    In tables sorted by variance, such as those of ``still`` and ``pca``, they have about the same.
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
    """The vectors of words, from subwords for words outside the table."""
    missing = [word for word in words if word not in vectors]
    assert vectors.subwords is not None
    known = set(words) - set(missing)
    return np.stack([vectors[word] if word in known else vectors.subwords.vector(word) for word in words])


def _counts_of(vectors: WordVectors, words: Sequence[str]) -> NDArray[np.int64] | None:
    """The counts of words, zero for those outside the table."""
    if vectors.counts is None:
        return None
    return np.array([vectors.counts[vectors.index(word)] if word in vectors else 0 for word in words])


class Quantize(Transform):
    r"""Round each vector to integers from -127 to 127 with its own scale.

    .. math:: v_w \leftarrow s_w\, \mathrm{round}(v_w / s_w), \qquad s_w = \max_i |v_{wi}| / 127

    The result stores rows as int8, in memory and in a saved folder, and decodes them on access.
    """

    name: ClassVar[str] = "quantise.v1"

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        return vectors.replace(matrix=quantize(vectors))


@dataclass(frozen=True)
class ProductQuantizationConfig(Config):
    """Settings of `ProductQuantization`."""

    bytes: Annotated[int | None, Range(1)] = None
    """Bytes for the direction of a word, at most one per dimension; None means one for four dimensions."""
    rounds: Annotated[int, Range(0, 1_000)] = 20
    """Rounds of k-means."""
    sample: Annotated[int, Range(CODES)] = 20_000
    """Number of random rows that the centroids are fitted on."""
    seed: Annotated[int, SEEDS] = 0
    """Seed for the rows and the initial centroids."""


class ProductQuantization(Transform):
    r"""Split each direction into parts, and store the index of the nearest of 256 centroids for each part.

    .. math:: v_w \leftarrow |v_w|\, \mathrm{unit}\big(c_{1, k_1(w)} \oplus \dots \oplus c_{m, k_m(w)}\big)

    Centroids come from k-means over unit rows. Columns are distributed so that the products of the variances of all
    parts are about the same, which is optimal if columns are independent (Ge, He, Ke and Sun 2013, "Optimized Product
    Quantization"), so use ``pca`` first. Lengths are stored separately.

    The result stores the codes, in memory and in a saved folder, and decodes rows on access.

    Paper: Jégou, Douze and Schmid 2011, "Product Quantization for Nearest Neighbor Search".
    Cost: k-means of the sample in each part.
    """

    name: ClassVar[str] = "pq.v1"
    config_type: ClassVar[type[ProductQuantizationConfig]] = ProductQuantizationConfig
    config: ProductQuantizationConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        dim, config = vectors.dim, self.config
        parts = max(1, dim // COLUMNS_PER_BYTE) if config.bytes is None else config.bytes
        if parts > dim:
            raise UsageError(f"pq:bytes must be at most {dim}, the table's dimension; got {parts}.")
        random = np.random.default_rng(config.seed)
        rows = np.sort(random.permutation(len(vectors))[: config.sample])
        sample = unit_rows(vectors.take(rows))
        columns = balanced_columns(sample.var(axis=0, dtype=np.float64), parts)
        books = [centroids(sample[:, columns[a:b]], config.rounds, random) for a, b in part_bounds(dim, parts)]
        return {
            "codebooks": np.concatenate(books, axis=1).astype(np.float16),
            "columns": columns.astype(np.int32),
            "parts": np.array([parts]),
        }

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        columns, books = state["columns"], state["codebooks"]
        require_dim(vectors, len(columns), "pq")
        cuts = part_bounds(vectors.dim, int(state["parts"][0]))
        codes = np.empty((len(vectors), len(cuts)), dtype=np.uint8)
        lengths, start = np.empty(len(vectors)), 0
        for block in vectors.blocks():
            some = slice(start, start + len(block))
            lengths[some] = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
            turned = unit_rows(block)[:, columns]
            for part, (begin, end) in enumerate(cuts):
                codes[some, part] = nearest_centroids(turned[:, begin:end], books[:, begin:end].astype(np.float32))
            start = some.stop
        return vectors.replace(matrix=ProductRows(codes, books, columns, narrow_lengths(lengths)))


def balanced_columns(variances: NDArray[np.float64], parts: int) -> NDArray[np.int64]:
    """[dim] the columns ordered by parts: each, largest variance first, goes to the part with the least product."""
    bounds = part_bounds(len(variances), parts)
    dealt: list[list[int]] = [[] for _ in bounds]
    products = np.zeros(parts)
    logs = np.log(np.maximum(variances, SMALLEST * max(float(variances.max()), SMALLEST)))
    for column in np.argsort(-variances, kind="stable").tolist():
        # Variances below 1 would make the product smaller with every column, so the number of columns decides first.
        open_parts = [part for part, (begin, end) in enumerate(bounds) if len(dealt[part]) < end - begin]
        part = min(open_parts, key=lambda part: (len(dealt[part]), products[part]))
        dealt[part].append(column)
        products[part] += logs[column]
    return np.array([column for columns in dealt for column in columns], dtype=np.int64)


def centroids(rows: Single, rounds: int, random: np.random.Generator) -> Single:
    """[256, width] centroids by k-means, initialized with random rows; a centroid without rows stays."""
    distinct = np.unique(rows, axis=0)
    chosen = distinct[random.permutation(len(distinct))[:CODES]]
    found: Single = np.zeros((CODES, rows.shape[1]), dtype=np.float32)
    found[: len(chosen)] = chosen
    if len(distinct) <= CODES:
        return found
    for _ in range(rounds):
        numbers = nearest_centroids(rows, found)
        sizes = np.bincount(numbers, minlength=CODES)
        sums = np.stack([np.bincount(numbers, column, CODES) for column in rows.T], axis=1)
        filled = sizes > 0
        found[filled] = sums[filled] / sizes[filled, None]
    return found


def nearest_centroids(rows: Single, found: Single) -> NDArray[np.int64]:
    """[rows] the index of the nearest centroid, the first in a tie."""
    scores = rows @ found.T
    scores -= np.einsum("ij,ij->i", found, found) / 2
    nearest: NDArray[np.int64] = scores.argmax(axis=1)
    return nearest


def narrow_lengths(lengths: NDArray[np.float64]) -> NDArray[np.floating]:
    """A single length if all are the same, and half precision if it is accurate enough."""
    if len(lengths) and np.ptp(lengths) <= SAME_LENGTH * lengths.max():
        lengths = lengths.mean(keepdims=True)
    used = lengths[lengths > 0]
    fits = used.max(initial=1.0) <= HALF.max and used.min(initial=1.0) >= HALF.tiny
    return lengths.astype(np.float16 if fits else np.float32)
