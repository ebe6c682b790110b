from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from gensim.models import KeyedVectors

from wordstill import formats
from wordstill.errors import FormatError, UsageError
from wordstill.formats.base import STRICT, ReadOptions
from wordstill.vectors import WordVectors

BOTH = ("word2vec-text", "glove-text")


def read(tmp_path, content, name=None, options=STRICT):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    known = formats.recognize(path) if name is None else formats.FORMATS.find(name)
    return known.read(path, options)


@pytest.fixture
def vectors():
    matrix = np.random.default_rng(3).standard_normal((60, 9)).astype(np.float32)
    matrix *= 10.0 ** np.random.default_rng(4).integers(-30, 30, (60, 1)).astype(np.float32)
    return WordVectors([*(f"w{row}" for row in range(57)), "tab\there", "👩‍💻", "n\u00a0b"], matrix)


def test_gensim_reads_what_we_write(vectors, tmp_path):
    for name, options in (("word2vec-text", {}), ("glove-text", {"no_header": True})):
        path = tmp_path / name
        vectors.save(path, name)
        oracle = KeyedVectors.load_word2vec_format(path, binary=False, **options)
        assert oracle.index_to_key == list(vectors.words)
        np.testing.assert_array_equal(oracle.vectors, vectors.matrix)


@pytest.mark.parametrize(("header", "name"), [(True, "word2vec-text"), (False, "glove-text"), (False, "word2vec-text")])
def test_we_read_what_gensim_writes(vectors, tmp_path, header, name):
    keyed = KeyedVectors(vectors.dim)
    keyed.add_vectors(list(vectors.words), np.array(vectors.matrix))
    keyed.save_word2vec_format(tmp_path / "x.txt", binary=False, write_header=header)
    for chosen in (None, name):
        again = formats.read(tmp_path / "x.txt", chosen)
        assert again.words == vectors.words
        np.testing.assert_array_equal(again.matrix, vectors.matrix)


def test_words_with_blanks_are_read_from_the_right(tmp_path):
    rows = ["the 0.1 0.2 0.3", ". . . 0.4 0.5 0.6", "at name@domain.com 0.7 0.8 0.9", "route 66 0.1 0.1 0.1"]
    for header in ("", "4 3\n"):
        vectors = read(tmp_path, header + "\n".join(rows) + "\n")
        assert vectors.words == ("the", ". . .", "at name@domain.com", "route 66")
        np.testing.assert_array_equal(vectors["at name@domain.com"], np.float32([0.7, 0.8, 0.9]))


def test_a_word_with_a_blank_may_come_first(tmp_path):
    assert read(tmp_path, ". . 0.1 0.2\nb 0.3 0.4\n").words == (". .", "b")


@pytest.mark.parametrize("end", ["\n", " \n", "\r\n", " \r\n"])
@pytest.mark.parametrize("header", ["", "2 2"])
def test_line_ends_and_trailing_blanks(tmp_path, header, end):
    rows = [*([header] if header else []), "a 1.5 2", "b 3 -4e-1"]
    vectors = read(tmp_path, end.join(rows) + end)
    assert vectors.words == ("a", "b")
    np.testing.assert_array_equal(vectors.matrix, np.float32([[1.5, 2], [3, -0.4]]))


@pytest.mark.parametrize("header", ["", "2 2\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path, header):
    path = tmp_path / "marked.txt"
    path.write_text(f"{header}a 1 2\nb 3 4\n", encoding="utf-8-sig")
    assert WordVectors.load(path).words == ("a", "b")


@pytest.mark.parametrize("name", [*BOTH, "projector"])
def test_a_word_that_begins_with_a_mark_keeps_it(tmp_path, name):
    words = ["\ufeff", "\ufeffa", "a"]
    WordVectors(words, np.eye(3, dtype=np.float32)).save(tmp_path / "out", name)
    assert WordVectors.load(tmp_path / "out").words == tuple(words)


def test_empty_lines_at_the_end(tmp_path):
    assert read(tmp_path, "2 2\na 1 2\nb 3 4\n\n \n").words == ("a", "b")


def test_the_last_line_may_lack_its_end(tmp_path):
    assert read(tmp_path, "a 1 2\nb 3 4").words == ("a", "b")


@pytest.mark.parametrize(
    "number", ["1.", ".5", "+1", "-0", "1E3", "1e-3", "007", "1e-60", "0.10000000000000000000000000001"]
)
def test_numbers_in_every_dress(tmp_path, number):
    vectors = read(tmp_path, f"a {number} 2\n")
    assert vectors.matrix.tobytes() == np.float32([[float(number), 2]]).tobytes()


GOOD = [f"w{row} {row}.5 0.25 -1.5" for row in range(200)]


def lines(*changes, header=None):
    """The good rows as a file, with some rows (counted from one) changed."""
    rows = list(GOOD)
    for row, text in changes:
        rows[row - 1] = text
    return "\n".join([*([header] if header else []), *rows]) + "\n"


@pytest.mark.parametrize("name", [None, *BOTH])
@pytest.mark.parametrize(
    ("row", "text", "message"),
    [
        (150, "w149 0.5 0.5", "2 numbers after the word, expected 3"),
        (150, "w149 0.5 0.5 0.5 0.5", "4 numbers after the word, expected 3"),
        (150, "w149 5 5 5 5", "4 numbers after the word, expected 3"),
        (150, "w149 0.5 0.5 0.5 w150 0.5 0.5 0.5 0.5", "4 numbers after the word, expected 3; 'w150'"),
        (150, "w149", "0 numbers after the word, expected 3"),
        (150, "w149 0.5 x 0.5", "1 numbers after the word, expected 3; 'x' is not a number"),
        (150, "w149 0.5 1_0 0.5", "'1_0' is not a number"),
        (150, "w149 0.5 0x1 0.5", "'0x1' is not a number"),
        (150, "w149 0.5 0.5\r 0.5", r"'0.5\\r' is not a number"),
        (150, "new york 0.5 0.5", "'york' is not a number"),
        (150, "w149  0.5 0.5", "'' is not a number"),
        (150, "w149\t0.5\t0.5\t0.5", "0 numbers"),
        (1, "w0 0.5", "1 numbers after the word, expected 3"),
        (150, "w149 0.5 nan 0.5", "number 2 is nan"),
        (150, "w149 0.5 0.5 -Inf", "number 3 is -Inf"),
        (150, "w149 1e39 0.5 0.5", "number 1 is 1e39, expected one that is finite in float32"),
        (150, "w7 0.5 0.5 0.5", "the word 'w7' is there already, on line {first}"),
        (150, "", "an empty line between rows"),
        (150, b"caf\xe9 0.5 0.5 0.5", r"the word b'caf\\xe9' is not UTF-8 at its byte 3"),
    ],
)
@pytest.mark.parametrize("block", [200, 8 << 20])
def test_errors_say_file_and_line(tmp_path, name, row, text, message, block):
    header = None if name == "glove-text" else "200 3"
    shift = 1 if header else 0
    text = text.decode("latin-1") if isinstance(text, bytes) else text
    content = lines((row, text), header=header).encode("latin-1")
    with pytest.raises(FormatError, match=message.format(first=8 + shift)) as caught:
        read(tmp_path, content, name, ReadOptions(block_bytes=block))
    assert str(caught.value).startswith(f"{tmp_path / 'vectors.txt'}:{row + shift}: ")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("201 3", r":1: the header says 201 rows, the file has 200"),
        ("199 3", r":1: the header says 199 rows, the file has more"),
        ("0 3", r":1: the header says 0 rows, the file has more"),
        ("999999999999999 3", r":1: the header says 999999999999999 rows, the file has 200"),
        ("200 4", r":1: the header says 4 numbers per word, the rows have 3"),
        ("200 2", r":1: the header says 2 numbers per word, the rows have 3"),
        ("200 9999999", r":1: the header says 9999999 numbers per word, the rows have 3"),
        ("200 0", r":1: 1 numbers after the word, expected 3"),
    ],
)
def test_a_header_that_lies(tmp_path, header, message):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, lines(header=header))


def test_a_header_read_as_glove_is_a_short_row(tmp_path):
    with pytest.raises(FormatError, match=":1: 1 numbers after the word, expected 3"):
        read(tmp_path, lines(header="200 3"), "glove-text")


@pytest.mark.parametrize("name", BOTH)
def test_binary_where_text_was_expected(tmp_path, vectors, name):
    vectors.subset(["w0", "w1"]).save(tmp_path / "x.bin")
    with pytest.raises(FormatError, match=r"x\.bin is not text of vectors; it looks like binary data"):
        formats.read(tmp_path / "x.bin", name)


def test_utf16_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"UTF-16 text\. Convert it to UTF-8"):
        read(tmp_path, lines().encode("utf-16"), "glove-text")


@pytest.mark.parametrize("name", BOTH)
def test_a_line_break_in_a_word_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="line break"):
        WordVectors(["a\nb"], np.ones((1, 2), np.float32)).save(tmp_path / "x", name)
    assert list(tmp_path.iterdir()) == []


def test_memory_stays_near_the_matrix(tmp_path):
    rows, dim = 20_000, 100
    row = " ".join(["0.123456"] * dim)
    path = tmp_path / "big.txt"
    path.write_text("".join(f"w{number} {row}\n" for number in range(rows)))
    matrix_bytes = rows * dim * 4
    tracemalloc.start()
    try:
        formats.FORMATS.find("glove-text").read(path, ReadOptions(block_bytes=1 << 18))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.2 * matrix_bytes
