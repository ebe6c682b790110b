"""Fewer bits: ``quantise`` to int8 with scales, and ``pq``, product quantization, a few bytes for each word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import SEEDS, Config, Range
from wordstill.errors import UsageError
from wordstill.postprocess.base import Transform, require_dim
from wordstill.vectors.compressed import CODES, ProductRows, Single, part_bounds, quantize
from wordstill.vectors.search import unit_rows
from wordstill.vectors.table import WordVectors

COLUMNS_PER_BYTE = 4
SAME_LENGTH = 1e-3
"""Lengths that differ by no more than this part are rounding."""
HALF = np.finfo(np.float16)
SMALLEST = 1e-12


class Quantize(Transform):
    r"""Round each vector to whole numbers from -127 to 127 times a scale of its own.

    .. math:: v_w \leftarrow s_w\, \mathrm{round}(v_w / s_w), \qquad s_w = \max_i |v_{wi}| / 127

    The result keeps its rows as int8 and decodes them as they are asked for; so does an artifact of it.
    """

    name: ClassVar[str] = "quantise.v1"

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        return vectors.replace(matrix=quantize(vectors))


@dataclass(frozen=True)
class ProductQuantizationConfig(Config):
    """Settings of `ProductQuantization`."""

    bytes: Annotated[int | None, Range(1)] = None
    """Bytes for the direction of a word, at most one for each number; None takes one for four numbers."""
    rounds: Annotated[int, Range(0, 1_000)] = 20
    """Rounds of k-means."""
    sample: Annotated[int, Range(CODES)] = 20_000
    """Rows that the centroids are learnt from, drawn at random."""
    seed: Annotated[int, SEEDS] = 0
    """Of the rows and of the first centroids."""


class ProductQuantization(Transform):
    r"""Cut each direction into parts and keep, of each part, the number of the nearest of 256 centroids.

    .. math:: v_w \leftarrow |v_w|\, \mathrm{unit}\big(c_{1, k_1(w)} \oplus \dots \oplus c_{m, k_m(w)}\big)

    The centroids are those of k-means over unit rows. Columns are dealt out so that the products of the
    variances of all parts are about the same, which is the best choice if columns are independent (Ge, He, Ke
    and Sun 2013, "Optimized Product Quantization"): use ``pca`` first. Lengths are kept apart and survive.

    The result decodes its rows as they are asked for, and an artifact of it holds the codes.

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
    """[dim] the columns in the order of the parts: largest first, each to the open part with the least product."""
    bounds = part_bounds(len(variances), parts)
    dealt: list[list[int]] = [[] for _ in bounds]
    products = np.zeros(parts)
    logs = np.log(np.maximum(variances, SMALLEST * max(float(variances.max()), SMALLEST)))
    for column in np.argsort(-variances, kind="stable").tolist():
        # Variances may be below 1, where more columns would make a product smaller; so size counts first.
        open_parts = [part for part, (begin, end) in enumerate(bounds) if len(dealt[part]) < end - begin]
        part = min(open_parts, key=lambda part: (len(dealt[part]), products[part]))
        dealt[part].append(column)
        products[part] += logs[column]
    return np.array([column for columns in dealt for column in columns], dtype=np.int64)


def centroids(rows: Single, rounds: int, random: np.random.Generator) -> Single:
    """[256, width] the centroids of k-means, begun with rows drawn at random; one without rows stays."""
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
    """[rows] the number of the nearest centroid, the first of equal ones."""
    scores = rows @ found.T
    scores -= np.einsum("ij,ij->i", found, found) / 2
    nearest: NDArray[np.int64] = scores.argmax(axis=1)
    return nearest


def narrow_lengths(lengths: NDArray[np.float64]) -> NDArray[np.floating]:
    """One length if all are the same, and half precision where that holds them."""
    if len(lengths) and np.ptp(lengths) <= SAME_LENGTH * lengths.max():
        lengths = lengths.mean(keepdims=True)
    used = lengths[lengths > 0]
    fits = used.max(initial=1.0) <= HALF.max and used.min(initial=1.0) >= HALF.tiny
    return lengths.astype(np.float16 if fits else np.float32)
