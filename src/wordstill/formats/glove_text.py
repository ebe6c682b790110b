"""GloVe's text: a line per word and no header. Words may hold blanks."""

from __future__ import annotations

from pathlib import Path

from wordstill.core.text_io import STRICT, Reading
from wordstill.errors import UsageError
from wordstill.formats.base import Format
from wordstill.formats.sniff import head, header_of
from wordstill.formats.text import count_numbers, read_table, write_table
from wordstill.vectors import WordVectors


def read(path: Path, how: Reading = STRICT) -> WordVectors:
    """Read GloVe text; the dimension is that of most of the first lines."""
    return read_table(path, how, header=False)


def write(vectors: WordVectors, path: Path) -> None:
    """Write GloVe text."""
    if not len(vectors):
        raise UsageError(f"The table has no words, and {path} without a header could not say its dimension.")
    write_table(vectors, path, header=False)


def recognises(path: Path) -> bool:
    """Whether the first line is a word with numbers and not a header."""
    if not path.is_file():
        return False
    first, _, _ = head(path).partition(b"\n")
    return header_of(first) is None and count_numbers(first) > 0


GLOVE_TEXT = Format("glove-text", (".glove", ".glove.txt"), read, write, recognises, streamed=True)
