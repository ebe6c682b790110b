"""The n-grams of words as fastText hashes them, for many words at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.vectors import Matrix

BASIS, PRIME = np.uint32(2166136261), np.uint32(16777619)
MAX_CHAR_BYTES = 4
EMPTY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class NgramTable:
    """Vectors of any word, as the mean of the rows of its n-grams."""

    rows: Matrix
    """(buckets, dim)"""

    minn: int
    maxn: int

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of a word, (dim,); zeros if it has no n-grams."""
        numbers, _ = ngram_rows([word], self.minn, self.maxn, len(self.rows))
        if not len(numbers):
            return np.zeros(self.rows.shape[1], dtype=np.float32)
        mean = np.asarray(self.rows[numbers].astype(np.float32).mean(axis=0), dtype=np.float32)
        if not np.isfinite(mean).all():
            raise DataError(f"An n-gram of {word!r} has NaN or infinity in its row.")
        return mean


def ngram_rows(
    words: Sequence[str], minn: int, maxn: int, buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bucket of each n-gram of each word, and the word's place in the list; both sorted by word.

    An n-gram is ``minn`` to ``maxn`` characters of the word between the marks < and >; a mark alone is none.
    Its hash is FNV-1a over UTF-8, where fastText takes bytes as signed numbers.
    """
    if not buckets or not words:
        return EMPTY, EMPTY
    encoded = [f"<{word}>".encode("utf-8", "surrogatepass") for word in words]
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    widths = np.diff(starts, append=len(data))
    owners = np.searchsorted(np.cumsum([len(word) for word in encoded]), starts, side="right")
    # Four bytes more, so that every character can be read as if it had as many.
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
    return _by_word(found, places)


def _lengthen(
    hashes: NDArray[np.uint32],
    begins: NDArray[np.int64],
    signed: NDArray[np.uint32],
    starts: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> None:
    """Take one more character, with its start and width in bytes, into the n-grams that begin there."""
    for byte in range(MAX_CHAR_BYTES):
        has = widths > byte
        rows = begins[has]
        hashes[rows] = (hashes[rows] ^ signed[starts[has] + byte]) * PRIME


def _by_word(
    found: list[NDArray[np.uint32]], places: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not found:
        return EMPTY, EMPTY
    owners = np.concatenate(places)
    order = np.argsort(owners, kind="stable")
    return np.concatenate(found).astype(np.int64)[order], owners[order]
