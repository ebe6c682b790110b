"""``subwords``: rows for character n-grams, fitted to a table, so that any spelling gets a vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.formats.floret import FloretTable
from wordstill.postprocess.base import Transform, require_dim
from wordstill.postprocess.retrofit.graph import Csr, sparse
from wordstill.vectors.char_ngrams import NgramVectors, ngram_rows
from wordstill.vectors.table import WordVectors

Floats: TypeAlias = NDArray[np.float32]

BUCKETS = {"fasttext": 2_000_000, "floret": 50_000}
SEED = 2166136261
"""floret's default hash seed."""
COLUMNS_AT_ONCE = 64
"""Columns that are solved at a time; they are independent."""
ENOUGH = 1e-5
"""Relative residual at which the solver stops."""
SMALL_MEAN = 0.1
"""A mean of unit vectors shorter than this counts as zero."""
LONGEST = 100
HALF = (1e-2, 1e3)
"""Range of lengths for which half precision is accurate enough."""


@dataclass(frozen=True)
class SubwordsConfig(Config):
    """Settings of `Subwords`; chosen on held-out words of a table (experiments/results.md)."""

    kind: Literal["fasttext", "floret"] = "fasttext"
    """The hash function: ``fasttext`` can be exported to its .bin, ``floret`` to its text format and to spaCy."""
    minn: Annotated[int, Range(1, LONGEST)] = 2
    """Minimum length of an n-gram in characters, including the marks before and after a word."""
    maxn: Annotated[int, Range(1, LONGEST)] = 6
    """Maximum length of an n-gram in characters."""
    buckets: Annotated[int | None, Range(1, 2**31 - 1)] = None
    """Number of hash buckets; None means 2,000,000 for fasttext, as in fastText, and 50,000 for floret."""
    hashes: Annotated[int, Range(1, 4)] = 2
    """Number of rows of each n-gram; floret only."""
    ridge: Annotated[float, Range(0, above=True)] = 0.1
    """Strength of the ridge penalty; use more for a small or noisy table."""
    prior: Annotated[float, Range(0)] = 3.0
    """A word with count n has the weight n / (n + prior); words with count 0 weigh as much as words with count 1."""
    steps: Annotated[int, Range(1, 10_000)] = 20
    """Maximum number of conjugate gradient steps."""


class Subwords(Transform):
    r"""Rows :math:`z_g` of character n-grams whose means approximate the vectors of words.

    .. math::
        \min_Z \sum_w \frac{n_w k_w}{n_w + \kappa} \Big| u_w - \frac{1}{k_w} \sum_{g \in w} z_g \Big|^2
        + \lambda \sum_g \frac{|z_g|^2}{s_g^2}

    :math:`u_w` is the unit vector of a word, minus the mean of all words unless that is near zero; :math:`n_w` is its
    count, :math:`k_w` the number of its n-grams, and :math:`s_g` the inverse document frequency of an n-gram, scaled to
    a mean square of one, so that a stem says more than a letter pair. Rows are averaged, not summed, so that fastText
    and floret readers give the same vectors. N-grams that occur in the same words have the same solution, and are
    solved as one unknown, by conjugate gradients with a sparse matrix of words and n-grams.

    The vector of an unknown word is the mean row of its n-grams. If few of them are known, it is short, so that an
    uncertain word weighs less in a sentence; if all are known, it is about as long as the rarer half of the words.

    Cost: two sparse products for each step, with an entry for every n-gram of every word.
    Relations: the back-off ``ngrams`` averages whole words that share n-grams, without fitting.
    """

    name: ClassVar[str] = "subwords.v1"
    config_type: ClassVar[type[SubwordsConfig]] = SubwordsConfig
    config: SubwordsConfig

    def _learn(self, vectors: WordVectors) -> dict[str, NDArray[Any]]:
        if self.config.minn > self.config.maxn:
            raise UsageError(f"subwords:minn must be at most maxn, {self.config.maxn}; got {self.config.minn}.")
        usable = np.flatnonzero(vectors.unit.any(axis=1))
        usable = usable if len(usable) else np.arange(len(vectors))
        entries = self._entries([vectors.words[row] for row in usable.tolist()])
        if not len(entries.buckets):
            raise UsageError(
                f"subwords learns from words with n-grams of {self.config.minn} to {self.config.maxn} characters; "
                "no word of the table has any."
            )
        unit = vectors.unit[usable]
        origin = unit.mean(axis=0, dtype=np.float64).astype(np.float32)
        if np.linalg.norm(origin) < SMALL_MEAN:
            origin = np.zeros_like(origin)
        columns = Columns.of(entries, len(usable), merge=self.config.kind == "fasttext")
        sizes = np.bincount(entries.owners, minlength=len(usable))
        counts = None if vectors.counts is None else vectors.counts[usable]
        importance = sizes * reliability(counts, self.config.prior)
        rows = fitted_rows(columns, unit, origin, importance, self.config.ridge, self.config.steps)
        length = _usual_length(vectors, usable)
        return {
            "rows": (rows * length).astype(np.float16 if HALF[0] < length < HALF[1] else np.float32),
            "keys": columns.keys,
            "places": columns.places,
            "origin": origin * length,
        }

    def _apply(self, vectors: WordVectors, state: Mapping[str, NDArray[Any]]) -> WordVectors:
        require_dim(vectors, len(state["origin"]), "subwords")
        config, buckets = self.config, self._buckets
        if config.kind == "fasttext":
            made = NgramVectors(
                state["rows"], state["keys"], state["places"], state["origin"], config.minn, config.maxn, buckets
            )
            return vectors.replace(subwords=made)
        rows = np.tile(state["origin"], (buckets, 1))
        rows[state["keys"]] += state["rows"][state["places"]]
        floret = FloretTable(rows.astype(np.float32), config.minn, config.maxn, config.hashes, SEED)
        return vectors.replace(subwords=floret)

    @property
    def _buckets(self) -> int:
        return self.config.buckets or BUCKETS[self.config.kind]

    def _entries(self, words: list[str]) -> Entries:
        config = self.config
        if config.kind == "fasttext":
            return Entries(*ngram_rows(words, config.minn, config.maxn, self._buckets))
        empty = FloretTable(np.empty((self._buckets, 1), np.float32), config.minn, config.maxn, config.hashes, SEED)
        return Entries(*empty.rows_of(words))


class Entries(NamedTuple):
    """The buckets of the words' n-grams."""

    buckets: NDArray[np.int64]
    owners: NDArray[np.int64]
    """The word of each, ascending."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The sparse matrix of words and n-grams, merging n-grams that occur in the same words."""

    matrix: Csr
    """(words, columns): the share of each n-gram in its word, times the scale of its column."""
    unscale: Floats
    """(columns,) factors from the solution to the rows of n-grams."""
    keys: NDArray[np.int32]
    """Buckets, ascending."""
    places: NDArray[np.int32]
    """The column of each bucket."""

    @classmethod
    def of(cls, entries: Entries, words: int, *, merge: bool = True) -> Columns:
        """The matrix of some n-grams."""
        keys, numbers = np.unique(entries.buckets, return_inverse=True)
        having = np.bincount(numbers)
        places = np.arange(len(keys))
        if merge:
            # N-grams whose words have the same sum of random numbers occur in the same words.
            marks = np.random.default_rng(0).integers(0, 1 << 63, words, dtype=np.uint64)
            order = np.argsort(numbers, kind="stable")
            starts = np.concatenate([[0], np.cumsum(having)[:-1]])
            sums = np.add.reduceat(marks[entries.owners[order]], starts)
            _, first, places = np.unique(sums, return_index=True, return_inverse=True)
            having = having[first]
        rarity = np.log((1 + words) / having) + np.finfo(np.float32).eps
        scale = rarity / np.sqrt(np.mean(np.square(rarity)[places[numbers]]))
        many = np.sqrt(np.bincount(places))
        sizes = np.bincount(entries.owners, minlength=words)
        values = (scale / many)[places[numbers]] / sizes[entries.owners]
        matrix = sparse("Fitting subwords").csr_matrix(
            (values.astype(np.float32), (entries.owners, places[numbers])), shape=(words, len(having))
        )
        return cls(matrix, (scale / many).astype(np.float32), keys.astype(np.int32), places.astype(np.int32))


def fitted_rows(
    columns: Columns, unit: Floats, origin: Floats, importance: NDArray[np.float64], ridge: float, steps: int
) -> Floats:
    """[columns, dim] the rows that minimize the objective."""
    matrix = columns.matrix
    weighted = matrix.multiply(importance[:, None].astype(np.float32)).T.tocsr()
    rows = np.empty((matrix.shape[1], unit.shape[1]), dtype=np.float32)
    for start in range(0, unit.shape[1], COLUMNS_AT_ONCE):
        some = slice(start, start + COLUMNS_AT_ONCE)
        target = weighted @ (unit[:, some] - origin[some])
        rows[:, some] = conjugate_gradients(matrix, weighted, target, ridge, steps)
    rows *= columns.unscale[:, None]
    return rows


def conjugate_gradients(matrix: Csr, weighted: Csr, target: Floats, ridge: float, steps: int) -> Floats:
    """The solution X of (weighted matrix + ridge) X = target, separately for each column of the target."""
    solution = np.zeros_like(target)
    residual, direction = target.copy(), target.copy()
    size = np.einsum("ij,ij->j", residual, residual)
    enough = ENOUGH**2 * size
    for _ in range(steps):
        product = weighted @ (matrix @ direction)
        product += np.float32(ridge) * direction
        along = np.einsum("ij,ij->j", direction, product)
        step = np.divide(size, along, out=np.zeros_like(size), where=along > 0)
        solution += step * direction
        residual -= step * product
        before, size = size, np.einsum("ij,ij->j", residual, residual)
        if (size <= enough).all():
            break
        direction *= np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        direction += residual
    return solution


def reliability(counts: NDArray[np.int64] | None, prior: float) -> NDArray[np.float64]:
    """[words] the weight of each word by its count; [1] if there are no counts."""
    if counts is None:
        return np.ones(1)
    seen = np.maximum(counts, 1).astype(np.float64)
    believed: NDArray[np.float64] = seen / (seen + prior)
    return believed


def _usual_length(vectors: WordVectors, rows: NDArray[np.int64]) -> np.float32:
    """The median length of the rarer half of the words."""
    rows = rows[::-1] if vectors.counts is None else rows[np.argsort(vectors.counts[rows], kind="stable")]
    taken = vectors.take(rows[: (len(rows) + 1) // 2])
    return np.float32(np.median(np.sqrt(np.einsum("ij,ij->i", taken, taken, dtype=np.float64))))
