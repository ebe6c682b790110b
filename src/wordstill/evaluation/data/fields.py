"""Lines and fields of the files of data sets, with errors that name their place."""

from __future__ import annotations

import codecs
import csv
import gzip
import math
import zlib
from collections.abc import Iterator
from pathlib import Path

from wordstill.errors import DataError


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The lines of a file, also a gzipped one, with numbers from 1, without the line end (LF or CRLF)."""
    content = _content(path).removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{number}: not UTF-8 ({error.reason}). Convert the file to UTF-8.") from error
    # str.splitlines would also split at characters that may stand inside a word, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, line.removesuffix("\r")


def filled_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
    """The lines that are not blank, each with its place (``file:number``) for an error message."""
    for number, line in read_lines(path, encoding):
        if line.strip():
            yield f"{path}:{number}", line


def split_fields(line: str, delimiter: str | None, place: str) -> list[str]:
    """The fields of a line without blanks around them; None splits at any run of blanks."""
    if delimiter is None:
        return line.split()
    if delimiter == ",":
        try:
            return [field.strip() for field in next(csv.reader([line]))]
        except csv.Error as error:
            raise DataError(f"{place}: not comma-separated values: {error}.") from error
    return [field.strip() for field in line.split(delimiter)]


def exactly(fields: list[str], count: int, form: str, place: str) -> list[str]:
    """The fields, if there are as many as there must be."""
    if len(fields) != count:
        raise DataError(f"{place}: expected {form}, but got {len(fields)} field(s): {fields!r}.")
    return fields


def finite_number(text: str) -> float | None:
    """The number that a text is, None if it is none or not a finite one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def guess_delimiter(line: str) -> str | None:
    """The separator of a user's own file, by its first line: a tab, a comma, else any run of blanks."""
    return next((mark for mark in ("\t", ",") if mark in line), None)


def own_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a user's own file with their places; blank ones and those with ``# `` are passed over."""
    for place, line in filled_lines(path):
        if line.rstrip() != "#" and not line.startswith("# "):
            yield place, line


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"Cannot read {path}: it is not a whole gzip file ({error}).") from error
