"""Lines and fields of the files of data sets, with errors that name their place."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from wordstill.core.text_io import numbered_lines
from wordstill.errors import DataError


def filled_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines that are not blank, each with its place (``file:number``) for an error message."""
    for number, line in numbered_lines(path):
        if line.strip():
            yield f"{path}:{number}", line


def split_fields(line: str, delimiter: str | None, place: str) -> list[str]:
    """The fields of a line without blanks around them; None splits at any run of blanks."""
    if delimiter is None:
        return line.split()
    if delimiter in (",", ";"):
        try:
            return [field.strip() for field in next(csv.reader([line], delimiter=delimiter))]
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


def own_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a user's own file with their places; blank ones and those with ``# `` are passed over."""
    for place, line in filled_lines(path):
        if line.rstrip() != "#" and not line.startswith("# "):
            yield place, line
