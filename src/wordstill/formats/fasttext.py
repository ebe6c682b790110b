"""fastText's ``.bin``: words with counts, and the rows of words and of n-grams; read only.

A word's vector is the mean of its own row and of those of its n-grams, whose hashes choose them; a word
outside the table has the n-grams' alone (Bojanowski et al. 2017). The rows stay on disk, memory-mapped.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError, FormatError
from wordstill.formats.base import STRICT, Format, ReadOptions, make_table
from wordstill.formats.sniff import head, not_this
from wordstill.vectors.table import Matrix, WordVectors

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
BASIS, PRIME = np.uint32(2166136261), np.uint32(16777619)
MAX_CHAR_BYTES = 4
EMPTY = np.empty(0, dtype=np.int64)
WORD_BLOCK = 1 << 12
ADVICE = "It is cut short or damaged, or made by floret, whose .bin is another: export its vectors as text."


@dataclass(frozen=True)
class Settings:
    """How the model was trained."""

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
    """Read the words and work out their vectors; `subwords` of the table gives those of other words."""
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


def recognizes(path: Path) -> bool:
    """Whether the file begins with fastText's number."""
    return path.is_file() and head(path).startswith(MAGIC)


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


def ngram_rows(words: Sequence[str], minn: int, maxn: int, buckets: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    if not found:
        return EMPTY, EMPTY
    owners = np.concatenate(places)
    order = np.argsort(owners, kind="stable")
    return np.concatenate(found).astype(np.int64)[order], owners[order]


class _File:
    """The bytes of a file, taken one structure after another."""

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
        # Models of that age and kind were trained without n-grams, whatever they say.
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
    for start in range(0, len(words), WORD_BLOCK):
        block = words[start : start + WORD_BLOCK]
        numbers, owners = ngram_rows(block, subwords.minn, subwords.maxn, len(subwords.rows))
        if END_OF_SENTENCE in block:
            # To fastText it is no word with letters.
            lettered = owners != block.index(END_OF_SENTENCE)
            numbers, owners = numbers[lettered], owners[lettered]
        if len(numbers):
            counts = np.bincount(owners, minlength=len(block))
            begins = np.flatnonzero(np.diff(owners, prepend=-1))
            part = matrix[start : start + len(block)]
            part[owners[begins]] += np.add.reduceat(subwords.rows[numbers], begins)
            part /= (counts + 1)[:, None]
    return matrix


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


FASTTEXT_BINARY = Format("fasttext-binary", (), read, None, recognizes)
