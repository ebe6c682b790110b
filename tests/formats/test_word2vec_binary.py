from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors

from wordstill import formats
from wordstill.errors import FormatError, UsageError
from wordstill.formats.base import STRICT, ReadOptions
from wordstill.vectors import WordVectors

WORDS = ["the", "tab\there", "👩‍💻", "n\u00a0b", "e\u0301", "line\nbreak"]
MATRIX = np.random.default_rng(5).standard_normal((6, 7)).astype(np.float32)


@pytest.fixture
def vectors():
    return WordVectors(WORDS, MATRIX)


@pytest.fixture
def good(vectors, tmp_path):
    vectors.save(tmp_path / "good.bin")
    return (tmp_path / "good.bin").read_bytes()


def read(tmp_path, content, name="word2vec-binary", options=STRICT):
    path = tmp_path / "vectors.bin"
    path.write_bytes(content)
    known = formats.recognize(path) if name is None else formats.FORMATS.find(name)
    return known.read(path, options)


def test_gensim_reads_and_writes_the_same_bytes(vectors, good, tmp_path):
    oracle = KeyedVectors.load_word2vec_format(tmp_path / "good.bin", binary=True)
    assert oracle.index_to_key == WORDS
    np.testing.assert_array_equal(oracle.vectors, MATRIX)
    keyed = KeyedVectors(7)
    keyed.add_vectors(WORDS, MATRIX)
    keyed.save_word2vec_format(tmp_path / "theirs.bin", binary=True)
    assert (tmp_path / "theirs.bin").read_bytes() == good


@pytest.mark.parametrize("name", [None, "word2vec-binary"])
@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_line_breaks_after_the_rows_as_the_c_program_writes(tmp_path, name, chunk):
    rows = b"".join(word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(WORDS, MATRIX))
    again = read(tmp_path, b"6 7\n" + rows, name, ReadOptions(block_bytes=chunk))
    assert list(again.words) == WORDS
    np.testing.assert_array_equal(again.matrix, MATRIX)


def test_a_cut_file_is_reported_with_the_byte_where_its_row_begins(tmp_path, good):
    row_starts = [4]
    for word in WORDS[:-1]:
        row_starts.append(row_starts[-1] + len(word.encode()) + 1 + 28)
    for length in range(4, len(good)):
        start = max(begin for begin in row_starts if begin <= length)
        row = row_starts.index(start) + 1
        with pytest.raises(FormatError, match=rf"row {row} of 6 begins at byte {start} .* got {length - start} bytes"):
            read(tmp_path, good[:length])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda good: b"7" + good[1:], "row 7 of 7 begins at byte .* got 0 bytes"),
        (lambda good: b"5" + good[1:], "5 rows of 7 numbers, as the header says, end at byte .*, and more follows"),
        (lambda good: b"6 6" + good[3:], "not UTF-8|more follows|not whole"),
        (lambda good: b"6 9999999" + good[3:], "row 1 of 6 begins at byte 10 and is not whole"),
        (lambda good: good[4:], "not word2vec binary"),
        (lambda good: good.replace(b"the ", b"th\xff "), r"the word at byte 4 is not UTF-8: b'th\\xff'"),
        (lambda good: good.replace(MATRIX[0, :2].tobytes(), np.float32([1, np.nan]).tobytes()), "nan at byte 12"),
        (lambda good: b"2 1\na \0\0\0\0a \0\0\0\0", "the word 'a' is there twice, in rows 0 and 1"),
    ],
)
def test_damage(tmp_path, good, content, message):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, content(good))


def test_bytes_without_any_blank_do_not_fill_the_memory(tmp_path):
    with pytest.raises(FormatError, match=r"row 1 of 3 begins at byte 4 .* got 69632 bytes"):
        read(tmp_path, b"3 5\n" + b"\xff" * (1 << 18), options=ReadOptions(block_bytes=1 << 12))


@pytest.mark.parametrize("word", ["new york", " ", "\nx"])
def test_words_that_would_not_come_back_are_refused(tmp_path, word):
    with pytest.raises(UsageError, match="cannot store"):
        WordVectors([word], np.ones((1, 2), np.float32)).save(tmp_path / "x.bin")
    assert list(tmp_path.iterdir()) == []
