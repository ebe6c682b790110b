"""Files of sentence vectors, written in blocks: numpy's ``.npy``, or Parquet with the text of each sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordstill.core.files import atomic_file, atomic_path
from wordstill.errors import UsageError
from wordstill.formats.parquet import import_pyarrow

Append: TypeAlias = Callable[[Sequence[str], NDArray[np.float32]], None]
"""Appends sentences and their vectors, (sentences, dim)."""

TEXT, VECTOR = "text", "vector"


@contextmanager
def sentence_file(path: Path, dim: int) -> Iterator[Append]:
    """Write a file of sentence vectors atomically, in the format of its suffix."""
    with WRITERS[check_sentence_file(path)](path, dim) as append:
        yield append


def check_sentence_file(path: Path) -> str:
    """The suffix of a path; raises if there is no format for it."""
    if path.suffix.lower() not in WRITERS:
        raise UsageError(f"Unknown extension {path.suffix!r} of {path}. Sentence vectors go to {' or '.join(WRITERS)}.")
    return path.suffix.lower()


@contextmanager
def _numpy_file(path: Path, dim: int) -> Iterator[Append]:
    with atomic_file(path) as handle:
        rows = 0

        def write_header() -> None:
            shape = {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)}
            npy.write_array_header_1_0(handle, shape)

        def append(_: Sequence[str], vectors: NDArray[np.float32]) -> None:
            nonlocal rows
            rows += len(vectors)
            handle.write(np.ascontiguousarray(vectors, dtype="<f4").data)

        write_header()
        begin = handle.tell()
        yield append
        handle.seek(0)
        write_header()
        # numpy reserves space in the header for any number of rows.
        assert handle.tell() == begin


@contextmanager
def _parquet_file(path: Path, dim: int) -> Iterator[Append]:
    pyarrow, parquet = import_pyarrow()
    schema = pyarrow.schema([(TEXT, pyarrow.string()), (VECTOR, pyarrow.list_(pyarrow.float32(), dim))])
    with atomic_path(path) as temporary, parquet.ParquetWriter(temporary, schema, compression="zstd") as out:

        def append(texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
            flat = pyarrow.array(np.ascontiguousarray(vectors).reshape(-1))
            columns = [pyarrow.array(texts, pyarrow.string()), pyarrow.FixedSizeListArray.from_arrays(flat, dim)]
            out.write_batch(pyarrow.record_batch(columns, schema=schema))

        yield append


WRITERS = {".npy": _numpy_file, ".parquet": _parquet_file}
