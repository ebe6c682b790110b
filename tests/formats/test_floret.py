from __future__ import annotations

import numpy as np
import pytest

from wordstill import formats
from wordstill.errors import FormatError
from wordstill.formats.floret import FloretTable, murmur3_128
from wordstill.vectors import WordVectors

ROWS = np.random.default_rng(5).standard_normal((20, 4)).astype(np.float32)
WORDS = ["queen", "queens", "x", "münchen", "日本", "🙂", "a word", "averyverylongwordindeedforsixteenbytes"]


@pytest.fixture
def table():
    return FloretTable(ROWS, 2, 4, 2, 2166136261)


@pytest.fixture
def path(table, tmp_path):
    WordVectors([], np.empty((0, 4), np.float32), subwords=table).save(tmp_path / "x.floret")
    return tmp_path / "x.floret"


def test_the_hash_is_the_known_one():
    # The values of the author's test of his function.
    assert murmur3_128(b"", 0) == (0, 0)
    assert murmur3_128(b"The quick brown fox jumps over the lazy dog", 0) == (0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347)


def test_spacy_reads_what_we_write_and_gives_the_same_vectors(path, table):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from spacy.training.initialize import convert_vectors

    nlp = spacy.blank("en")
    convert_vectors(nlp, path, truncate=-1, prune=-1, mode="floret")
    for word in WORDS:
        np.testing.assert_allclose(nlp.vocab[word].vector, table.vector(word), rtol=1e-5, atol=1e-7)


def test_the_settings_come_back(path, table):
    vectors = formats.read(path)
    assert (len(vectors), vectors.dim) == (0, 4)
    again = vectors.subwords
    np.testing.assert_array_equal(again.rows, ROWS)
    assert (again.minn, again.maxn, again.hash_count, again.hash_seed, again.begin, again.end) == (
        2, 4, 2, 2166136261, "<", ">",
    )  # fmt: skip
    assert not again.vector("").any()


def test_what_floret_writes_has_blanks_at_the_ends(tmp_path):
    (tmp_path / "x.floret").write_text("2 3 2 3 1 7 < >\n0 1 2 3 \n1 4 5 6 \n")
    np.testing.assert_array_equal(formats.read(tmp_path / "x.floret").subwords.rows, [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 3 2 3 1 7 < >\n0 1 2 3\n1 4 5 6\n", "the header says 3 rows, the file has 2"),
        ("1 3 2 3 1 7 < >\n0 1 2 3\n1 4 5 6\n", "the header says 1 rows, the file has more"),
        ("2 3 2 3 1 7 < >\n0 1 2 3\n2 4 5 6\n", ":3: the row is named '2', expected '1'"),
        ("2 3 2 3 1 7 < >\n0 1 2 3\n1 4 5\n", ":3: 2 numbers after the word, expected 3"),
        ("2 3 2 3 1 7 < >\n0 1 2 nan\n1 4 5 6\n", "number 3 is nan"),
    ],
)
def test_damage(tmp_path, content, message):
    (tmp_path / "x.floret").write_text(content)
    with pytest.raises(FormatError, match=message):
        formats.read(tmp_path / "x.floret")


@pytest.mark.parametrize("first", ["2 3 2 3 9 7 < >", "2 3 2 3 1 7 <", "0 3 2 3 1 7 < >", "2 3"])
def test_another_first_line_is_not_florets(tmp_path, first):
    (tmp_path / "x.floret").write_text(f"{first}\n0 1 2 3\n1 4 5 6\n")
    with pytest.raises(FormatError, match="not floret's vectors"):
        formats.read(tmp_path / "x.floret", "floret")
