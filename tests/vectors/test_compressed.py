"""Rows that are kept in few bytes: decoded one by one as a plain loop would, and asked like any table."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.compressed import CODES, Int8Rows, ProductRows, part_bounds

ROWS, DIM, PARTS = 30, 7, 3
WORDS = [f"w{row}" for row in range(ROWS)]


def product_rows(lengths: np.ndarray | None = None) -> ProductRows:
    generator = np.random.default_rng(0)
    return ProductRows(
        generator.integers(0, CODES, (ROWS, PARTS)).astype(np.uint8),
        generator.standard_normal((CODES, DIM)).astype(np.float16),
        generator.permutation(DIM).astype(np.int32),
        np.ones(1, np.float16) if lengths is None else lengths,
    )


def int8_rows() -> Int8Rows:
    generator = np.random.default_rng(1)
    numbers = generator.integers(-127, 128, (ROWS, DIM)).astype(np.int8)
    return Int8Rows(numbers, generator.random(ROWS).astype(np.float32))


@pytest.fixture(params=["int8", "pq", "pq with lengths"])
def rows(request):
    if request.param == "int8":
        return int8_rows()
    return product_rows(None if request.param == "pq" else np.arange(ROWS, dtype=np.float32))


def test_parts_fill_the_columns():
    assert part_bounds(7, 3) == [(0, 3), (3, 5), (5, 7)]
    assert part_bounds(6, 6) == [(column, column + 1) for column in range(6)]


def test_decoding_is_what_a_loop_gives():
    lengths = np.arange(ROWS, dtype=np.float32)
    rows = product_rows(lengths)
    expected = np.zeros((ROWS, DIM))
    for row in range(ROWS):
        for part, (begin, end) in enumerate(part_bounds(DIM, PARTS)):
            for place in range(begin, end):
                expected[row, rows.columns[place]] = rows.codebooks[rows.codes[row, part], place]
        expected[row] *= lengths[row] / np.linalg.norm(expected[row])
    np.testing.assert_allclose(rows.decode(slice(None)), expected, rtol=1e-5)


def test_a_table_answers_as_the_decoded_one(rows):
    packed, plain = WordVectors(WORDS, rows), WordVectors(WORDS, rows.decode(slice(None)))
    assert (packed.dim, len(packed), packed.storage) == (DIM, ROWS, rows.kind)
    assert packed.nbytes < plain.nbytes or rows.kind == "pq"
    some = np.array([3, 3, 29, 0])
    np.testing.assert_array_equal(packed.take(some), plain.take(some))
    np.testing.assert_array_equal(packed["w5"], plain["w5"])
    assert "matrix" not in vars(packed), "a look-up decodes only what it needs"
    np.testing.assert_array_equal(np.concatenate(list(packed.blocks(7))), plain.matrix)
    assert packed.most_similar("w1", topn=5) == plain.most_similar("w1", topn=5)
    assert packed.analogy("w1", "w2", "w3") == plain.analogy("w1", "w2", "w3")
    assert "matrix" not in vars(packed), "nor does a search keep the numbers twice"
    np.testing.assert_array_equal(packed.matrix, plain.matrix)
    assert not packed.matrix.flags.writeable


def test_fewer_words_stay_compressed(rows):
    table = WordVectors(WORDS, rows).subset(["w7", "w2"])
    assert table.storage == rows.kind
    np.testing.assert_array_equal(table.matrix, rows.decode(np.array([7, 2])))
    assert table.replace(provenance={"a": 1}).storage == rows.kind


def test_rows_that_do_not_fit_the_words(rows):
    with pytest.raises(UsageError, match=r"shape \(30, 7\), expected \(29, dim\)"):
        WordVectors(WORDS[1:], rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codebooks": np.zeros((CODES, DIM + 1), np.float16)}, "expected \\(256, 7\\)"),
        ({"codes": np.zeros((ROWS, DIM + 1), np.uint8)}, "Codes"),
        ({"columns": np.zeros(DIM, np.int32)}, "each once"),
        ({"lengths": np.ones(2, np.float32)}, "lengths of shape"),
        ({"lengths": np.array([np.nan], np.float32)}, "NaN"),
        ({"codebooks": np.full((CODES, DIM), np.inf, np.float16)}, "NaN or infinity"),
    ],
)
def test_codes_that_cannot_be(change, message):
    with pytest.raises(UsageError, match=message):
        ProductRows(**{**product_rows().arrays, **change})
