"""The text column of a Parquet file, read row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordstill.corpus.sources import Stream
from wordstill.errors import DataError, MissingExtra

PARQUET_MAGIC = b"PAR1"
BATCH_ROWS = 1024


def read_column(stream: Stream, column: str) -> Iterator[str]:
    """The texts of a column in order; rows without a value are left out.

    Raises:
        DataError: The file is not Parquet, is broken, or has no such column of text.
    """
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("pyarrow", "distill", "Reading Parquet files") from None
    name = stream.source.name
    if stream.source.path is None or stream.codec:
        raise DataError(f"{name}: Parquet must be read from an uncompressed file, not from a pipe.")
    try:
        with parquet.ParquetFile(stream.source.path) as file:
            _check_column(file.schema_arrow, column, name)
            read, rows, size = 0, file.metadata.num_rows, stream.source.size or 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[column]):
                read += len(batch)
                stream.position = size * read // rows
                yield from (text for text in batch.column(0).cast(arrow.large_string()).to_pylist() if text)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(
            f"{name}: broken Parquet data ({error}). Get the file again, or leave it out."
        ) from error


def _check_column(schema: Any, column: str, name: str) -> None:
    from pyarrow import types

    if column not in schema.names:
        raise DataError(
            f"{name}: no column {column!r}. Columns that are there: {', '.join(map(repr, schema.names))}. "
            "Choose one of them by --field (field=)."
        )
    kind = schema.field(column).type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        raise DataError(f"{name}: the column {column!r} holds {kind}, expected text.")
