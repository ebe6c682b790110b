"""Columns of Parquet files by Arrow, whose C++ can end the process: run through `contained` only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from wordstill.errors import DataError

BATCH_ROWS = 1024
MESSAGE_BYTES = 4 << 20


def parquet_texts(path: str, name: str, column: str, group: str | None = None) -> Iterator[bytes]:
    """The texts of a column, a batch of rows in a message: the thousandths read so far, then a JSON text on a line.

    With a column ``group``, each is a list of the text and the value there. Rows without a text are left out.
    """
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    # One thread: the parent's work on the text takes longer.
    arrow.set_cpu_count(1)
    try:
        _check_columns(parquet.read_schema(path), column, group, name)
        columns = [column] if group is None else [column, group]
        with parquet.ParquetFile(path, read_dictionary=[column]) as file:
            read, rows = 0, file.metadata.num_rows
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=False):
                read += len(batch)
                values = None if group is None else batch.column(columns.index(group)).to_pylist()
                share = str(1000 * read // max(1, rows)).encode()
                yield from (b"\n".join([share, *lines]) for lines in _portions(_texts(batch.column(0), values)))
    except (arrow.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        raise DataError(f"{name}: broken Parquet data ({error}). Download the file again, or skip it.") from error


def _portions(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lines in lists of a few megabytes: rows that repeat a long text are many times as large as the file."""
    held, size = [], 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= MESSAGE_BYTES:
            yield held
            held, size = [], 0
    yield held


def _texts(texts: Any, values: list[Any] | None) -> Iterator[bytes]:
    if not hasattr(texts, "dictionary"):
        texts = texts.dictionary_encode()
    # Equal texts are encoded once, by one encoder: `json.dumps` would make one for each.
    encode = json.JSONEncoder(ensure_ascii=False).encode
    encoded = [encode(text).encode() if text else b"" for text in texts.dictionary.to_pylist()]
    rows = [index if index is not None and encoded[index] else None for index in texts.indices.to_pylist()]
    if values is None:
        return (encoded[index] for index in rows if index is not None)
    # Dates and other values that JSON lacks are written as text.
    named = (json.dumps(value, ensure_ascii=False, default=str).encode() for value in values)
    return (b"[%s, %s]" % (encoded[index], value) for index, value in zip(rows, named) if index is not None)


def _check_columns(schema: Any, column: str, group: str | None, name: str) -> None:
    from pyarrow import types

    for wanted, option in ((column, "field"), (group, "group")):
        if wanted is not None and wanted not in schema.names:
            raise DataError(
                f"{name}: no column {wanted!r}. Available columns: {', '.join(map(repr, schema.names))}. "
                f"Choose one with --{option} ({option}=)."
            )
    kind = schema.field(column).type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        raise DataError(f"{name}: the column {column!r} holds {kind}, expected text.")
