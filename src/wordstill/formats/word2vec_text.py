"""word2vec's text, and fastText's .vec: a line "rows dimension", then a line per word.

The header may be missing when read.
"""

from __future__ import annotations

from pathlib import Path

from wordstill.core.text_io import STRICT, Reading
from wordstill.formats.base import Format
from wordstill.formats.sniff import head, header_of
from wordstill.formats.text import follows_header, read_table, write_table
from wordstill.vectors import WordVectors


def read(path: Path, how: Reading = STRICT) -> WordVectors:
    """Read word2vec text, with or without a header."""
    return read_table(path, how, header=True)


def write(vectors: WordVectors, path: Path) -> None:
    """Write word2vec text with a header. Words with blanks are kept as they are; gensim cannot read those."""
    write_table(vectors, path, header=True)


def recognises(path: Path) -> bool:
    """Whether there is a header, followed by text."""
    if not path.is_file():
        return False
    first, _, rest = head(path).partition(b"\n")
    declared = header_of(first)
    return declared is not None and follows_header(rest, declared)


WORD2VEC_TEXT = Format("word2vec-text", (".txt", ".vec"), read, write, recognises, streamed=True)
