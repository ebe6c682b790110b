"""Batched queries on a table of vectors, which `WordVectors` has as methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors.oov import UnknownWord
from wordstill.vectors.search import SCORE_BYTES, Found, nearest, unit_rows

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors

Item: TypeAlias = str | NDArray[np.floating]
Items: TypeAlias = Item | Sequence[Item]
Scored: TypeAlias = list[tuple[str, float]]
NO_ROW = -1


@dataclass(frozen=True)
class Resolved:
    """Words and vectors of queries, looked up in a table."""

    rows: NDArray[np.int64]
    """[items] the row of each; -1 for a vector, and for a word whose vector is from a back-off."""
    vectors: NDArray[np.float32]
    """[items, dim]"""
    are_words: NDArray[np.bool_]
    """[items]"""

    def units(self) -> NDArray[np.float32]:
        """[items, dim] words as unit vectors, vectors as given, as gensim adds them."""
        scaled = self.vectors.copy()
        scaled[self.are_words] = unit_rows(self.vectors[self.are_words])
        return scaled


def resolve(table: WordVectors, items: Sequence[Item]) -> Resolved:
    """Look up words in the table and its back-offs, and check vectors."""
    rows = np.full(len(items), NO_ROW, dtype=np.int64)
    are_words = np.fromiter((isinstance(item, str) for item in items), dtype=np.bool_, count=len(items))
    vectors = np.empty((len(items), table.dim), dtype=np.float32)
    words = [item for item in items if isinstance(item, str)]
    answers = iter(table.find(words, own=True))
    for number, item in enumerate(items):
        found = next(answers) if isinstance(item, str) else _checked_vector(item, table.dim)
        if found is None:
            raise UnknownWord(str(item), table.words)
        if isinstance(found, int):
            rows[number] = found
        else:
            vectors[number] = found
    in_table = rows != NO_ROW
    vectors[in_table] = table.take(rows[in_table])
    return Resolved(rows, vectors, are_words)


def most_similar(
    table: WordVectors, positive: Sequence[Items], negative: Sequence[Items] | None = None, topn: int = 10
) -> list[Scored]:
    """For each query, the words nearest to the sum of its positive items minus its negative ones."""
    negative = [()] * len(positive) if negative is None else negative
    if len(positive) != len(negative):
        raise UsageError(
            f"There are {len(positive)} positive and {len(negative)} negative lists; expected one of each "
            "for every query."
        )
    plus, minus = [as_list(items) for items in positive], [as_list(items) for items in negative]
    queries = [(*more, *less) for more, less in zip(plus, minus)]
    for number, items in enumerate(queries):
        if not items:
            raise UsageError(f"most_similar needs at least one word or vector to start from; query {number} has none.")
    signs = [sign for more, less in zip(plus, minus) for sign in [1.0] * len(more) + [-1.0] * len(less)]
    resolved = resolve(table, list(chain.from_iterable(queries)))
    sizes = [len(items) for items in queries]
    sums = grouped_sums(resolved.units() * np.array(signs, dtype=np.float64)[:, None], sizes)
    return search(table, sums, topn, rows_of_groups(resolved.rows, sizes))


def doesnt_match(table: WordVectors, groups: Sequence[Sequence[str]]) -> list[str]:
    """The word of each group that is least similar to the mean of all, as in gensim."""
    for number, words in enumerate(groups):
        if isinstance(words, str) or not len(words):
            raise UsageError(f"doesnt_match needs a list of words; got {words!r} (group {number}).")
    sizes = [len(words) for words in groups]
    units = resolve(table, list(chain.from_iterable(groups))).units()
    means = unit_rows(grouped_sums(units, sizes))
    closeness = np.einsum("ij,ij->i", units, np.repeat(means, sizes, axis=0))
    scores = np.split(closeness, np.cumsum(sizes)[:-1])
    return [min(zip(some.tolist(), words))[1] for words, some in zip(groups, scores)]


def n_similarity(table: WordVectors, pairs: Sequence[tuple[Items, Items]]) -> NDArray[np.float32]:
    """[pairs] the cosine between the mean vectors of two sets of words, as in gensim."""
    sets = [as_list(items) for pair in pairs for items in pair]
    for number, items in enumerate(sets):
        if not items:
            raise UsageError(f"n_similarity needs two sets with a word in each; pair {number // 2} has none.")
    vectors = resolve(table, list(chain.from_iterable(sets))).vectors
    units = unit_rows(grouped_sums(vectors, [len(items) for items in sets]))
    cosines: NDArray[np.float32] = np.einsum("ij,ij->i", units[0::2], units[1::2])
    return cosines


def search(
    table: WordVectors,
    queries: NDArray[np.floating],
    topn: int,
    exclude: Sequence[Sequence[int]] | None,
    *,
    score_bytes: int = SCORE_BYTES,
) -> list[Scored]:
    """The words nearest in cosine to each row of ``queries``."""
    return named(table, nearest(table.unit, unit_rows(queries), topn, exclude, score_bytes=score_bytes))


def named(table: WordVectors, found: Iterable[Found]) -> list[Scored]:
    """Search results with words in place of rows."""
    words = table.words
    return [[(words[row], score) for row, score in zip(rows.tolist(), scores.tolist())] for rows, scores in found]


def grouped_sums(rows: NDArray[np.floating], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Sums of non-empty runs of rows, in float64."""
    if not sizes:
        return np.zeros((0, rows.shape[1]))
    sums: NDArray[np.float64] = np.add.reduceat(rows.astype(np.float64), np.cumsum([0, *sizes[:-1]]), axis=0)
    return sums


def rows_of_groups(rows: NDArray[np.int64], sizes: Sequence[int]) -> list[list[int]]:
    """The table rows in each run of query items, which are excluded from its results."""
    parts = np.split(rows, np.cumsum(sizes)[:-1]) if sizes else []
    return [part[part != NO_ROW].tolist() for part in parts]


def as_list(items: Items | None) -> list[Item]:
    """One item, several or none as a list."""
    if items is None:
        return []
    if isinstance(items, str) or (isinstance(items, np.ndarray) and items.ndim == 1):
        return [items]
    return list(items)


def _checked_vector(item: NDArray[np.floating], dim: int) -> NDArray[np.float32]:
    vector = np.asarray(item, dtype=np.float32)
    if vector.shape != (dim,):
        raise UsageError(f"A vector has shape {vector.shape}, expected ({dim},).")
    if not np.isfinite(vector).all():
        raise UsageError("A query vector has NaN or infinity in it.")
    return vector
