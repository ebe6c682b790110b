"""Reading columns of Parquet files with Arrow, whose C++ can crash: only run through `contained`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from wordstill.errors import DataError

BATCH_ROWS = 1024
MESSAGE_BYTES = 4 << 20


def parquet_tasks(path: str, name: str, column: str, group: str | None, least: int) -> Iterator[bytes]:
    """One message: ranges of row groups, as JSON pairs of first and end, with at least ``least`` bytes each."""
    with _opened(path, name, column, group) as file:
        bounds, size = [0], 0
        for number in range(file.num_row_groups):
            size += file.metadata.row_group(number).total_byte_size
            if size >= least:
                bounds.append(number + 1)
                size = 0
        if bounds[-1] < file.num_row_groups:
            bounds.append(file.num_row_groups)
        yield json.dumps(list(pairwise(bounds))).encode()


def parquet_texts(
    path: str, name: str, column: str, group: str | None = None, groups: tuple[int, int] | None = None
) -> Iterator[bytes]:
    """The texts of a column, a batch of rows per message: the thousandths read so far, then a JSON text per line.

    With a column ``group``, each line is a list of the text and its group. Rows without text are skipped. ``groups`` is
    the range of row groups to read.
    """
    columns = [column] if group is None else [column, group]
    with _opened(path, name, column, group) as file:
        first, last = groups or (0, file.num_row_groups)
        read = sum(file.metadata.row_group(number).num_rows for number in range(first))
        for batch in file.iter_batches(BATCH_ROWS, row_groups=range(first, last), columns=columns, use_threads=False):
            read += len(batch)
            values = None if group is None else batch.column(columns.index(group)).to_pylist()
            share = str(1000 * read // max(1, file.metadata.num_rows)).encode()
            yield from (b"\n".join([share, *lines]) for lines in _portions(_texts(batch.column(0), values)))


@contextmanager
def _opened(path: str, name: str, column: str, group: str | None) -> Iterator[Any]:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    # One thread: several processes read, and the parent's own work takes longer.
    arrow.set_cpu_count(1)
    try:
        _check_columns(parquet.read_schema(path), column, group, name)
        with parquet.ParquetFile(path, read_dictionary=[column]) as file:
            yield file
    except (arrow.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        raise DataError(f"{name}: broken Parquet data ({error}). Download the file again, or skip it.") from error


def _portions(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lines in lists of a few megabytes, because rows that repeat a long text can be much larger than the file."""
    held, size = [], 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= MESSAGE_BYTES:
            yield held
            held, size = [], 0
    yield held


def _texts(texts: Any, values: list[Any] | None) -> Iterator[bytes]:
    import pyarrow

    if not hasattr(texts, "dictionary"):
        texts = texts.dictionary_encode()
    indices = texts.indices.to_pylist()
    # Equal texts are encoded once. A batch has the dictionary of its whole row group, and needs a part of it.
    used = sorted(set(indices) - {None})
    # One encoder: `json.dumps` would make one for each.
    encode = json.JSONEncoder(ensure_ascii=False).encode
    given = texts.dictionary.take(pyarrow.array(used, texts.indices.type)).to_pylist()
    encoded = {index: encode(text).encode() for index, text in zip(used, given) if text}
    rows = [index if index in encoded else None for index in indices]
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
