from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from wordstill import formats
from wordstill.core.guard import Limits
from wordstill.errors import FormatError
from wordstill.formats.base import ReadOptions
from wordstill.vectors import WordVectors

WORDS = ["the", "new york", "👩‍💻", ""]
MATRIX = np.random.default_rng(5).standard_normal((4, 3)).astype(np.float32)


def save(path, **columns):
    columns = {"word": WORDS, "vector": pa.array(MATRIX.tolist(), pa.list_(pa.float32())), **columns}
    parquet.write_table(pa.table({name: column for name, column in columns.items() if column is not None}), path)
    return path


def test_pyarrow_reads_what_we_write(tmp_path):
    vectors = WordVectors(WORDS, MATRIX, counts=np.arange(4), provenance={"teacher": "t"})
    vectors.save(tmp_path / "x.parquet")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.column("word").to_pylist() == WORDS
    assert table.column("count").to_pylist() == [0, 1, 2, 3]
    assert str(table.schema.field("vector").type) == "fixed_size_list<item: float>[3]" or (
        "float" in str(table.schema.field("vector").type)
    )
    np.testing.assert_array_equal(np.array(table.column("vector").to_pylist(), np.float32), MATRIX)
    assert json.loads(table.schema.metadata[b"wordstill"]) == {"teacher": "t"}


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("size", [-1, 3])
def test_we_read_lists_of_every_kind(tmp_path, kind, size):
    column = pa.array(MATRIX.astype(np.float16).tolist(), pa.list_(kind, size))
    again = formats.read(save(tmp_path / "x.parquet", vector=column, more=[1, 2, 3, 4]))
    assert list(again.words) == WORDS
    assert again.matrix.dtype == (np.float16 if kind == pa.float16() else np.float32)
    np.testing.assert_array_equal(again.matrix, MATRIX.astype(np.float16))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"word": None}, "has the columns vector, expected 'word' and 'vector'"),
        ({"vector": None}, "expected 'word' and 'vector'"),
        ({"word": ["a", None, "c", "d"]}, "rows 0 to 3: the column 'word' has a row without a value"),
        ({"word": [1, 2, 3, 4]}, "expected strings"),
        ({"word": ["a", "b", "a", "d"]}, "the word 'a' is there twice"),
        ({"vector": [[1.0], [1.0, 2.0], [1.0], [1.0]]}, "vectors of 1, 2 numbers"),
        ({"vector": [[1.0], [None], [1.0], [1.0]]}, "without gaps"),
        ({"vector": [["a"], ["b"], ["c"], ["d"]]}, "lists of string"),
        ({"vector": [[], [], [], []]}, "vectors of 0 numbers"),
        ({"vector": [1.0, 2.0, 3.0, 4.0]}, "vector"),
        ({"vector": [[np.nan], [1.0], [1.0], [1.0]]}, "finite"),
        ({"count": ["1", "2", "3", "4"]}, "expected whole numbers"),
        ({"count": [1, 2, 3, -4]}, "count of row 3 is -4"),
    ],
)
def test_columns_that_do_not_fit(tmp_path, columns, message):
    with pytest.raises(FormatError, match=message) as caught:
        formats.read(save(tmp_path / "x.parquet", **columns))
    assert str(tmp_path / "x.parquet") in str(caught.value)


def test_a_bomb_of_equal_rows_is_refused(tmp_path):
    rows = 200_000
    flat = pa.array(np.zeros(rows * 8, np.float32))
    table = pa.table({"word": pa.array(["a"] * rows), "vector": pa.FixedSizeListArray.from_arrays(flat, 8)})
    parquet.write_table(table, tmp_path / "x.parquet", compression="zstd")
    assert (tmp_path / "x.parquet").stat().st_size < 20_000
    options = ReadOptions(limits=Limits(free_bytes=1 << 16))
    with pytest.raises(FormatError, match="unpack to more than"):
        formats.FORMATS.find("parquet").read(tmp_path / "x.parquet", options)


def test_a_bomb_of_long_lists_is_refused(tmp_path):
    dim = 500_000
    flat = pa.array(np.zeros(2 * dim, np.float32))
    lists = pa.ListArray.from_arrays(pa.array([0, dim, 2 * dim], pa.int32()), flat)
    parquet.write_table(pa.table({"word": pa.array(["a", "b"]), "vector": lists}), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 20_000
    options = ReadOptions(limits=Limits(free_bytes=1 << 16))
    with pytest.raises(FormatError, match="unpack to more than"):
        formats.FORMATS.find("parquet").read(tmp_path / "x.parquet", options)
