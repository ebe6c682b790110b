from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import FormatError, UsageError
from wordstill.teacher.isolated_words import TeacherBackoff
from wordstill.vectors import WordVectors

ALPHABET = "abcdefgh"
WIDTH, DIM = len(ALPHABET), 5
TURN = np.random.default_rng(1).standard_normal((WIDTH, DIM))


class Reader:
    """A teacher whose state of a word is its letters' counts; remembers what it read."""

    def __init__(self):
        self.read = []

    def __call__(self, words):
        self.read += words
        return np.array([[word.count(letter) for letter in ALPHABET] for word in words], dtype=np.float64)


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(2)
    words = sorted({"".join(generator.choice(list(ALPHABET), 6)) for _ in range(400)})
    return WordVectors(words, (Reader()(words) @ TURN + 3).astype(np.float32))


def test_the_teachers_states_are_brought_into_the_tables_space(table):
    backed = table.with_backoff(TeacherBackoff(table, Reader()))
    truth = (Reader()(["aabbhha"]) @ TURN + 3)[0]
    assert table.similarity(backed["aabbhha"], truth.astype(np.float32)) > 0.999
    np.testing.assert_allclose(backed["aabbhha"], truth, atol=0.4)


def test_each_word_is_read_once(table):
    reader = Reader()
    backed = table.with_backoff(TeacherBackoff(table, reader, fitted_on=50))
    first = backed[["aaaa", "bbbb", "aaaa"]]
    assert reader.read == [*table.words[:50], "aaaa", "bbbb"]
    np.testing.assert_array_equal(backed[["bbbb", "aaaa"]], first[[1, 0]])
    assert len(reader.read) == 52


def test_what_it_cannot_read_stays_unknown(table):
    backed = table.with_backoff(TeacherBackoff(table, Reader()))
    assert backed.find(["xyz"]) == [None]


def test_words_are_kept_for_the_next_time(table, tmp_path):
    first = TeacherBackoff(table, Reader(), teacher="letters", cache=tmp_path / "words")
    given = first.find(["aaaa", "xyz"])
    again = Reader()
    second = TeacherBackoff(table, again, teacher="letters", cache=tmp_path / "words")
    kept = second.find(["aaaa", "xyz"])
    np.testing.assert_array_equal(kept[0], given[0])
    assert kept[1] is None
    assert again.read == []
    second.find(["cccc"])
    assert again.read == ["cccc"]


def test_a_damaged_cache_is_told_or_thrown_away(table, tmp_path):
    """D15: it gave wrong vectors, or an error for ever."""
    path = tmp_path / "words"
    given = TeacherBackoff(table, Reader(), teacher="letters", cache=path).find(["aaaa"])
    whole = path.read_bytes()
    for place in (0, 9, len(whole) // 2, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="words"):
            TeacherBackoff(table, Reader(), teacher="letters", cache=path)
    with pytest.warns(UserWarning, match="are read again.*is damaged"):
        backoff = TeacherBackoff(table, Reader(), teacher="letters", cache=path, disposable=True)
    np.testing.assert_array_equal(backoff.find(["aaaa"])[0], given[0])
    TeacherBackoff(table, Reader(), teacher="letters", cache=path)


def test_words_of_another_teacher_or_table_are_not_used(table, tmp_path):
    TeacherBackoff(table, Reader(), teacher="letters", cache=tmp_path / "words").find(["aaaa"])
    other = WordVectors(table.words, table.matrix * 2)
    for changed, teacher in ((table, "others"), (other, "letters")):
        reader = Reader()
        TeacherBackoff(changed, reader, teacher=teacher, cache=tmp_path / "words").find(["aaaa"])
        assert "aaaa" in reader.read


def test_bad_input(table, tmp_path):
    with pytest.raises(UsageError, match="at least one word to fit on"):
        TeacherBackoff(table, Reader(), fitted_on=0)
    with pytest.raises(UsageError, match=r"shape \(3,\) for 400 words|shape \(3,\) for \d+ words"):
        TeacherBackoff(table, lambda words: np.ones(3)).find(["aaaa"])
    with pytest.raises(UsageError, match="can read none"):
        TeacherBackoff(table, lambda words: np.zeros((len(words), 2))).find(["aaaa"])
    (tmp_path / "words").write_bytes(b"no such thing, but long enough for a header")
    with pytest.raises(FormatError):
        TeacherBackoff(table, Reader(), cache=tmp_path / "words")
