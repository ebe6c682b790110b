"""Linear transforms: ``centre``, ``unit``, ``sentence-weights``, ``whiten``, ``pca``, ``abtt``, ``uncovec``.

Means and covariances are computed in float64, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.postprocess.base import WORDS, Transform, require_dim, with_matrix, with_rows, words_digest
from wordstill.vectors.compressed import most_frequent
from wordstill.vectors.search import unit_rows
from wordstill.vectors.sentences import LENGTHS, SENTENCE_LENGTHS, has_sentence_lengths, sif, word_frequencies
from wordstill.vectors.table import WordVectors

SMALLEST = 1e-8
"""Directions with less than this share of the largest variance are due to rounding."""
DIMENSIONS_PER_DIRECTION = 100
UNIT_LENGTHS = "unit"
Common: TypeAlias = Annotated[int | None, Range(1)]


@dataclass(frozen=True)
class CenterConfig(Config):
    """Settings of `Center`."""

    common: Common = None
    """Use the mean of this many of the most frequent words; None uses all."""


class Center(Transform):
    r"""Subtract the mean vector: :math:`v_w \leftarrow v_w - \mu`.

    Cost: two passes over the table.
    """

    name: ClassVar[str] = "centre.v1"
    of_directions: ClassVar[bool] = True
    config_type: ClassVar[type[CenterConfig]] = CenterConfig
    config: CenterConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        return {"mean": mean_of(vectors, common_rows(vectors, self.config.common))}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, len(state["mean"]), "centre")
        return with_rows(vectors, lambda block: block - state["mean"])


class Unit(Transform):
    r"""Scale each vector to length one: :math:`v_w \leftarrow v_w / |v_w|`. Zeros stay zeros.

    Lengths that are sentence weights are lost, which the provenance records.
    """

    name: ClassVar[str] = "unit.v1"

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        # Kept only because the digest in the provenance covers them.
        lengths = [_lengths(block.astype(np.float64)) for block in vectors.blocks()]
        return {"lengths": np.concatenate(lengths), WORDS: words_digest(vectors.words)}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        table = with_rows(vectors, lambda block: block / _lengths(block)[:, None])
        return (
            table.replace(provenance={**table.provenance, LENGTHS: UNIT_LENGTHS})
            if has_sentence_lengths(vectors)
            else table
        )


def _lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """[rows] lengths, 1 for zero vectors."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.where(lengths == 0, 1.0, lengths)


@dataclass(frozen=True)
class SentenceWeightsConfig(Config):
    """Settings of `SentenceWeights`."""

    smoothing: Annotated[float, Range(0, above=True)] = 1e-3
    """The a of the weights; with a smaller one, frequent words weigh less."""


class SentenceWeights(Transform):
    r"""Scale each vector to its SIF weight: :math:`v_w \leftarrow \frac{a}{a + p(w)} v_w / |v_w|`.

    p(w) is the frequency of w (Arora, Liang and Ma 2017). A plain mean of rows is then the weighted mean, also in
    exported models, and no cosine between words changes.

    Cost: one pass over the table. A table without counts is assumed to be sorted by frequency.
    """

    name: ClassVar[str] = "sentence-weights.v1"
    config_type: ClassVar[type[SentenceWeightsConfig]] = SentenceWeightsConfig
    config: SentenceWeightsConfig

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        weights = sif(word_frequencies(vectors), self.config.smoothing)
        matrix = unit_rows(vectors.matrix) * weights.astype(np.float32)[:, None]
        return with_matrix(vectors, matrix).replace(provenance={LENGTHS: SENTENCE_LENGTHS})


@dataclass(frozen=True)
class WhitenConfig(Config):
    """Settings of `Whiten`."""

    exponent: Annotated[float, Range(0, 1)] = 0.5
    """Degree of whitening: 0 only centers, 0.5 gives all directions the same variance."""
    common: Common = None
    """Learn from so many most frequent words; None takes all."""


class Whiten(Transform):
    r"""Multiply centered vectors by a power of the inverse covariance, without rotating the axes (ZCA).

    .. math:: v_w \leftarrow \Sigma^{-a} (v_w - \mu)

    Directions with less than 1e-8 of the largest variance are treated as if they had that much; a table
    without any variance becomes zeros. Cost: three passes and an eigenvalue problem.
    Relations: `AllButTheTop` removes the directions of largest variance; `Uncovec` does not center, and rotates.
    """

    name: ClassVar[str] = "whiten.v1"
    of_directions: ClassVar[bool] = True
    config_type: ClassVar[type[WhitenConfig]] = WhitenConfig
    config: WhitenConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        rows = common_rows(vectors, self.config.common)
        mean = mean_of(vectors, rows)
        values, directions = principal(covariance_of(vectors, rows, mean))
        return {"mean": mean, "values": values, "directions": directions}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, len(state["mean"]), "whiten")
        power = self._power(state)
        return with_rows(vectors, lambda block: (block - state["mean"]) @ power)

    def _power(self, state: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        values, directions = state["values"], state["directions"]
        if values[0] <= 0:
            return np.zeros_like(directions)
        powers = np.maximum(values, SMALLEST * values[0]) ** -self.config.exponent
        product: NDArray[np.float64] = (directions * powers) @ directions.T
        return product


@dataclass(frozen=True)
class PcaConfig(Config):
    """Settings of `Pca`."""

    dim: Annotated[int | None, Range(1)] = None
    """The new dimension; None keeps all dimensions and only rotates."""
    common: Common = None
    """Learn from so many most frequent words; None takes all."""


class Pca(Transform):
    r"""Project centered vectors on the directions of largest variance, largest first.

    .. math:: v_w \leftarrow P^\top (v_w - \mu)

    Cost: three passes and an eigenvalue problem.
    """

    name: ClassVar[str] = "pca.v1"
    of_directions: ClassVar[bool] = True
    config_type: ClassVar[type[PcaConfig]] = PcaConfig
    config: PcaConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        dim = vectors.dim if self.config.dim is None else self.config.dim
        if dim > vectors.dim:
            raise UsageError(f"pca:dim must be at most {vectors.dim}, the table's; got {dim}.")
        rows = common_rows(vectors, self.config.common)
        mean = mean_of(vectors, rows)
        directions = principal(covariance_of(vectors, rows, mean))[1]
        return {"mean": mean, "directions": directions[:, :dim]}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        mean, directions = state["mean"], state["directions"]
        require_dim(vectors, len(mean), "pca")
        return with_rows(vectors, lambda block: (block - mean) @ directions, directions.shape[1])


@dataclass(frozen=True)
class AllButTheTopConfig(Config):
    """Settings of `AllButTheTop`."""

    directions: Annotated[int | None, Range(0)] = None
    """Number of directions to remove; None removes a hundredth of the dimension, as in the paper."""
    common: Common = None
    """Learn from so many most frequent words; None takes all."""


class AllButTheTop(Transform):
    r"""Remove the mean and the directions of largest variance.

    .. math:: v_w \leftarrow v_w - \mu - \sum_{i=1}^{D} u_i u_i^\top (v_w - \mu)

    Paper: Mu and Viswanath 2018, "All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations". The paper projects :math:`v_w` instead of :math:`v_w - \mu`; the results differ by the same
    vector for all words, and here the result is centered.

    Relations: `Whiten` shrinks directions of large variance instead of removing them.
    """

    name: ClassVar[str] = "abtt.v1"
    of_directions: ClassVar[bool] = True
    config_type: ClassVar[type[AllButTheTopConfig]] = AllButTheTopConfig
    config: AllButTheTopConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        rows = common_rows(vectors, self.config.common)
        mean = mean_of(vectors, rows)
        count = self._count(vectors.dim)
        top = principal(covariance_of(vectors, rows, mean))[1][:, :count]
        taken = [(block - mean) @ top for block in vectors.blocks()]
        # The last two are kept only because the digest in the provenance covers them.
        return {
            "mean": mean,
            "top": top,
            "taken": np.concatenate(taken).astype(np.float32),
            WORDS: words_digest(vectors.words),
        }

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        mean, top = state["mean"], state["top"]
        require_dim(vectors, len(mean), "abtt")

        def change(block: NDArray[np.float64]) -> NDArray[np.float64]:
            block -= mean
            block -= (block @ top) @ top.T
            return block

        return with_rows(vectors, change)

    def _count(self, dim: int) -> int:
        count = self.config.directions
        if count is None:
            return max(1, dim // DIMENSIONS_PER_DIRECTION) if dim > 1 else 0
        if count >= dim:
            raise UsageError(f"abtt:directions must be below the dimension, {dim}; got {count}.")
        return count


@dataclass(frozen=True)
class UncovecConfig(Config):
    """Settings of `Uncovec`."""

    alpha: Annotated[float, Range(-1, 1)] = -0.15
    """Below 0, the similarity order falls, towards syntax and similarity; above 0, it rises, towards relatedness."""


class Uncovec(Transform):
    r"""Change the similarity order of dot products.

    .. math:: X \leftarrow X Q \Lambda^{\alpha}, \qquad X^\top X = Q \Lambda Q^\top

    With alpha = (n - 1) / 2, dot products of the new vectors are similarities of order n of the old ones.
    Vectors are neither centered nor scaled. Directions without variance stay empty for any alpha.

    Paper: Artetxe, Labaka, Lopez-Gazpio and Agirre 2018, "Uncovering Divergent Linguistic Information in Word
    Embeddings with Lessons for Intrinsic and Extrinsic Evaluation".
    """

    name: ClassVar[str] = "uncovec.v1"
    of_directions: ClassVar[bool] = True
    config_type: ClassVar[type[UncovecConfig]] = UncovecConfig
    config: UncovecConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        moment = covariance_of(vectors, common_rows(vectors, None), np.zeros(vectors.dim))
        values, directions = principal(moment * len(vectors))
        return {"values": values, "directions": directions}

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, len(state["values"]), "uncovec")
        turned = state["directions"] * self._powers(state["values"])
        return with_rows(vectors, lambda block: block @ turned)

    def _powers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[dim] the factor of each direction; 0 for directions that are due to rounding."""
        filled = values > SMALLEST**2 * values[0]
        raised = np.where(filled, values, 1.0) ** self.config.alpha
        powers: NDArray[np.float64] = np.where(filled, raised, 0.0)
        return powers


def common_rows(vectors: WordVectors, common: int | None) -> NDArray[np.bool_]:
    """[words] the words that a transform is fitted on: the most frequent ones, or all."""
    if common is None or common >= len(vectors):
        return np.ones(len(vectors), dtype=np.bool_)
    chosen = np.zeros(len(vectors), dtype=np.bool_)
    chosen[most_frequent(vectors.counts, len(vectors), common)] = True
    return chosen


def mean_of(vectors: WordVectors, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[dim] the mean of the rows."""
    total = np.zeros(vectors.dim)
    for block in _chosen(vectors, rows):
        total += block.sum(axis=0)
    mean: NDArray[np.float64] = total / rows.sum()
    return mean


def covariance_of(vectors: WordVectors, rows: NDArray[np.bool_], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """[dim, dim] the covariance around ``mean``; with zeros, the second moment."""
    total = np.zeros((vectors.dim, vectors.dim))
    for block in _chosen(vectors, rows):
        block -= mean
        total += block.T @ block
    covariance: NDArray[np.float64] = total / rows.sum()
    return covariance


def principal(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues [d] of a symmetric matrix, largest first and clipped at 0, and eigenvectors [d, d].

    The largest coordinate of each eigenvector is positive, so that results are deterministic.
    """
    values, directions = np.linalg.eigh(matrix)
    values, directions = np.maximum(values[::-1], 0.0), directions[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(len(values))])
    return values, directions * signs


def _chosen(vectors: WordVectors, rows: NDArray[np.bool_]) -> Iterator[NDArray[np.float64]]:
    start = 0
    for block in vectors.blocks():
        yield block[rows[start : start + len(block)]].astype(np.float64)
        start += len(block)
