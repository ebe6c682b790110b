"""word2vec's binary: a line "rows dimension", then for each word its bytes, a blank and float32 numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wordstill.core.text_io import create_bytes
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
    make_table,
    not_this,
)
from wordstill.formats.text import follows_header
from wordstill.vectors import WordVectors

HEADER_BYTES = 64
MAX_WORD_BYTES = 1 << 16


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read word2vec binary, with or without a line break after each row."""
    words: list[str] = []
    with options.open(path) as handle:
        start = handle.peek()
        first = handle.readline(HEADER_BYTES)
        declared = header_of(first)
        if declared is None:
            raise not_this(path, start, "word2vec binary, which begins with a line of two whole numbers")
        matrix = GrowingMatrix(declared.dim)
        for names, block in _blocks(path, handle, declared, len(first), options):
            words += names
            matrix.append(block)
    return make_table(path, words, matrix.finish(), options)


def write(vectors: WordVectors, path: Path) -> None:
    """Write word2vec binary as gensim does, without line breaks after the rows."""
    words = iter(enumerate(vectors.words))
    with create_bytes(path) as handle:
        handle.write(f"{len(vectors)} {vectors.dim}\n".encode("ascii"))
        for block in vectors.blocks():
            for vector, (row, word) in zip(block.astype("<f4", copy=False), words):
                handle.write(_written(word, row) + b" " + vector.tobytes())


def recognizes(path: Path) -> bool:
    """Whether a header is followed by what is not text."""
    if not path.is_file():
        return False
    first, _, rest = head(path).partition(b"\n")
    declared = header_of(first)
    return declared is not None and not follows_header(rest, declared)


def _blocks(
    path: Path, handle: IO[bytes], declared: Header, offset: int, options: ReadOptions
) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """The words and vectors of a chunk of the file at a time; ``offset`` is the byte where the rows begin."""
    vector_bytes = 4 * declared.dim
    buffer = b""
    row = 0
    wanted = declared.rows if options.first is None else min(declared.rows, options.first)
    while row < wanted:
        chunk = handle.read(options.block_bytes)
        buffer += chunk
        spans = _whole_rows(buffer, vector_bytes, wanted - row)
        if spans:
            names = [_word(path, buffer[start:blank], offset + start) for start, blank in spans]
            yield names, _vectors(path, buffer, spans, declared.dim, offset, options)
            row += len(spans)
            used = spans[-1][1] + 1 + vector_bytes
            buffer = buffer[used:]
            offset += used
        elif not chunk or len(buffer) > vector_bytes + MAX_WORD_BYTES:
            error = FormatError(
                f"{path}: row {row + 1} of {declared.rows} begins at byte {offset} and is not whole: "
                f"expected a word, a space and {vector_bytes} bytes, got {len(buffer)} bytes. "
                "The file is cut short or its header wrong."
            )
            options.fault("only the whole rows before the fault were kept", error)
            return
    if wanted < declared.rows:
        return
    rest = (buffer + handle.read(options.block_bytes)).strip(b"\n")
    if rest:
        error = FormatError(
            f"{path}: {declared.rows} rows of {declared.dim} numbers, as the header says, end at byte "
            f"{offset}, and more follows. The header is wrong about the rows or the dimension."
        )
        options.fault("what follows the rows of the header was left out", error)


def _whole_rows(buffer: bytes, vector_bytes: int, limit: int) -> list[tuple[int, int]]:
    """Where the word of each complete row begins, and where its blank is."""
    spans: list[tuple[int, int]] = []
    start = 0
    while len(spans) < limit:
        blank = buffer.find(b" ", start)
        if blank < 0 or blank + 1 + vector_bytes > len(buffer):
            break
        spans.append((start, blank))
        start = blank + 1 + vector_bytes
    return spans


def _vectors(
    path: Path, buffer: bytes, spans: list[tuple[int, int]], dim: int, offset: int, options: ReadOptions
) -> NDArray[np.float32]:
    block = np.empty((len(spans), dim), dtype=np.float32)
    for row, (_, blank) in enumerate(spans):
        block[row] = np.frombuffer(buffer, "<f4", dim, blank + 1)
    finite = np.isfinite(block)
    if not finite.all() and not options.repair:
        row, column = np.argwhere(~finite)[0]
        at = offset + spans[row][1] + 1 + 4 * column
        raise FormatError(f"{path}: {block[row, column]} at byte {at}, where a finite number was expected.")
    return block


def _word(path: Path, encoded: bytes, offset: int) -> str:
    # The C program ends each row with a line break, which is then in front of the next word.
    try:
        return encoded.lstrip(b"\n").decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(
            f"{path}: the word at byte {offset} is not UTF-8: {encoded[:40]!r}. "
            "The header may be wrong about the dimension, a word may contain a space, or the file is "
            "in another encoding."
        ) from None


def _written(word: str, row: int) -> bytes:
    if " " in word or word.startswith("\n"):
        raise UsageError(
            f"The word {word!r} (row {row}) contains a space or begins with a line break, which word2vec "
            "binary cannot store. Use wordstill's own format or text, or drop the word."
        )
    return encode_word(word, row)


WORD2VEC_BINARY = Format("word2vec-binary", (".bin",), read, write, recognizes, streamed=True)
