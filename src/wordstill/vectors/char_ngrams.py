"""Word vectors from character n-grams, hashed to rows as in fastText; numpy only.

The vector of a word is the mean of the rows of its n-grams of ``minn`` to ``maxn`` characters, including the
boundary marks < and > (Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import find_sorted
from wordstill.errors import DataError, UsageError

Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float16]

BASIS, PRIME = np.uint32(2166136261), np.uint32(16777619)
MASK = (1 << 32) - 1
MAX_CHAR_BYTES = 4
EMPTY = np.empty(0, dtype=np.int64)
WORDS_AT_ONCE = 1 << 12
FEW = 8
"""Up to this many words are hashed faster one by one."""


@dataclass(frozen=True, eq=False)
class NgramTable:
    """A row for each bucket, as in a fastText model."""

    rows: Matrix
    """(buckets, dim)"""

    minn: int
    maxn: int

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return len(self.rows)

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of a word, (dim,); zeros if it has no n-grams."""
        vector: NDArray[np.float32] = self.vectors([word])[0]
        return vector

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of words, (words, dim)."""
        return ngram_means(self, words, self.rows.shape[1])

    def bucket_rows(self, buckets: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows of some buckets, (buckets, dim)."""
        return self.rows[buckets].astype(np.float32)


@dataclass(frozen=True, eq=False)
class NgramVectors:
    """Rows for the n-grams of a table's words only; all other buckets are zeros.

    N-grams that occur in the same words share a row.
    """

    rows: Matrix
    """(distinct rows, dim)"""
    keys: NDArray[np.int32]
    """The buckets that have a row, ascending."""
    places: NDArray[np.int32]
    """The row of each key."""
    origin: NDArray[np.float32]
    """(dim,) added to every row, including zeros: the mean of the table, if it is not zero."""

    minn: int
    maxn: int
    buckets: int

    def __post_init__(self) -> None:
        keys, places = np.asarray(self.keys), np.asarray(self.places)
        if self.rows.ndim != 2 or self.origin.shape != self.rows.shape[1:] or keys.shape != places.shape:
            raise UsageError(f"Rows {self.rows.shape}, {keys.shape} keys and {places.shape} places do not fit.")
        inside = not len(keys) or (keys[0] >= 0 and keys[-1] < self.buckets and (np.diff(keys) > 0).all())
        if not inside or places.min(initial=0) < 0 or places.max(initial=-1) >= len(self.rows):
            raise UsageError(f"The keys or places of {len(self.rows)} rows in {self.buckets} buckets are damaged.")

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of a word, (dim,); the origin if none of its n-grams has a row, zeros if it has no n-grams."""
        vector: NDArray[np.float32] = self.vectors([word])[0]
        return vector

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of words, (words, dim)."""
        return ngram_means(self, words, len(self.origin))

    def bucket_rows(self, buckets: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows of some buckets, (buckets, dim)."""
        found, known = find_sorted(self.keys, buckets)
        rows = np.tile(self.origin, (len(buckets), 1))
        rows[known] += self.rows[self.places[found[known]]]
        return rows


def ngram_means(table: NgramTable | NgramVectors, words: Sequence[str], dim: int) -> NDArray[np.float32]:
    """[words, dim] the mean row of the n-grams of each word; zeros for a word without n-grams."""
    means = np.zeros((len(words), dim), dtype=np.float32)
    for start in range(0, len(words), WORDS_AT_ONCE):
        some = words[start : start + WORDS_AT_ONCE]
        buckets, owners = ngram_rows(some, table.minn, table.maxn, table.buckets)
        if isinstance(table, NgramVectors):
            _add_known(table, buckets, owners, means[start : start + len(some)])
        elif len(buckets):
            begins = np.flatnonzero(np.diff(owners, prepend=-1))
            sums = np.add.reduceat(table.bucket_rows(buckets), begins)
            means[start + owners[begins]] = sums / np.bincount(owners)[owners[begins], None]
    broken = ~np.isfinite(means).all(axis=1)
    if broken.any():
        raise DataError(f"An n-gram of {words[int(broken.argmax())]!r} has NaN or infinity in its row.")
    return means


def _add_known(
    table: NgramVectors, buckets: NDArray[np.int64], owners: NDArray[np.int64], means: NDArray[np.float32]
) -> None:
    found, known = find_sorted(table.keys, buckets)
    sizes = np.bincount(owners, minlength=len(means))
    means[sizes > 0] = table.origin
    if not known.any():
        return
    owners, places = owners[known], table.places[found[known]]
    begins = np.flatnonzero(np.diff(owners, prepend=-1))
    some = owners[begins]
    means[some] += np.add.reduceat(table.rows[places].astype(np.float32), begins) / sizes[some, None]


def ngram_rows(words: Sequence[str], minn: int, maxn: int, buckets: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bucket of each n-gram of each word, and the word's index in the list; both sorted by word.

    An n-gram is ``minn`` to ``maxn`` characters of the word with the marks < and >; a mark alone does not count.
    Its hash is FNV-1a over UTF-8, with signed bytes as in fastText.
    """
    if not buckets or not words:
        return EMPTY, EMPTY
    if len(words) <= FEW:
        lists = [_word_buckets(word, minn, maxn, buckets) for word in words]
        owners = np.repeat(np.arange(len(words)), [len(each) for each in lists])
        return np.array([bucket for each in lists for bucket in each], dtype=np.int64), owners
    encoded = [f"<{word}>".encode("utf-8", "surrogatepass") for word in words]
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    widths = np.diff(starts, append=len(data))
    owners = np.searchsorted(np.cumsum([len(word) for word in encoded]), starts, side="right")
    # Padding, so that four bytes can be read at every character.
    signed = np.append(data, np.zeros(MAX_CHAR_BYTES, np.uint8)).view(np.int8).astype(np.uint32)
    hashes = np.full(len(starts), BASIS)
    found: list[NDArray[np.uint32]] = []
    places: list[NDArray[np.int64]] = []
    for size in range(1, maxn + 1):
        begins = np.arange(len(starts) - size + 1)
        begins = begins[owners[begins] == owners[begins + size - 1]]
        _lengthen(hashes, begins, signed, starts[begins + size - 1], widths[begins + size - 1])
        if size == 1:
            edge = np.diff(owners, prepend=-1).astype(bool) | np.diff(owners, append=-1).astype(bool)
            begins = begins[~edge]
        if size >= minn:
            found.append(hashes[begins] % np.uint32(buckets))
            places.append(owners[begins])
    if not found:
        return EMPTY, EMPTY
    owners = np.concatenate(places)
    order = np.argsort(owners, kind="stable")
    return np.concatenate(found).astype(np.int64)[order], owners[order]


def _word_buckets(word: str, minn: int, maxn: int, buckets: int) -> list[int]:
    """The buckets of the n-grams of one word, ordered by size and position."""
    # fastText sign-extends bytes above 127.
    marked = [[byte | -(byte & 0x80) & MASK for byte in char.encode("utf-8", "surrogatepass")] for char in f"<{word}>"]
    prime, last = int(PRIME), len(marked) - 1
    found: list[tuple[int, int, int]] = []
    for start in range(len(marked)):
        value = int(BASIS)
        for end in range(start, min(start + maxn, len(marked))):
            for byte in marked[end]:
                value = (value ^ byte) * prime & MASK
            size = end - start + 1
            if size >= minn and not (size == 1 and start in (0, last)):
                found.append((size, start, value % buckets))
    return [bucket for _, _, bucket in sorted(found)]


def _lengthen(
    hashes: NDArray[np.uint32],
    begins: NDArray[np.int64],
    signed: NDArray[np.uint32],
    starts: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> None:
    """Extend the hashes of the n-grams at ``begins`` by a character each, given by its start and width in bytes."""
    for byte in range(MAX_CHAR_BYTES):
        has = widths > byte
        rows = begins[has]
        hashes[rows] = (hashes[rows] ^ signed[starts[has] + byte]) * PRIME
