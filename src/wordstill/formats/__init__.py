"""File formats of word vectors: one module per format, and the registry."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from wordstill.core.files import disk_errors, refuse_existing
from wordstill.core.guard import reading
from wordstill.core.object_stores import Output, local_copy
from wordstill.core.plugins import Registry
from wordstill.core.text_io import without_suffix
from wordstill.errors import FormatError, UsageError, unknown_name
from wordstill.formats.artifact import ARTIFACT
from wordstill.formats.base import Float, Format, ReadOptions, as_type, head, not_this
from wordstill.formats.fasttext import FASTTEXT_BINARY
from wordstill.formats.floret import FLORET
from wordstill.formats.gensim_native import GENSIM
from wordstill.formats.parquet import PARQUET
from wordstill.formats.projector import PROJECTOR
from wordstill.formats.spacy_vectors import SPACY
from wordstill.formats.static_model import MODEL2VEC, SENTENCE_TRANSFORMERS, WORDLLAMA
from wordstill.formats.text import GLOVE_TEXT, WORD2VEC_TEXT
from wordstill.formats.word2vec_binary import WORD2VEC_BINARY
from wordstill.vectors import WordVectors

FORMATS: Registry[Format] = Registry(
    "format",
    "wordstill.formats",
    {
        known.name: known
        for known in (
            ARTIFACT,
            MODEL2VEC,
            SENTENCE_TRANSFORMERS,
            WORDLLAMA,
            SPACY,
            PROJECTOR,
            GENSIM,
            PARQUET,
            FASTTEXT_BINARY,
            FLORET,
            WORD2VEC_TEXT,
            WORD2VEC_BINARY,
            GLOVE_TEXT,
        )
    },
    Format,
    instances=True,
)
"""Formats in the order in which they are tried on reading: those that are recognized with certainty come first."""

FLOATS: dict[str, Float] = {"f32": np.float32, "f16": np.float16}
DTYPES = (*FLOATS, "i8")
"""Number types for writing: float32, float16, and int8 with a scale for each row."""


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    repair: bool = False,
    progress: bool = False,
    first: int | None = None,
) -> WordVectors:
    """Read a table of vectors.

    Args:
        path: A file or folder, or its address in an object store.
        format: The name of a format, or None to recognize it by its content.
        repair: Skip broken parts with a warning instead of raising an error: repeated words, rows with NaN, infinity
            or the wrong length, a truncated end, a wrong header.
        progress: Show a bar while a file is read from start to end.
        first: Stop after this many rows, in formats without counts that are read from start to end; others are read
            whole, since the most frequent words may be anywhere.
    """
    path = local_copy(os.fspath(path))
    options = ReadOptions(repair=repair, progress=progress, first=first)
    with reading(path, FormatError):
        chosen = FORMATS.find(format) if format is not None else recognize(path)
        if chosen.read is None:
            raise UsageError(f"The format {chosen.name!r} can be written but not read.")
        vectors = chosen.read(path, options)
    options.report()
    return vectors


def write(
    vectors: WordVectors,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    overwrite: bool = False,
    dtype: str | None = None,
) -> None:
    """Write a table of vectors, whole or not at all.

    Args:
        vectors: The table.
        path: A file or folder to make, or its address in an object store; the file of a streamed format is
            compressed if its name ends in .gz, .xz, .zst or .bz2.
        format: The name of a format, or None to choose it by the suffix of ``path`` (none: a wordstill folder).
        overwrite: Replace what is there.
        dtype: How numbers are written, a name of `DTYPES`; None keeps float32 and, where the format can,
            float16.
    """
    output = Output.at(os.fspath(path), overwrite=overwrite)
    chosen = check_target(output.path, format, overwrite=overwrite, dtype=dtype)
    writer = _writer(chosen, dtype)
    vectors.check_finite()
    if dtype in FLOATS:
        vectors = as_type(vectors, FLOATS[dtype])
    with disk_errors(output.path):
        writer(vectors, output.path)
    output.publish()


def check_target(path: Path, format: str | None = None, *, overwrite: bool = False, dtype: str | None = None) -> Format:
    """The format that `write` would use with these arguments, or the error that it would raise."""
    chosen = FORMATS.find(format) if format is not None else by_suffix(path)
    _writer(chosen, dtype)
    path = Output.at(path, overwrite=overwrite).path
    refuse_existing(path, overwrite=overwrite)
    if path.is_dir() and not chosen.folder:
        raise UsageError(f"{path} is a folder, and {chosen.name} writes a file. Choose another output.")
    return chosen


def by_suffix(path: Path) -> Format:
    """The format for writing to a path: the one with the longest matching suffix."""
    for rows in (FORMATS.built_in, FORMATS):
        fitting = [
            (len(suffix), known)
            for known in rows.values()
            for suffix in known.suffixes
            if _ends_in(path.name.lower(), suffix, streamed=known.streamed)
        ]
        if fitting:
            return max(fitting, key=lambda pair: pair[0])[1]
    suffixes = ", ".join(sorted(suffix for known in FORMATS.values() for suffix in known.suffixes if suffix))
    raise UsageError(
        f"Unknown extension {path.suffix!r} ({path}). Use one of {suffixes}, "
        f"or name the format: {', '.join(known.name for known in FORMATS.values() if known.write)}."
    )


def recognize(path: Path) -> Format:
    """The format of a file or folder, by its content."""
    # Plug-ins are not imported if the path does not exist, so that this is the reported error.
    rows = FORMATS if path.exists() else FORMATS.built_in
    with reading(path, FormatError):
        for known in rows.values():
            if known.recognizes(path):
                return known
    names = ", ".join(known.name for known in rows.values() if known.read)
    if path.is_dir() and (inner := [str(one) for one in sorted(path.iterdir()) if ARTIFACT.recognizes(one)]):
        raise FormatError(f"{path} holds {len(inner)} tables; name one of them: {', '.join(inner)}.")
    if path.is_dir():
        raise FormatError(f"The folder {path} holds no vectors in a known format ({names}).")
    raise not_this(path, head(path), f"in a known format of vectors ({names})")


def _writer(chosen: Format, dtype: str | None) -> Callable[[WordVectors, Path], None]:
    """The function that writes a format with a number type."""
    if chosen.write is None:
        raise UsageError(f"The format {chosen.name!r} can be read but not written.")
    if dtype is None or dtype == "f32":
        return chosen.write
    if dtype not in DTYPES:
        raise unknown_name("type of numbers", dtype, DTYPES)
    writer = chosen.write_int8 if dtype == "i8" else chosen.write if chosen.float16 else None
    if writer is None:
        able = (known for known in FORMATS.values() if (known.write_int8 if dtype == "i8" else known.float16))
        raise UsageError(
            f"The format {chosen.name!r} cannot store {dtype}. Formats that can: "
            f"{', '.join(known.name for known in able)}."
        )
    return writer


def _ends_in(name: str, suffix: str, *, streamed: bool) -> bool:
    if not suffix:
        return not Path(name).suffix
    return (without_suffix(name) if streamed else name).endswith(suffix)
