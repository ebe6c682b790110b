"""Parquet: the columns "word", "vector" (lists of numbers) and "count" if known, and provenance as metadata.

Projectors such as embedding-atlas, and every table tool, open it. Needs pyarrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.contained import contained
from wordstill.core.files import atomic_path
from wordstill.core.guard import Limits
from wordstill.errors import FormatError, MissingExtra
from wordstill.formats.base import STRICT, Format, GrowingMatrix, ReadOptions, check_words, head, make_table, not_this
from wordstill.formats.record import parse_object, provenance_text
from wordstill.vectors import WordVectors

MAGIC = b"PAR1"
WORD, VECTOR, COUNT, PROVENANCE = "word", "vector", "count", b"wordstill"
ROW_GROUP_NUMBERS = 1 << 22
USUAL_DIM = 512
"""Stands in for the dimension where lists have no fixed size."""
BYTES_OF_A_VALUE = 4
NUMBERS = ("halffloat", "float", "double", "int8")


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read the columns, a batch of rows at a time, in a process of its own, which damaged data may end."""
    start = head(path)
    if not start.startswith(MAGIC):
        raise not_this(path, start, "a Parquet file")
    import_pyarrow()
    words: list[str] = []
    counts: list[NDArray[np.int64]] = []
    arguments = {"path": str(path), "block_bytes": options.block_bytes, "limits": asdict(options.limits)}
    messages = contained(batches, arguments, path, options.limits, FormatError)
    facts = json.loads(next(messages))
    dtype, matrix = np.float16 if facts["half"] else np.float32, None
    for message in messages:
        batch, _, data = message.partition(b"\n")
        names, dim, batch_counts = json.loads(batch)
        matrix = matrix or GrowingMatrix(dim, dtype)
        matrix.append(np.frombuffer(data, dtype).reshape(len(names), dim))
        words += names
        if facts["counts"]:
            counts.append(np.array(batch_counts, dtype=np.int64))
    if matrix is None:
        if not facts["dim"]:
            raise FormatError(f"{path} has no rows, and its lists no size: the dimension is not known.")
        matrix = GrowingMatrix(facts["dim"], dtype)
    provenance = parse_object(facts["provenance"], f"{path}: the provenance")
    known = np.concatenate([np.empty(0, np.int64), *counts]) if facts["counts"] else None
    return make_table(path, words, matrix.finish(), options, counts=known, provenance=provenance)


def batches(path: str, block_bytes: int, limits: dict[str, Any]) -> Iterator[bytes]:
    """What `read` gets from its process: facts about the file, then words, dimension, counts and numbers by batch."""
    pyarrow, parquet = import_pyarrow()
    pyarrow.set_cpu_count(1)
    try:
        columns = _columns(path, parquet.read_schema(path).names)
        with parquet.ParquetFile(path, read_dictionary=[WORD]) as file:
            _refuse_bomb(Path(path), file, Limits(**limits))
            schema = file.schema_arrow
            dim = _list_size(schema)
            half = str(getattr(schema.field(VECTOR).type, "value_type", "")) == "halffloat"
            text = (schema.metadata or {}).get(PROVENANCE, b"{}").decode("utf-8", "replace")
            facts = {"half": half, "counts": COUNT in columns, "dim": dim, "provenance": text}
            yield json.dumps(facts).encode()
            rows, done = max(1, block_bytes // (4 * (dim or USUAL_DIM))), 0
            for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                yield _encoded(f"{path}: rows {done} to {done + len(batch) - 1}", batch, dim, half=half)
                dim, done = dim or len(batch.column(VECTOR)[0]), done + len(batch)
    except FormatError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError, IndexError) as error:
        raise FormatError(f"{path}: the Parquet data are damaged ({error}).") from None


def write(vectors: WordVectors, path: Path) -> None:
    """Write the columns, as lists of a fixed size."""
    pyarrow, parquet = import_pyarrow()
    check_words(vectors)
    number = pyarrow.float16() if vectors.matrix.dtype == np.float16 else pyarrow.float32()
    fields = [(WORD, pyarrow.string()), (VECTOR, pyarrow.list_(number, vectors.dim))]
    if vectors.counts is not None:
        fields.append((COUNT, pyarrow.int64()))
    metadata = {PROVENANCE: provenance_text(vectors)} if vectors.provenance else {}
    schema = pyarrow.schema(fields, metadata=metadata)
    rows = max(1, ROW_GROUP_NUMBERS // vectors.dim)
    with atomic_path(path) as temporary, parquet.ParquetWriter(temporary, schema, compression="zstd") as out:
        for start in range(0, len(vectors), rows):
            part = slice(start, start + rows)
            flat = pyarrow.array(np.ascontiguousarray(vectors.matrix[part]).reshape(-1), number)
            arrays = [
                pyarrow.array(vectors.words[part], pyarrow.string()),
                pyarrow.FixedSizeListArray.from_arrays(flat, vectors.dim),
            ]
            if vectors.counts is not None:
                arrays.append(pyarrow.array(vectors.counts[part]))
            out.write_batch(pyarrow.record_batch(arrays, schema=schema))


def recognizes(path: Path) -> bool:
    """Whether it is a Parquet file."""
    return path.is_file() and head(path).startswith(MAGIC)


def import_pyarrow() -> tuple[Any, Any]:
    """The packages pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "distill", "The format Parquet") from None
    return pyarrow, parquet


def _columns(path: str, names: list[str]) -> list[str]:
    if WORD not in names or VECTOR not in names:
        raise FormatError(f"{path} has the columns {', '.join(names)}, expected {WORD!r} and {VECTOR!r}.")
    return [name for name in (WORD, VECTOR, COUNT) if name in names]


def _refuse_bomb(path: Path, file: Any, limits: Limits) -> None:
    """Rows that repeat each other take no room in the file, so what they unpack to is asked beforehand."""
    size = path.stat().st_size
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    limits.check(path, sum(group.total_byte_size for group in groups), size, FormatError)
    # A column chunk counts the numbers in its lists, however few bytes stand for them.
    values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
    limits.check(path, BYTES_OF_A_VALUE * values, size, FormatError)


def _list_size(schema: Any) -> int:
    """The dimension, if the lists are of a fixed size, else 0."""
    return getattr(schema.field(VECTOR).type, "list_size", 0)


def _encoded(where: str, batch: Any, dim: int, *, half: bool) -> bytes:
    """A batch as one message."""
    for name in batch.schema.names:
        if batch.column(name).null_count:
            raise FormatError(f"{where}: the column {name!r} has a row without a value.")
    with np.errstate(over="ignore"):
        numbers = _numbers(where, batch.column(VECTOR), dim).astype(np.float16 if half else np.float32, copy=False)
    counts = _counts(where, batch.column(COUNT)).tolist() if COUNT in batch.schema.names else None
    facts = [_words(where, batch.column(WORD)), numbers.shape[1], counts]
    return json.dumps(facts).encode() + b"\n" + np.ascontiguousarray(numbers).tobytes()


def _numbers(where: str, column: Any, dim: int) -> NDArray[Any]:
    """The vectors of a batch, (rows, dim); all lists must be as long as those before."""
    lengths = np.unique(column.value_lengths().to_numpy()) if hasattr(column, "offsets") else np.array([dim])
    if len(lengths) != 1 or (dim and lengths[0] != dim) or not lengths[0]:
        raise FormatError(f"{where}: vectors of {', '.join(map(str, lengths))} numbers, expected {dim or 'one'}.")
    values = column.flatten()
    if values.null_count or str(values.type) not in NUMBERS:
        raise FormatError(f"{where}: the vectors are lists of {values.type}, expected of numbers without gaps.")
    with np.errstate(over="ignore"):
        return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(column), int(lengths[0]))


def _words(where: str, column: Any) -> list[str]:
    """The words of a batch; equal ones are one object, however often they come."""
    column = column.dictionary_encode() if not hasattr(column, "dictionary") else column
    if str(column.type.value_type) not in ("string", "large_string"):
        raise FormatError(f"{where}: the column {WORD!r} has {column.type.value_type}, expected strings.")
    names = column.dictionary.to_pylist()
    return [names[number] for number in column.indices.to_pylist()]


def _counts(where: str, column: Any) -> NDArray[np.int64]:
    if not str(column.type).lstrip("u").startswith("int"):
        raise FormatError(f"{where}: the column {COUNT!r} has {column.type}, expected whole numbers.")
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64)


PARQUET = Format("parquet", (".parquet",), read, write, recognizes, records=True, float16=True)
