"""The lines of a text file with their numbers, in bounded memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from wordstill.errors import DataError
from wordstill.formats.compression import open_bytes

LONGEST_LINE = 1 << 24
"""Bytes; a longer line is no line of a lexicon, and is refused before it fills the memory."""


def numbered_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The lines with their numbers from 1, without line ends; errors name the file and the line."""
    try:
        with open_bytes(path) as handle:
            number = 0
            while line := handle.readline(LONGEST_LINE + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                yield number, _decoded(line, encoding, f"{path}:{number}")
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error


def _decoded(line: bytes, encoding: str, place: str) -> str:
    if len(line) > LONGEST_LINE:
        raise DataError(f"{place}: a line of more than {LONGEST_LINE:,} bytes; this is no lexicon.")
    if b"\x00" in line:
        raise DataError(f"{place}: a zero byte; this is no text. Expected a lexicon in UTF-8.")
    try:
        return line.decode(encoding).removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: not UTF-8 ({error.reason}). Convert the file to UTF-8.") from None
