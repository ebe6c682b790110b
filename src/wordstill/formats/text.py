"""Vectors as lines of text, "word number number ...": GloVe's without a header, word2vec's with one.

A word may contain spaces, as some do in GloVe's 840B file, because numbers are counted from the right. If a word ends
in a space and a number ("section 5"), the line does not show where the vector begins. Such a word is written with an
additional space after it, which is removed on reading; without that space, the extra number is an error.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.core.text_io import create_bytes, skip_bom
from wordstill.errors import FormatError, UsageError
from wordstill.formats.base import (
    STRICT,
    Format,
    GrowingMatrix,
    Header,
    ReadOptions,
    encode_word,
    head,
    header_of,
    is_text,
    known_kind,
    make_table,
    not_this,
)
from wordstill.vectors import WordVectors

SAMPLE_LINES = 100
DECIMAL = "%.9g"  # nine digits preserve every float32 exactly

INTEGER = re.compile(rb"[+-]?[0-9]+")
LINE_END = b" \r\n"
# Unambiguous at every position, so that matching takes linear time.
NUMBER = re.compile(rb"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf(?:inity)?)", re.IGNORECASE)


def read_table(path: Path, options: ReadOptions = STRICT, *, header: bool) -> WordVectors:
    """Read lines of words and numbers; a header is a first line with two integers, rows and dimension.

    Without a header, the dimension is the most frequent one of the first lines. An expected header may be missing.
    """
    with options.open(path) as handle:
        skip_bom(handle)
        start = handle.peek()
        if known_kind(start):
            raise not_this(path, start, "text of vectors")
        blocks = options.line_blocks(handle, path)
        lines = next(blocks, [])
        declared = header_of(lines[0]) if header and lines else None
        number = 2 if declared else 1
        lines = lines[number - 1 :]
        if not lines:
            lines = next(blocks, [])
        dim = _dimension(path, lines, declared, options)
        table = TextTable(path, dim, declared, number, options)
        table.add(lines, number)
        for block in blocks:
            if options.enough(len(table.words)):
                break
            number += len(lines)
            table.add(lines := block, number)
    return table.finish()


def write_table(vectors: WordVectors, path: Path, *, header: bool) -> None:
    """Write lines of words and numbers, with enough digits that float32 comes back exactly.

    Words with spaces are kept as they are; gensim cannot read those.
    """
    if not header and not len(vectors):
        raise UsageError(f"The table has no words, and {path} without a header could not say its dimension.")
    numbers = f" {DECIMAL}" * vectors.dim + "\n"
    words = enumerate(vectors.words)
    with create_bytes(path) as handle:
        if header:
            handle.write(f"{len(vectors)} {vectors.dim}\n".encode("ascii"))
        else:
            handle.write(mark_before(vectors.words[0]))
        for block in vectors.blocks():
            for vector, (row, word) in zip(block, words):
                handle.write(_written(word, row) + (numbers % tuple(vector.tolist())).encode("ascii"))


def recognizes(path: Path, *, header: bool) -> bool:
    """Whether the first line is a header followed by text, or, without ``header``, a word with numbers."""
    if not path.is_file():
        return False
    first, _, rest = head(path).partition(b"\n")
    declared = header_of(first)
    if header:
        return declared is not None and follows_header(rest, declared)
    return declared is None and count_numbers(first) > 0


def follows_header(rest: bytes, declared: Header) -> bool:
    """Whether a header is followed by lines of text rather than binary rows.

    The first row decides, because a word may contain control characters; any other text is text too.
    """
    return count_numbers(rest.partition(b"\n")[0]) == declared.dim or is_text(rest)


class TextTable:
    """Parses blocks of lines into a table; ``first_line`` is the line number of the first row."""

    def __init__(self, path: Path, dim: int, declared: Header | None, first_line: int, options: ReadOptions) -> None:
        self.path, self.options, self.dim = path, options, dim
        self.declared, self.first_line = declared, first_line
        self.blank_line = 0
        self.words: list[str] = []
        self.matrix = GrowingMatrix(dim)

    def add(self, lines: list[bytes], first: int) -> None:
        """Parse a block of lines; ``first`` is the number of its first line."""
        try:
            self._keep(*self._parsed(lines, first))
        except FormatError:
            if not self.options.repair:
                raise
            self._salvage(lines, first)
        if not self.options.repair and self.declared and len(self.words) > self.declared.rows:
            raise self._wrong_rows(self.declared, "more")

    def finish(self) -> WordVectors:
        """The table of all rows."""
        enough = self.options.enough(len(self.words))
        if self.declared and len(self.words) != self.declared.rows and not enough:
            error = self._wrong_rows(self.declared, str(len(self.words)))
            self.options.fault("the header was ignored", error)
        words, matrix = self.words[: self.options.first], self.matrix.finish()[: self.options.first]
        return make_table(self.path, words, matrix, self.options, first_line=self.first_line)

    def _keep(self, words: list[str], block: NDArray[np.float32] | None) -> None:
        if block is not None:
            self.words += words
            self.matrix.append(block)

    def _salvage(self, lines: list[bytes], first: int) -> None:
        """Keep the valid rows of a block."""
        for at, line in enumerate(lines, first):
            self.blank_line = 0
            try:
                self._keep(*self._parsed([line], at))
            except FormatError as error:
                self.options.fault("lines that are no rows were left out", error)

    def _parsed(self, lines: list[bytes], first: int) -> tuple[list[str], NDArray[np.float32] | None]:
        words: list[bytes] = []
        numbers: list[bytes] = []
        for at, line in enumerate(lines, first):
            row = line.rstrip(LINE_END)
            if not row:
                self.blank_line = self.blank_line or at
                continue
            if self.blank_line:
                raise FormatError(f"{self.path}:{self.blank_line}: an empty line between rows.")
            word, rest = self._split(row, at)
            words.append(word)
            numbers.append(rest)
        if not words:
            return [], None
        return self._decode(words, first), self._parse(numbers, first)

    def _split(self, row: bytes, at: int) -> tuple[bytes, bytes]:
        """Split a row into the word and its numbers."""
        blanks = row.count(b" ")
        if blanks == self.dim:
            word, _, numbers = row.partition(b" ")
            return word, numbers
        if blanks < self.dim:
            raise self._wrong_columns(row, at)
        word, first_number, *_ = row.rsplit(b" ", self.dim)
        numbers = row[len(word) + 1 :]
        bare = word.rstrip(b" ")
        _, blank, last = bare.rpartition(b" ")
        if blank and NUMBER.fullmatch(last):
            if word != bare:
                return word[:-1], numbers
            # A whole number before numbers that are not whole belongs to the word.
            if not INTEGER.fullmatch(last) or INTEGER.fullmatch(first_number):
                raise self._wrong_columns(row, at)
        return word, numbers

    def _decode(self, words: list[bytes], first: int) -> list[str]:
        try:
            return b"\n".join(words).decode("utf-8").split("\n")
        except UnicodeDecodeError:
            for at, word in enumerate(words, first):
                try:
                    word.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise FormatError(
                        f"{self.path}:{at}: the word {word!r} is not UTF-8 at its byte {error.start}. "
                        "Convert the file to UTF-8."
                    ) from None
            raise

    def _parse(self, numbers: list[bytes], first: int) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):
                block = np.loadtxt(numbers, dtype=np.float32, delimiter=" ", comments=None, ndmin=2)
        except ValueError:
            for at, text in enumerate(numbers, first):
                if not all(NUMBER.fullmatch(piece) for piece in text.split(b" ")):
                    raise self._wrong_columns(b"word " + text, at) from None
            raise
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise FormatError(
                f"{self.path}:{first + row}: number {column + 1} is "
                f"{numbers[row].split(b' ')[column].decode()}, expected one that is finite in float32."
            )
        return block

    def _wrong_columns(self, row: bytes, at: int) -> FormatError:
        pieces = row.split(b" ")
        strange = next((piece for piece in reversed(pieces[1:]) if not NUMBER.fullmatch(piece)), None)
        hint = "" if strange is None else f"; {strange.decode('utf-8', 'replace')!r} is not a number"
        return FormatError(f"{self.path}:{at}: {count_numbers(row)} numbers after the word, expected {self.dim}{hint}.")

    def _wrong_rows(self, declared: Header, got: str) -> FormatError:
        return FormatError(
            f"{self.path}:1: the header says {declared.rows} rows, the file has {got}. "
            "It is cut short, or its first line must be corrected."
        )


def _dimension(path: Path, lines: list[bytes], declared: Header | None, options: ReadOptions) -> int:
    """The most frequent dimension of the first rows, which must equal the declared one."""
    sample = [line for line in lines[:SAMPLE_LINES] if line.strip()]
    if not sample:
        if declared:
            return declared.dim
        raise not_this(path, b"", "text of vectors")
    for at, line in enumerate(sample, 1):
        options.limits.refuse("dim", line.count(b" "), f"{path}: row {at} has", "numbers", FormatError)
    counts = Counter(count_numbers(line) for line in sample)
    dim = max(counts, key=lambda count: (counts[count], count))
    if dim == 0 or (counts[0] and not is_text(b"".join(sample))):
        raise not_this(path, b"".join(sample), "text of vectors")
    if declared and dim != declared.dim:
        message = f"{path}:1: the header says {declared.dim} numbers per word, the rows have {dim}."
        options.fault("the header was ignored", FormatError(message))
    return dim


def _written(word: str, row: int) -> bytes:
    """A word as it is written in a line."""
    encoded = encode_word(word, row)
    if b"\n" in encoded:
        raise UsageError(
            f"The word {word!r} (row {row}) has a line break in it, which lines of text cannot store. "
            "Use our own format, or leave the word out."
        )
    _, blank, last = encoded.rstrip(b" ").rpartition(b" ")
    return encoded + b" " if blank and NUMBER.fullmatch(last) else encoded


def mark_before(word: str) -> bytes:
    """The byte-order mark to write before the first word if it begins with one, since reading skips one."""
    return codecs.BOM_UTF8 if word.startswith(codecs.BOM_UTF8.decode()) else b""


def count_numbers(line: bytes) -> int:
    """How many numbers are at the end of a line, except its first field, which belongs to the word."""
    count = 0
    for piece in reversed(line.rstrip(LINE_END).split(b" ")[1:]):
        if not NUMBER.fullmatch(piece):
            break
        count += 1
    return count


def _format(name: str, suffixes: tuple[str, ...], *, header: bool) -> Format:
    return Format(
        name,
        suffixes,
        partial(read_table, header=header),
        partial(write_table, header=header),
        partial(recognizes, header=header),
        streamed=True,
    )


WORD2VEC_TEXT = _format("word2vec-text", (".txt", ".vec"), header=True)
GLOVE_TEXT = _format("glove-text", (".glove", ".glove.txt"), header=False)
