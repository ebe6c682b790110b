from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.scripts.word2vec2tensor import word2vec2tensor

from wordstill import formats
from wordstill.errors import FormatError
from wordstill.vectors import WordVectors

WORDS = ["the", "new york", "👩‍💻", "", "word"]
MATRIX = np.random.default_rng(5).standard_normal((5, 3)).astype(np.float32)


def folder_of(tmp_path, vectors, metadata):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "vectors.tsv").write_bytes(vectors)
    (tmp_path / "x" / "metadata.tsv").write_bytes(metadata)
    return tmp_path / "x"


def test_a_header_only_where_there_are_two_columns(tmp_path):
    WordVectors(WORDS, MATRIX).save(tmp_path / "plain", "projector")
    assert (tmp_path / "plain" / "metadata.tsv").read_text() == "the\nnew york\n👩‍💻\n\nword\n"
    WordVectors(WORDS, MATRIX, counts=np.arange(5)).save(tmp_path / "counted", "projector")
    metadata = (tmp_path / "counted" / "metadata.tsv").read_text()
    assert metadata == "word\tcount\nthe\t0\nnew york\t1\n👩‍💻\t2\n\t3\nword\t4\n"
    numbers = np.loadtxt(tmp_path / "counted" / "vectors.tsv", delimiter="\t", dtype=np.float32)
    np.testing.assert_array_equal(numbers, MATRIX)


def test_we_read_what_gensims_script_writes(tmp_path):
    keyed = KeyedVectors(3)
    keyed.add_vectors(["the", "of"], MATRIX[:2])
    keyed.save_word2vec_format(tmp_path / "x.txt", binary=False)
    (tmp_path / "out").mkdir()
    word2vec2tensor(str(tmp_path / "x.txt"), str(tmp_path / "out" / "x"), binary=False)
    again = formats.read(tmp_path / "out")
    assert again.words == ("the", "of")
    np.testing.assert_allclose(again.matrix, MATRIX[:2], rtol=1e-6)


def test_other_columns_and_line_ends(tmp_path):
    path = folder_of(tmp_path, b"1\t2\r\n3\t4\r\n", b"rank\tword\tcount\r\n1\ta\t7\r\n2\tb\t8\r\n")
    vectors = formats.read(path)
    assert vectors.words == ("a", "b")
    assert vectors.counts.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("vectors", "metadata", "message"),
    [
        (b"1\t2\n3\n", b"a\nb\n", r"vectors\.tsv:2: 1 numbers, expected 2"),
        (b"1\t2\n3\tx\n", b"a\nb\n", r"vectors\.tsv:2: 'x' is not a number"),
        (b"1\t2\n3\tnan\n", b"a\nb\n", "finite"),
        (b"1\t2\n\n3\t4\n", b"a\nb\n", r"vectors\.tsv:2: 1 numbers, expected 2"),
        (b"1\t2\n3\t4\n", b"a\n", r"metadata\.tsv has 1 words, expected 2"),
        (b"1\t2\n3\t4\n", b"a\nb\nc\nd\n", r"metadata\.tsv has 4 words, expected 2"),
        (b"1\t2\n3\t4\n", b"a\tb\nc\n", r"metadata\.tsv:1: 2 columns, expected 1"),
        (b"1\t2\n3\t4\n", b"word\tcount\na\t1\nb\t-1\n", "'count' has what is not a whole number"),
        (b"1\t2\n3\t4\n", b"a\n\xff\n", "not UTF-8"),
        (b"1\t2\n3\t4\n", b"a\na\n", "the word 'a' is there twice"),
        (b"", b"", "empty"),
    ],
)
def test_damage(tmp_path, vectors, metadata, message):
    with pytest.raises(FormatError, match=message):
        formats.read(folder_of(tmp_path, vectors, metadata))
