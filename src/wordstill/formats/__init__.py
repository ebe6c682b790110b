"""Files of word vectors: one module per format, and the table of them."""

from __future__ import annotations

import os
from pathlib import Path

from wordstill.errors import DataError, FormatError, UsageError, unknown_name
from wordstill.files import disk_errors, refuse_existing
from wordstill.formats.artefact import ARTEFACT
from wordstill.formats.base import Format
from wordstill.formats.glove_text import GLOVE_TEXT
from wordstill.formats.sniff import head, not_this
from wordstill.formats.word2vec_binary import WORD2VEC_BINARY
from wordstill.formats.word2vec_text import WORD2VEC_TEXT
from wordstill.vectors import WordVectors

FORMATS: tuple[Format, ...] = (ARTEFACT, WORD2VEC_TEXT, WORD2VEC_BINARY, GLOVE_TEXT)
"""Tried in this order on reading, so what is recognised for sure stands before what is guessed."""


def read(path: str | os.PathLike[str], format: str | None = None) -> WordVectors:
    """Read a table of vectors.

    Args:
        path: A file or folder.
        format: The name of a format, or None to recognise it by its content.
    """
    path = Path(path)
    try:
        chosen = by_name(format) if format is not None else _by_content(path)
        if chosen.read is None:
            raise UsageError(f"The format {chosen.name!r} can be written but not read.")
        return chosen.read(path)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error


def write(
    vectors: WordVectors, path: str | os.PathLike[str], format: str | None = None, *, overwrite: bool = False
) -> None:
    """Write a table of vectors, whole or not at all.

    Args:
        vectors: The table.
        path: A file or folder to make.
        format: The name of a format, or None to choose it by the suffix of ``path`` (none: our own folder).
        overwrite: Replace what is there.
    """
    path = Path(path)
    chosen = by_name(format) if format is not None else by_suffix(path)
    if chosen.write is None:
        raise UsageError(f"The format {chosen.name!r} can be read but not written.")
    refuse_existing(path, overwrite=overwrite)
    if path.is_dir() and not chosen.folder:
        raise UsageError(f"{path} is a folder, and {chosen.name} writes a file. Choose another output.")
    vectors.check_finite()
    with disk_errors(path):
        chosen.write(vectors, path)


def by_name(name: str) -> Format:
    """The format of this name."""
    for known in FORMATS:
        if known.name == name:
            return known
    raise unknown_name("format", name, (known.name for known in FORMATS))


def by_suffix(path: Path) -> Format:
    """The format for writing to this name: the one with the longest suffix that fits."""
    fitting = [
        (len(suffix), known)
        for known in FORMATS
        for suffix in known.suffixes
        if (path.name.lower().endswith(suffix) if suffix else not path.suffix)
    ]
    if fitting:
        return max(fitting, key=lambda pair: pair[0])[1]
    suffixes = ", ".join(sorted(suffix for known in FORMATS for suffix in known.suffixes if suffix))
    raise UsageError(
        f"No format is written to files ending in {path.suffix!r} ({path}). Use one of {suffixes}, "
        f"or name the format: {', '.join(known.name for known in FORMATS if known.write)}."
    )


def _by_content(path: Path) -> Format:
    for known in FORMATS:
        if known.recognises(path):
            return known
    names = ", ".join(known.name for known in FORMATS if known.read)
    if path.is_dir():
        raise FormatError(f"The folder {path} holds no vectors in a known format ({names}).")
    raise not_this(path, head(path), f"in a known format of vectors ({names})")
