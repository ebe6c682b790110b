"""What a file is, from its first bytes."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NamedTuple

from wordstill.core.text_io import CODECS, open_bytes
from wordstill.errors import FormatError

HEAD_BYTES = 1 << 20

# A dimension above a million, or rows beyond 15 digits, is no header that anyone wrote on purpose.
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
    """What the first bytes say for sure, or None."""
    return next((kind for magic, kind in KINDS if start.startswith(magic)), None)


def is_text(start: bytes) -> bool:
    """Whether the bytes are UTF-8 without the control characters that text does not have."""
    try:
        # An incremental decoder allows a character that the end of the bytes cuts in two.
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", start)


def not_this(path: Path, start: bytes, wanted: str) -> FormatError:
    """An error for a file that is not ``wanted``, which says what it is instead."""
    if not start:
        return FormatError(f"{path} is not {wanted}; it is empty.")
    kind = known_kind(start) or ("text of another kind" if is_text(start) else "binary data")
    advice = ADVICE.get(kind, "")
    return FormatError(f"{path} is not {wanted}; it looks like {kind}. {advice}".rstrip())
