"""CSV and TSV files: the texts of one column, and the groups of another."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from itertools import chain

from wordstill.core.guard import Limits
from wordstill.corpus.sources import LIMITS
from wordstill.errors import DataError

SUFFIXES = {".csv": "csv", ".tsv": "csv"}
DELIMITERS = ",;\t|"
LONGEST_FIELD = 1 << 28
"""Characters; csv's own limit of 131,072 is too short for documents."""


def column_texts(
    chunks: Iterable[bytes], name: str, column: str, errors: str, group: str | None = None
) -> Iterator[str | list[str]]:
    """The texts of a column in order, each with its value in the column ``group`` if one is given.

    Rows without a text are left out.

    Args:
        chunks: The file in UTF-8. Its first row names the columns; the separator is the most frequent one there.
        name: Of the file, for messages.
        column: Its name.
        errors: What is done about undecodable bytes, as in `bytes.decode`.
        group: Column that names each row's group.

    Raises:
        DataError: There is no such column, or a row is not like the first.
    """
    before = csv.field_size_limit(LONGEST_FIELD)
    lines = text_lines(chunks, name, errors)
    try:
        first = next(lines, "")
        delimiter = max(DELIMITERS, key=first.count)
        rows = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
        head = [title.strip() for title in next(rows, [])]
        for wanted, option in ((column, "field"), (group, "group")):
            if wanted is not None and wanted not in head:
                raise DataError(
                    f"{name}: no column {wanted!r}. The first line names: {', '.join(map(repr, head)) or 'nothing'}. "
                    f"Choose one with --{option} ({option}=)."
                )
        place, group_place = head.index(column), None if group is None else head.index(group)
        for row in rows:
            if row and len(row) != len(head):
                raise DataError(
                    f"{name}:{rows.line_num}: {len(row)} fields, expected {len(head)} as in the first line. "
                    "Quote fields that contain the separator or a line break."
                )
            if row and row[place]:
                yield row[place] if group_place is None else [row[place], row[group_place]]
    except csv.Error as error:
        raise DataError(f"{name}:{rows.line_num}: not well-formed CSV ({error}). Correct the quotes.") from None
    finally:
        csv.field_size_limit(before)


def text_lines(chunks: Iterable[bytes], name: str, errors: str) -> Iterator[str]:
    """Lines with their ends, which may lie inside a field; ``errors`` as in `bytes.decode`."""
    decoder, held, limits = codecs.getincrementaldecoder("utf-8")(errors), "", Limits.chosen(**LIMITS)
    try:
        for chunk in chunks:
            *whole, held = (held + decoder.decode(chunk)).split("\n")
            limits.refuse("line_bytes", len(held), f"{name}: a line has")
            yield from (f"{line}\n" for line in whole)
        if held := held + decoder.decode(b"", final=True):
            yield held
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}: not UTF-8 ({error.reason}). Set the encoding with --encoding (encoding=), or insert U+FFFD "
            "with --errors replace (errors='replace')."
        ) from None
