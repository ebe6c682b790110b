"""floret's vectors: rows for hashes of words and their n-grams, without any words.

The first line is "rows dimension minn maxn hashCount hashSeed BOW EOW"; then comes a line for each row. It is read as a
table without words, whose `subwords` give a vector to any word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.core.text_io import create_bytes
from wordstill.errors import FormatError, UsageError
from wordstill.formats.base import STRICT, Format, Header, ReadOptions, head, make_table, not_this
from wordstill.formats.text import DECIMAL, TextTable
from wordstill.vectors.compressed import Matrix
from wordstill.vectors.table import WordVectors

LARGEST = {"minn": 100, "maxn": 100, "hash_count": 4, "hash_seed": (1 << 32) - 1}
"""Maximum value of each numeric setting."""
NUMBERS = 6
MASK = (1 << 64) - 1
FIRST, SECOND = 0x87C37B91114253D5, 0x4CF5AD432745937F
BLOCK = 16
HEADER = re.compile(
    rb"([1-9][0-9]{0,11}) ([1-9][0-9]{0,6}) ([0-9]{1,3}) ([0-9]{1,3}) ([1-4]) ([0-9]{1,10}) (\S*) (\S*) *\r?"
)


@dataclass(frozen=True)
class FloretTable:
    """Vectors of any word, as the mean of the rows of its hashes and those of its n-grams."""

    rows: Matrix
    minn: int
    maxn: int
    hash_count: int
    hash_seed: int
    begin: str = "<"
    end: str = ">"

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of a word, (dim,); zeros for the empty word."""
        vector: NDArray[np.float32] = self.vectors([word])[0]
        return vector

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of words, (words, dim)."""
        found = np.zeros((len(words), self.rows.shape[1]), dtype=np.float32)
        for number, word in enumerate(words):
            if word:
                rows, _ = self.rows_of([word])
                found[number] = self.rows[rows].astype(np.float32, copy=False).mean(axis=0)
        return found

    def rows_of(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of each word and its n-grams, and the word's index in the list; both in the order of words."""
        known: dict[str, list[int]] = {}
        rows: list[int] = []
        sizes = []
        for word in words:
            before = len(rows)
            for part in self._parts(word):
                if part not in known:
                    known[part] = self._rows_of(part)
                rows += known[part]
            sizes.append(len(rows) - before)
        return np.array(rows, dtype=np.int64), np.repeat(np.arange(len(words)), sizes)

    def _parts(self, word: str) -> list[str]:
        """The word with its marks, and its n-grams; nothing for the empty word."""
        if not word:
            return []
        marked = self.begin + word + self.end
        sizes = range(self.minn, self.maxn + 1)
        parts = (marked[start : start + size] for size in sizes for start in range(len(marked) - size + 1))
        return [marked, *parts]

    def _rows_of(self, part: str) -> list[int]:
        low, high = murmur3_128(part.encode("utf-8", "surrogatepass"), self.hash_seed)
        hashes = (low & 0xFFFFFFFF, low >> 32, high & 0xFFFFFFFF, high >> 32)
        return [number % len(self.rows) for number in hashes[: self.hash_count]]


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read the rows, which must be complete and in order."""
    with options.open(path) as handle:
        start = handle.peek()
        match = HEADER.fullmatch(start.partition(b"\n")[0])
        if match is None:
            raise not_this(path, start, "floret's vectors, which begin with a line of eight settings")
        handle.readline()
        rows, dim, minn, maxn, hash_count, seed = (int(match[number]) for number in range(1, NUMBERS + 1))
        table = TextTable(path, dim, Header(rows, dim), 2, STRICT)
        number = 2
        for lines in options.line_blocks(handle, path):
            table.add(lines, number)
            number += len(lines)
    parsed = table.finish()
    for row, word in enumerate(parsed.words):
        if word != str(row):
            raise FormatError(f"{path}:{row + 2}: the row is named {word!r}, expected {str(row)!r}.")
    marks = [match[NUMBERS + side].decode("utf-8", "replace") for side in (1, 2)]
    subwords = FloretTable(parsed.matrix, minn, maxn, hash_count, seed, *marks)
    return make_table(path, [], np.empty((0, dim), dtype=np.float32), options, subwords=subwords)


def write(vectors: WordVectors, path: Path) -> None:
    """Write the floret rows of a table; its words are not stored."""
    table = vectors.subwords
    if not isinstance(table, FloretTable):
        raise UsageError(
            f"The table has no floret rows, and {path} can hold nothing else. Add them with: wordstill transform "
            "TABLE --chain subwords:kind=floret"
        )
    settings = (len(table.rows), vectors.dim, table.minn, table.maxn, table.hash_count, table.hash_seed)
    numbers = f"%d{f' {DECIMAL}' * vectors.dim}\n"
    with create_bytes(path) as handle:
        handle.write(f"{' '.join(map(str, settings))} {table.begin} {table.end}\n".encode())
        for row, vector in enumerate(table.rows):
            handle.write((numbers % (row, *vector.tolist())).encode("ascii"))


def has_rows(vectors: WordVectors) -> bool:
    """Whether a table has floret rows."""
    return isinstance(vectors.subwords, FloretTable)


def recognizes(path: Path) -> bool:
    """Whether the first line has floret's eight settings."""
    return path.is_file() and HEADER.fullmatch(head(path).partition(b"\n")[0]) is not None


def murmur3_128(data: bytes, seed: int) -> tuple[int, int]:
    """The two 64-bit halves of the MurmurHash3 of some bytes."""
    low = high = seed
    whole = len(data) // BLOCK * BLOCK
    for start in range(0, whole, BLOCK):
        low ^= _stir(int.from_bytes(data[start : start + 8], "little"), FIRST, 31, SECOND)
        low = (_turn(low, 27) + high) * 5 + 0x52DCE729 & MASK
        high ^= _stir(int.from_bytes(data[start + 8 : start + BLOCK], "little"), SECOND, 33, FIRST)
        high = (_turn(high, 31) + low) * 5 + 0x38495AB5 & MASK
    tail = data[whole:]
    high ^= _stir(int.from_bytes(tail[8:], "little"), SECOND, 33, FIRST)
    low ^= _stir(int.from_bytes(tail[:8], "little"), FIRST, 31, SECOND)
    low, high = low ^ len(data), high ^ len(data)
    low = low + high & MASK
    high = high + low & MASK
    low, high = _finish(low), _finish(high)
    low = low + high & MASK
    return low, high + low & MASK


def _turn(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & MASK


def _stir(value: int, before: int, bits: int, after: int) -> int:
    return _turn(value * before & MASK, bits) * after & MASK


def _finish(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


FLORET = Format("floret", (".floret",), read, write, recognizes, streamed=True, words=False, keeps_subwords=has_rows)
