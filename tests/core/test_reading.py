"""Repairs, which are made on request only and always told."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from wordstill import formats
from wordstill.errors import FormatError
from wordstill.formats.base import ReadOptions
from wordstill.vectors import WordVectors

REPAIRS = {
    "a repeated word": (b"3 2\na 1 2\nb 3 4\na 5 6\n", ["a", "b"], "only the first row of each word was kept"),
    "NaN": (b"3 2\na 1 2\nb 3 nan\nc 5 6\n", ["a", "c"], "lines that are no rows were left out"),
    "another length": (b"a 1 2\nb 3\nc 5 6\n", ["a", "c"], "lines that are no rows were left out"),
    "not UTF-8": (b"a 1 2\n\xff 3 4\nc 5 6\n", ["a", "c"], "lines that are no rows were left out"),
    "an empty line": (b"a 1 2\n\nc 5 6\n", ["a", "c"], None),
    "too many rows said": (b"9 2\na 1 2\nc 5 6\n", ["a", "c"], "the header was ignored"),
    "too few rows said": (b"1 2\na 1 2\nc 5 6\n", ["a", "c"], "the header was ignored"),
    "another dimension said": (b"2 7\na 1 2\nc 5 6\n", ["a", "c"], "the header was ignored"),
    "a cut last line": (b"3 2\na 1 2\nc 5 6\nd 7", ["a", "c"], "lines that are no rows were left out"),
}


@pytest.mark.parametrize(("content", "words", "message"), REPAIRS.values(), ids=REPAIRS)
@pytest.mark.parametrize("block", [5, 8 << 20])
def test_text(tmp_path, content, words, message, block):
    (tmp_path / "x.txt").write_bytes(content)
    read = formats.FORMATS.find("word2vec-text").read
    with pytest.raises(FormatError):
        read(tmp_path / "x.txt", ReadOptions(block_bytes=block))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        options = ReadOptions(repair=True, block_bytes=block)
        vectors = read(tmp_path / "x.txt", options)
        options.report()
    assert list(vectors.words) == words
    np.testing.assert_array_equal(vectors["a"], [1, 2])
    if message:
        assert any(f"Repaired, {message} (1): {tmp_path}" in str(warning.message) for warning in told)


def binary(words, matrix, rows=None):
    head = f"{len(words) if rows is None else rows} {matrix.shape[1]}\n".encode()
    return head + b"".join(word.encode() + b" " + row.tobytes() for word, row in zip(words, matrix))


MATRIX = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        (binary("abcd", MATRIX)[:-3], "abc", "only the whole rows before the fault"),
        (binary("abcd", MATRIX, rows=9), "abcd", "only the whole rows before the fault"),
        (binary("abcd", MATRIX, rows=3), "abc", "what follows the rows of the header"),
        (binary("abca", MATRIX), "abc", "only the first row of each word"),
        (binary("abcd", np.where(MATRIX == 3, np.nan, MATRIX)), "acd", "rows with NaN or infinity"),
    ],
)
def test_binary(tmp_path, content, words, message):
    (tmp_path / "x.bin").write_bytes(content)
    with pytest.raises(FormatError):
        formats.read(tmp_path / "x.bin", "word2vec-binary")
    with pytest.warns(UserWarning, match=f"Repaired, {message}"):
        vectors = formats.read(tmp_path / "x.bin", "word2vec-binary", repair=True)
    assert vectors.words == tuple(words)


def test_counts_stay_with_their_words(tmp_path):
    numbers = [[1.0, 2.0], [np.nan, 1.0], [3.0, 4.0], [5.0, 6.0]]
    columns = {"word": ["a", "b", "a", "c"], "vector": numbers, "count": [4, 3, 2, 1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    with pytest.warns(UserWarning, match="Repaired"):
        vectors = formats.read(tmp_path / "x.parquet", repair=True)
    assert vectors.words == ("a", "c")
    assert vectors.counts.tolist() == [4, 1]
    np.testing.assert_array_equal(vectors.matrix, [[1, 2], [5, 6]])


def test_a_memory_mapped_table_is_looked_through(tmp_path):
    WordVectors(["a", "b"], MATRIX[:2]).save(tmp_path / "x")
    tensors = (tmp_path / "x" / "vectors.safetensors").read_bytes()
    (tmp_path / "x" / "vectors.safetensors").write_bytes(tensors[:-4] + np.float32(np.nan).tobytes())
    with pytest.warns(UserWarning, match="Repaired, rows with NaN or infinity were left out"):
        assert WordVectors.load(tmp_path / "x", repair=True).words == ("a",)


def test_nothing_is_told_where_nothing_was_wrong(tmp_path):
    WordVectors(["a", "b"], MATRIX[:2]).save(tmp_path / "x.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(formats.read(tmp_path / "x.txt", repair=True)) == 2


def test_a_bar_over_the_bytes(tmp_path, bars, capsys):
    WordVectors(["a", "b"], MATRIX[:2]).save(tmp_path / "x.txt.gz")
    formats.read(tmp_path / "x.txt.gz", progress=True)
    assert "x.txt.gz: 100%" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["x.txt", "x.glove", "x.bin", "x.txt.gz"])
@pytest.mark.parametrize("first", [1, 3, 49, 50, 99])
def test_the_first_rows_alone(tmp_path, file, first):
    matrix = np.random.default_rng(0).standard_normal((50, 2)).astype(np.float32)
    table = WordVectors([f"w{row}" for row in range(50)], matrix)
    table.save(tmp_path / file)
    known = formats.recognize(tmp_path / file)
    some = known.read(tmp_path / file, ReadOptions(first=first, block_bytes=30))
    assert some.words == table.words[:first]
    np.testing.assert_array_equal(some.matrix, matrix[:first])


def test_what_comes_after_the_first_rows_is_not_looked_at(tmp_path):
    (tmp_path / "x.txt").write_text("9 2\na 1 2\nb 3 4\nc 5\nd 6 7\n")
    known = formats.FORMATS.find("word2vec-text")
    assert known.read(tmp_path / "x.txt", ReadOptions(first=1, block_bytes=8)).words == ("a",)


def test_formats_with_counts_are_read_whole(tmp_path):
    WordVectors(["a", "b"], MATRIX[:2], counts=np.array([1, 2])).save(tmp_path / "x")
    assert len(formats.read(tmp_path / "x", first=1)) == 2
