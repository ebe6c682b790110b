"""The interface of a format, and helpers for readers: options, detection by first bytes, and validation of tables."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.guard import Limits
from wordstill.core.text_io import CODECS, ByteReader, line_blocks, open_bytes
from wordstill.errors import FormatError, UsageError, WordstillError
from wordstill.vectors.compressed import CompressedRows, Matrix, find_duplicate
from wordstill.vectors.oov import SubwordVectors
from wordstill.vectors.sentences import TextTokenizer
from wordstill.vectors.table import WordVectors

Float: TypeAlias = type[np.float32] | type[np.float16]

LINE_BYTES = 64 << 20
"""Maximum length of a line: room for a word and several million numbers."""
FINITE_BLOCK = 1 << 22
"""Numbers checked for NaN at a time."""
HEAD_BYTES = 1 << 20

# No real header has a dimension above a million, or a number of rows with more than 15 digits.
HEADER = re.compile(rb"([0-9]{1,15})[ \t]+([1-9][0-9]{0,6})[ \t]*\r?\n?")

KINDS: tuple[tuple[bytes, str], ...] = (
    *((b"\x80" + bytes([version]), "a pickle") for version in range(2, 6)),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    *((codec.magic, f"{codec.name} data") for codec in CODECS),
    (b"\x93NUMPY", "a numpy array"),
    (b"PAR1", "a parquet file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)

ADVICE = {
    "a pickle": "Pickles are never read, since that runs code: save it as word2vec with what wrote it.",
    "a zip archive": "Unpack it first; of numpy's arrays, make WordVectors(words, matrix).",
    "UTF-16 text": "Convert it to UTF-8 first.",
}


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file, and a record of repairs."""

    repair: bool = False
    """Leave out broken parts with a warning, if the rest of the file can be read."""

    progress: bool = False
    """Show a progress bar."""

    first: int | None = None
    """Stop after this many rows, in formats without counts that are read sequentially."""

    block_bytes: int = 8 << 20
    """Size of a block, in formats that are read block by block."""

    limits: Limits = field(default_factory=lambda: Limits.chosen(line_bytes=LINE_BYTES))
    """Limits of memory and size."""

    _repairs: dict[str, tuple[int, FormatError]] = field(default_factory=dict, repr=False)

    def open(self, path: Path) -> ByteReader:
        """The decompressed bytes of a file."""
        return open_bytes(path, error=FormatError, limits=self.limits, progress=self.progress)

    def line_blocks(self, handle: ByteReader, path: Path) -> Iterator[list[bytes]]:
        """Lists of lines of a file, without line feeds."""
        return line_blocks(handle, path, error=FormatError, block_bytes=self.block_bytes, limits=self.limits)

    def enough(self, rows: int) -> bool:
        """Whether this many rows are enough for ``first``."""
        return self.first is not None and rows >= self.first

    def fault(self, repaired: str, error: FormatError) -> None:
        """Raise the error or, with ``repair``, record it under a description of the repair."""
        if not self.repair:
            raise error
        count, first = self._repairs.get(repaired, (0, error))
        self._repairs[repaired] = count + 1, first

    def report(self) -> None:
        """Warn about each kind of repair, with its count and the first error."""
        for repaired, (count, error) in self._repairs.items():
            warnings.warn(f"Repaired, {repaired} ({count:,}): {error}", UserWarning, stacklevel=3)


STRICT = ReadOptions()
"""Options without repair."""


@dataclass(frozen=True)
class Format:
    """A format of word vectors: how to recognize, read and write it, and what it stores."""

    name: str
    suffixes: tuple[str, ...] = ()
    """File name suffixes that choose this format for writing; "" is a name without a suffix."""

    read: Callable[[Path, ReadOptions], WordVectors] | None = None
    """Reads a table; None for a format that is only written."""

    write: Callable[[WordVectors, Path], None] | None = None
    """Writes a table, replacing what is at the path; None for a format that is only read."""

    recognizes: Callable[[Path], bool] = lambda _: False
    """Whether a path looks like this format, from its first bytes; cheap, and raises no error for bad content."""

    folder: bool = False
    """Whether the format is a folder rather than a file."""

    streamed: bool = False
    """Whether it is a file that is read sequentially and may be compressed."""

    records: bool = False
    """Whether counts and provenance are stored."""

    counts: bool = False
    """Whether counts are stored, in a format without provenance."""

    float16: bool = False
    """Whether float16 is stored as such; other formats widen it to float32."""

    write_int8: Callable[[WordVectors, Path], None] | None = None
    """Writes a table as int8 with a scale for each row, if the format supports it."""

    words: bool = True
    """Whether the words of the table are stored."""

    keeps_subwords: Callable[[WordVectors], bool] = lambda _: False
    """Whether the subword vectors of a table are stored."""

    keeps_tokenizer: bool = False
    """Whether the tokenizer of a table is stored."""


class GrowingMatrix:
    """A matrix that grows by blocks of rows, without copying if the system can move memory pages."""

    def __init__(self, dim: int, dtype: Float = np.float32) -> None:
        self._data: NDArray[Any] = np.empty((0, dim), dtype=dtype)
        self._used = 0

    def append(self, block: NDArray[Any]) -> None:
        """Add rows, (rows, dim)."""
        end = self._used + len(block)
        if end > len(self._data):
            # refcheck is off because no other reference to the data exists before finish.
            self._data.resize((end + end // 4, self._data.shape[1]), refcheck=False)
        self._data[self._used : end] = block
        self._used = end

    def finish(self) -> NDArray[Any]:
        """The matrix without spare capacity; nothing can be appended afterwards."""
        self._data.resize((self._used, self._data.shape[1]), refcheck=False)
        return self._data


def make_table(
    path: Path,
    words: Sequence[str],
    matrix: Matrix | CompressedRows,
    options: ReadOptions = STRICT,
    *,
    first_line: int | None = None,
    counts: NDArray[np.int64] | None = None,
    provenance: Mapping[str, Any] | None = None,
    subwords: SubwordVectors | None = None,
    tokenizer: TextTokenizer | None = None,
) -> WordVectors:
    """A validated table; repeated words are reported by line if ``first_line`` is given."""
    if len(matrix.shape) != 2 or matrix.shape[0] != len(words):
        raise FormatError(f"{path}: numbers of shape {matrix.shape} for {len(words):,} words.")
    if twice := find_duplicate(words):
        error = _twice(path, words[twice[0]], twice, first_line)
        options.fault("only the first row of each word was kept", error)
    if options.repair:
        matrix = matrix if isinstance(matrix, np.ndarray) else matrix.decode(slice(None))
        kept = _sound_rows(path, words, matrix, options)
        if len(kept) < len(words):
            words, matrix = [words[row] for row in kept], matrix[kept]
            counts = None if counts is None else counts[kept]
    try:
        return WordVectors(words, matrix, counts=counts, provenance=provenance, subwords=subwords, tokenizer=tokenizer)
    except WordstillError as error:
        raise FormatError(f"{path}: {error}") from None


def encode_word(word: str, row: int) -> bytes:
    """A word as UTF-8, or an error that names it."""
    try:
        return word.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"The word {word!r} (row {row}) cannot be written as UTF-8: {error.reason}.") from None


def check_words(vectors: WordVectors) -> None:
    """Raise for a word that cannot be written as UTF-8, before anything is written."""
    for row, word in enumerate(vectors.words):
        encode_word(word, row)


def as_type(vectors: WordVectors, dtype: Float) -> WordVectors:
    """The table with its numbers rounded to a type; the same table if they have that type."""
    if vectors.storage == np.dtype(dtype).name:
        return vectors
    with np.errstate(over="ignore"):
        matrix: NDArray[Any] = vectors.matrix.astype(dtype)
    if not np.isfinite(matrix).all():
        row = int(np.argmax(~np.isfinite(matrix).all(axis=1)))
        raise UsageError(
            f"The vector of {vectors.words[row]!r} has a number beyond {np.finfo(dtype).max}, the largest "
            f"that {np.dtype(dtype)} can hold. Scale the vectors, or write float32."
        )
    return vectors.replace(matrix=matrix)


def to_float(matrix: NDArray[Any]) -> Matrix:
    """A matrix of any number type as float32, or unchanged if it is float16."""
    if matrix.dtype in (np.float32, np.float16):
        return matrix
    with np.errstate(over="ignore"):
        return matrix.astype(np.float32)


def _twice(path: Path, word: str, rows: tuple[int, int], first_line: int | None) -> FormatError:
    if first_line is None:
        return FormatError(f"{path}: the word {word!r} is there twice, in rows {rows[0]} and {rows[1]}.")
    first, second = (row + first_line for row in rows)
    return FormatError(f"{path}:{second}: the word {word!r} is there already, on line {first}.")


def _sound_rows(path: Path, words: Sequence[str], matrix: Matrix, options: ReadOptions) -> NDArray[np.int64]:
    """The rows with finite numbers and a word that does not occur in an earlier row."""
    finite = np.empty(len(words), dtype=bool)
    step = max(1, FINITE_BLOCK // max(1, matrix.shape[1]))
    for start in range(0, len(words), step):
        finite[start : start + step] = np.isfinite(matrix[start : start + step]).all(axis=1)
    for row in np.flatnonzero(~finite).tolist():
        error = FormatError(f"{path}: the vector of {words[row]!r} (row {row}) has NaN or infinity.")
        options.fault("rows with NaN or infinity were left out", error)
    first = dict(zip(reversed(words), range(len(words) - 1, -1, -1)))
    return np.array(sorted(row for row in first.values() if finite[row]), dtype=np.int64)


class Header(NamedTuple):
    """The first line of a word2vec file."""

    rows: int
    dim: int


def head(path: Path) -> bytes:
    """The first bytes of a file, without the byte-order mark of UTF-8 text."""
    with open_bytes(path, error=FormatError) as handle:
        return handle.read(HEAD_BYTES).removeprefix(codecs.BOM_UTF8)


def header_of(line: bytes) -> Header | None:
    """The numbers of a word2vec header, or None if the line is not one."""
    match = HEADER.fullmatch(line)
    return Header(int(match[1]), int(match[2])) if match else None


def known_kind(start: bytes) -> str | None:
    """The kind of a file that its first bytes identify with certainty, or None."""
    return next((kind for magic, kind in KINDS if start.startswith(magic)), None)


def is_text(start: bytes) -> bool:
    """Whether the bytes are UTF-8 without control characters that do not occur in text."""
    try:
        # An incremental decoder allows an incomplete character at the end.
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", start)


def not_this(path: Path, start: bytes, wanted: str) -> FormatError:
    """An error for a file that is not ``wanted``, saying what it looks like instead."""
    if not start:
        return FormatError(f"{path} is not {wanted}; it is empty.")
    kind = known_kind(start) or ("text of another kind" if is_text(start) else "binary data")
    advice = ADVICE.get(kind, "")
    return FormatError(f"{path} is not {wanted}; it looks like {kind}. {advice}".rstrip())
