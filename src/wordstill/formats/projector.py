"""A folder for the TensorFlow embedding projector: numbers in vectors.tsv, words in metadata.tsv.

The projector takes a first line of the metadata for a header only where there is more than one column, which
is so where counts are known. The names that gensim's word2vec2tensor gives the two files are read as well.
"""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_folder, refuse_foreign
from wordstill.core.text_io import skip_bom
from wordstill.errors import FormatError, UsageError
from wordstill.formats.base import STRICT, Format, GrowingMatrix, ReadOptions, encode_word, head, make_table, not_this
from wordstill.formats.record import RECORD, read_record, write_record
from wordstill.formats.text import DECIMAL, NUMBER, mark_before
from wordstill.vectors import WordVectors

VECTORS, METADATA = "vectors.tsv", "metadata.tsv"
HEADER = ("word", "count")


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read the two files of a folder."""
    if path.is_file():
        raise not_this(path, head(path), "a folder with vectors.tsv and metadata.tsv")
    names = _files(path)
    if names is None:
        raise FormatError(f"{path} has not the two files {VECTORS} and {METADATA}.")
    matrix = _read_numbers(names[0], options)
    words, counts = _read_words(names[1], len(matrix), options)
    _, provenance = read_record(path, len(matrix))
    return make_table(names[1], words, matrix, options, counts=counts, provenance=provenance)


def write(vectors: WordVectors, path: Path) -> None:
    """Write the two files."""
    refuse_foreign(path, (VECTORS, METADATA, RECORD))
    if not len(vectors):
        raise UsageError(f"The table has no words, and {path} could not say its dimension.")
    for row, word in enumerate(vectors.words):
        if "\t" in word or "\n" in word or "\r" in word:
            raise UsageError(
                f"The word {word!r} (row {row}) has a tab or line break in it, which {METADATA} cannot store. "
                "Use our own format, or leave the word out."
            )
        encode_word(word, row)
    counts = repeat("") if vectors.counts is None else (f"\t{count}" for count in vectors.counts.tolist())
    numbers = "\t".join([DECIMAL] * vectors.dim) + "\n"
    with atomic_folder(path, overwrite=True) as folder:
        with (folder / METADATA).open("wb") as words:
            if vectors.counts is not None:
                words.write("\t".join(HEADER).encode("ascii") + b"\n")
            else:
                words.write(mark_before(vectors.words[0]))
            words.writelines(f"{word}{count}\n".encode() for word, count in zip(vectors.words, counts))
        with (folder / VECTORS).open("wb") as out:
            for block in vectors.blocks():
                out.writelines((numbers % tuple(vector.tolist())).encode("ascii") for vector in block)
        write_record(folder, vectors, counts=False)


def recognizes(path: Path) -> bool:
    """Whether the folder has the two files."""
    return path.is_dir() and _files(path) is not None


def _files(path: Path) -> tuple[Path, Path] | None:
    """The files of the numbers and of the words."""
    if (path / VECTORS).is_file() and (path / METADATA).is_file():
        return path / VECTORS, path / METADATA
    found = sorted(path.glob("*_tensor.tsv"))
    if len(found) != 1:
        return None
    words = found[0].with_name(found[0].name.removesuffix("_tensor.tsv") + "_metadata.tsv")
    return (found[0], words) if words.is_file() else None


def _read_numbers(path: Path, options: ReadOptions) -> NDArray[np.float32]:
    matrix: GrowingMatrix | None = None
    dim, number = 0, 1
    with options.open(path) as handle:
        for lines in options.line_blocks(handle, path):
            dim = dim or lines[0].count(b"\t") + 1
            matrix = matrix or GrowingMatrix(dim)
            matrix.append(_parse(path, [line.rstrip(b"\r") for line in lines], number, dim))
            number += len(lines)
    if matrix is None:
        raise not_this(path, b"", "lines of numbers")
    return matrix.finish()


def _parse(path: Path, lines: list[bytes], first: int, dim: int) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):
            block = np.loadtxt(lines, dtype=np.float32, delimiter="\t", comments=None, ndmin=2)
    except ValueError:
        block = np.empty((0, 0), dtype=np.float32)
    if block.shape == (len(lines), dim):
        return block
    for at, line in enumerate(lines, first):
        pieces = line.split(b"\t")
        if len(pieces) != dim:
            raise FormatError(f"{path}:{at}: {len(pieces)} numbers, expected {dim}.")
        for piece in pieces:
            if not NUMBER.fullmatch(piece):
                raise FormatError(f"{path}:{at}: {piece.decode('utf-8', 'replace')!r} is not a number.")
    raise FormatError(f"{path}:{first}: the lines from here on cannot be read as {dim} numbers each.")


def _read_words(path: Path, rows: int, options: ReadOptions) -> tuple[list[str], NDArray[np.int64] | None]:
    """The words, and the counts if there is a column of that name."""
    lines: list[bytes] = []
    with options.open(path) as handle:
        skip_bom(handle)
        for block in options.line_blocks(handle, path):
            lines += block
    try:
        cells = [line.removesuffix(b"\r").decode("utf-8").split("\t") for line in lines]
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not UTF-8.") from None
    columns = cells.pop(0) if len(cells) == rows + 1 else [HEADER[0]]
    for at, row in enumerate(cells, 1 + len(lines) - len(cells)):
        if len(row) != len(columns):
            raise FormatError(f"{path}:{at}: {len(row)} columns, expected {len(columns)}.")
    if len(cells) != rows:
        raise FormatError(f"{path} has {len(cells)} words, expected {rows}, one for each vector.")
    words = [row[columns.index(HEADER[0]) if HEADER[0] in columns else 0] for row in cells]
    if HEADER[1] not in columns:
        return words, None
    texts = [row[columns.index(HEADER[1])] for row in cells]
    if not all(text.isascii() and text.isdigit() and len(text) < 19 for text in texts):
        raise FormatError(f"{path}: the column {HEADER[1]!r} has what is not a whole number.")
    return words, np.array(texts, dtype=np.int64)


PROJECTOR = Format("projector", (".projector",), read, write, recognizes, records=True, folder=True)
