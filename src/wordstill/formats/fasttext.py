"""fastText's ``.bin``: words with counts, and the rows of words and n-grams.

A word's vector is the mean of its own row and the rows of its hashed n-grams; for an unknown word, of the n-grams alone
(Bojanowski et al. 2017). The rows are memory-mapped.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_path
from wordstill.errors import FormatError, UsageError
from wordstill.formats.base import STRICT, Format, ReadOptions, encode_word, head, make_table, not_this
from wordstill.vectors.char_ngrams import NgramTable, NgramVectors, ngram_rows
from wordstill.vectors.table import WordVectors

MAGIC = (793712314).to_bytes(4, "little")
VERSIONS = (11, 12)
SETTINGS = struct.Struct("<12id")
SIZES = struct.Struct("<3i2q")
ENTRY = struct.Struct("<qb")
MATRIX = struct.Struct("<?2q")
END_OF_SENTENCE = "</s>"
MAX_SIZE = 100
LABEL = 1
MODELS = {1: "cbow", 2: "skipgram", 3: "supervised"}
LOSSES = {1: "hierarchical softmax", 2: "negative sampling", 3: "softmax", 4: "one vs all"}
WORD_BLOCK = 1 << 12
BLOCK_NGRAMS = 1 << 23
ADVICE = "It is cut short or damaged, or made by floret, whose .bin is another: export its vectors as text."


@dataclass(frozen=True)
class Settings:
    """Training settings of the model."""

    dim: int
    window: int
    epochs: int
    min_count: int
    negatives: int
    word_ngrams: int
    loss: str
    model: str
    buckets: int
    minn: int
    maxn: int
    sampling: float


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read the words and compute their vectors; the table's `subwords` give vectors to unknown words."""
    start = head(path)
    if not start.startswith(MAGIC):
        raise not_this(path, start, "fastText's binary")
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
        file = _File(path, data)
        settings = _settings(file)
        words, counts = _dictionary(file, options)
        rows = _rows(file, settings, len(words))
    subwords = NgramTable(rows[len(words) :], settings.minn, settings.maxn)
    matrix = _word_vectors(words, rows, subwords)
    provenance = {"fasttext": asdict(settings)}
    return make_table(path, words, matrix, options, counts=counts, provenance=provenance, subwords=subwords)


def write(vectors: WordVectors, path: Path) -> None:
    """Write the words and n-grams, so that fastText and gensim give known and unknown words the same vectors as we do.

    A known word's own row is chosen so that its mean with the rows of its n-grams is the word's vector.
    """
    table = vectors.subwords
    if table is not None and not isinstance(table, NgramTable | NgramVectors):
        raise UsageError(
            "The table's subwords are not hashed as fastText does, so its .bin cannot hold them. Fit others with: "
            "wordstill transform TABLE --chain subwords"
        )
    buckets, minn, maxn = (0, 0, 0) if table is None else (table.buckets, table.minn, table.maxn)
    # gensim drops words with a count of 0, and then refuses the file.
    counts = np.ones(len(vectors), dtype=np.int64) if vectors.counts is None else np.maximum(vectors.counts, 1)
    entries = [_entry(word, row, count) for row, (word, count) in enumerate(zip(vectors.words, counts.tolist()))]
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        handle.write(MAGIC + VERSIONS[-1].to_bytes(4, "little"))
        handle.write(SETTINGS.pack(vectors.dim, 5, 5, 1, 5, 1, 2, 2, buckets, minn, maxn, 100, 1e-4))
        handle.write(SIZES.pack(len(vectors), len(vectors), 0, int(counts.sum()), -1))
        handle.write(b"".join(entries))
        handle.write(MATRIX.pack(False, len(vectors) + buckets, vectors.dim))
        start = 0
        for block in vectors.blocks(WORD_BLOCK):
            handle.write(_own_rows(vectors.words[start : start + len(block)], block, table).astype("<f4").tobytes())
            start += len(block)
        _write_buckets(handle, table, vectors.dim)
        # The output layer, which is used for training only; a hole in the file reads as zeros.
        handle.write(MATRIX.pack(False, len(vectors), vectors.dim))
        handle.truncate(handle.tell() + 4 * len(vectors) * vectors.dim)


def _entry(word: str, row: int, count: int) -> bytes:
    encoded = encode_word(word, row)
    if b"\0" in encoded:
        raise UsageError(f"The word {word!r} (row {row}) has a zero byte, which ends a word in fastText's .bin.")
    return encoded + b"\0" + ENTRY.pack(count, 0)


def _own_rows(
    words: Sequence[str], vectors: NDArray[np.float32], table: NgramTable | NgramVectors | None
) -> NDArray[np.float64]:
    """The rows of words whose means with the rows of their n-grams are the given vectors, (words, dim)."""
    own = vectors.astype(np.float64)
    if table is None:
        return own
    numbers, owners = _ngrams(words, table)
    if len(numbers):
        own *= (np.bincount(owners, minlength=len(words)) + 1)[:, None]
        begins = np.flatnonzero(np.diff(owners, prepend=-1))
        own[owners[begins]] -= np.add.reduceat(table.bucket_rows(numbers).astype(np.float64), begins)
    return own


def _write_buckets(handle: BinaryIO, table: NgramTable | NgramVectors | None, dim: int) -> None:
    """Write the row of each bucket; runs of empty buckets become holes in the file."""
    if table is None:
        return
    start, numbers = handle.tell(), np.arange(table.buckets)
    if isinstance(table, NgramVectors) and not table.origin.any():
        numbers = table.keys.astype(np.int64)
    for first in range(0, len(numbers), WORD_BLOCK):
        some = numbers[first : first + WORD_BLOCK]
        rows = table.bucket_rows(some).astype("<f4")
        for run in np.split(np.arange(len(some)), np.flatnonzero(np.diff(some) > 1) + 1):
            handle.seek(start + 4 * dim * int(some[run[0]]))
            handle.write(rows[run].tobytes())
    handle.seek(start + 4 * dim * table.buckets)


def recognizes(path: Path) -> bool:
    """Whether the file begins with fastText's magic number."""
    return path.is_file() and head(path).startswith(MAGIC)


class _File:
    """Reads structures from the bytes of a file, one after another."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data = path, data
        self.at = len(MAGIC)

    def take(self, structure: struct.Struct, what: str) -> tuple[int, ...]:
        if self.at + structure.size > len(self.data):
            raise self.error(f"the file ends inside {what}")
        values = structure.unpack_from(self.data, self.at)
        self.at += structure.size
        return values

    def error(self, what: str) -> FormatError:
        return FormatError(f"{self.path}: at byte {self.at}, {what}. {ADVICE}")


def _settings(file: _File) -> Settings:
    (version,) = file.take(struct.Struct("<i"), "the version")
    if version not in VERSIONS:
        raise file.error(f"version {version}, expected one of {', '.join(map(str, VERSIONS))}")
    dim, window, epochs, least, negatives, words, loss, model, buckets, minn, maxn, _, sampling = file.take(
        SETTINGS, "the settings"
    )
    if not 1 <= dim <= len(file.data) or buckets < 0 or not 0 <= minn <= MAX_SIZE or not 0 <= maxn <= MAX_SIZE:
        raise file.error(f"dimension {dim}, {buckets} buckets and n-grams of {minn} to {maxn} make no sense")
    if version == VERSIONS[0] and MODELS.get(model) == "supervised":
        # Supervised models of that version were trained without n-grams, whatever their settings say.
        maxn = 0
    names = (LOSSES.get(loss, str(loss)), MODELS.get(model, str(model)))
    return Settings(dim, window, epochs, least, negatives, words, *names, buckets, minn, maxn, sampling)


def _dictionary(file: _File, options: ReadOptions) -> tuple[list[str], NDArray[np.int64]]:
    """The words with their counts; labels, which come after, are passed."""
    size, number, labels, _, pruned = file.take(SIZES, "the sizes of the dictionary")
    if number < 0 or labels < 0 or size != number + labels:
        raise file.error(f"{size} entries that are {number} words and {labels} labels make no sense")
    if pruned > 0:
        raise file.error("the dictionary is pruned, as in quantised models, which are not read")
    words: list[str] = []
    counts: list[int] = []
    for row in range(size):
        end = file.data.find(b"\0", file.at)
        if end < 0:
            raise file.error(f"the file ends inside entry {row} of {size}")
        if end - file.at > options.limits.word_bytes:
            options.limits.refuse("word_bytes", end - file.at, f"{file.path}: entry {row} has", error=FormatError)
        encoded, file.at = file.data[file.at : end], end + 1
        count, kind = file.take(ENTRY, f"entry {row} of {size}")
        if kind != LABEL and row < number:
            words.append(_decoded(file, encoded, options))
            counts.append(max(0, count))
    if len(words) != number:
        raise file.error(f"{len(words)} words, expected {number}")
    return words, np.array(counts, dtype=np.int64)


def _decoded(file: _File, encoded: bytes, options: ReadOptions) -> str:
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError:
        error = file.error(f"the word {encoded[:40]!r} before is not UTF-8")
        options.fault("bytes of words that are not UTF-8 were written as \\xNN", error)
        return encoded.decode("utf-8", "backslashreplace")


def _rows(file: _File, settings: Settings, words: int) -> NDArray[np.float32]:
    """The memory-mapped rows of words and buckets; what follows them must be all there too."""
    offsets = []
    for name in ("rows of words and n-grams", "rows of the output"):
        quantized, rows, dim = file.take(MATRIX, f"the size of the {name}")
        if quantized:
            raise file.error("the numbers are quantised, which is not read; use the model from before that")
        offsets.append((file.at, rows, dim))
        if rows < 0 or dim != settings.dim or file.at + 4 * rows * dim > len(file.data):
            raise file.error(f"{rows} {name} of {dim} numbers do not fit into the file")
        file.at += 4 * rows * dim
    if file.at != len(file.data):
        raise file.error(f"{len(file.data) - file.at} bytes follow the end")
    offset, rows, dim = offsets[0]
    if rows != words + settings.buckets:
        raise file.error(f"{rows} rows for {words} words and {settings.buckets} buckets")
    return np.memmap(os.fspath(file.path), dtype="<f4", mode="r", offset=offset, shape=(rows, dim))


def _word_vectors(words: list[str], rows: NDArray[np.float32], subwords: NgramTable) -> NDArray[np.float32]:
    """The mean of each word's own row and those of its n-grams, (words, dim)."""
    matrix = np.array(rows[: len(words)])
    # Few words at once where some are long: a word of n letters has up to 100 n-grams at each.
    longest = max(map(len, words), default=1)
    step = max(1, min(WORD_BLOCK, BLOCK_NGRAMS // (1 + longest * max(1, subwords.maxn))))
    for start in range(0, len(words), step):
        block = words[start : start + step]
        numbers, owners = _ngrams(block, subwords)
        if len(numbers):
            counts = np.bincount(owners, minlength=len(block))
            begins = np.flatnonzero(np.diff(owners, prepend=-1))
            part = matrix[start : start + len(block)]
            part[owners[begins]] += np.add.reduceat(subwords.rows[numbers], begins)
            part /= (counts + 1)[:, None]
    return matrix


def _ngrams(words: Sequence[str], table: NgramTable | NgramVectors) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bucket of each n-gram and the place of its word; to fastText, the end of a sentence has no letters."""
    numbers, owners = ngram_rows(words, table.minn, table.maxn, table.buckets)
    if END_OF_SENTENCE in words:
        lettered = owners != words.index(END_OF_SENTENCE)
        numbers, owners = numbers[lettered], owners[lettered]
    return numbers, owners


def _keeps_subwords(vectors: WordVectors) -> bool:
    return isinstance(vectors.subwords, NgramTable | NgramVectors)


FASTTEXT_BINARY = Format("fasttext-binary", (), read, write, recognizes, counts=True, keeps_subwords=_keeps_subwords)
