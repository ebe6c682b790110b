from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordstill.errors import DataError
from wordstill.evaluation.data.similarity_sets import PairReader, WordPairs, read_own_pairs

WORDS = st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=8).filter(
    lambda word: word != "#" and not any(mark in word for mark in ',"')
)
ROWS = st.lists(st.tuples(WORDS, WORDS, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=6)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows_of(pairs: WordPairs) -> list[tuple[str, str, float]]:
    return list(zip(pairs.first, pairs.second, pairs.gold.tolist()))


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "pairs.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "cat\tdog\t7.5\nNew\tYork\t1\n",
        "cat\tdog\t7.5\r\nNew\tYork\t1\r\n",
        "cat,dog,7.5\nNew,York,1",
        "cat, dog, 7.5\nNew, York, 1",
        '"cat","dog",7.5\nNew,York,1',
        "cat dog 7.5\n  New   York 1\n",
        "word1\tword2\tscore\ncat\tdog\t7.5\nNew\tYork\t1\n",
        "Word 1,Word 2,Human (mean)\ncat,dog,7.5\nNew,York,1\n",
        "word 1 word 2 human mean\ncat dog 7.5\nNew York 1\n",
        "# a remark\n#\n\nword1 word2 score\n\ncat dog 7.5\n# another\nNew York 1\n\n",
        b"\xef\xbb\xbfcat\tdog\t7.5\nNew\tYork\t1\n",
    ],
)
def test_own_file_in_every_tolerated_layout(tmp_path, content):
    assert rows_of(read_own_pairs(written(tmp_path, content))) == [("cat", "dog", 7.5), ("New", "York", 1.0)]


def test_words_may_hold_what_does_not_separate(tmp_path):
    assert rows_of(read_own_pairs(written(tmp_path, "New York\tcity, big\t3\n#metoo\ta\u2028b\t-1e1\n"))) == [
        ("New York", "city, big", 3.0),
        ("#metoo", "a\u2028b", -10.0),
    ]


def test_repeated_pairs_are_kept(tmp_path):
    assert rows_of(read_own_pairs(written(tmp_path, "a b 1\na b 2\na a 3\n"))) == [
        ("a", "b", 1.0),
        ("a", "b", 2.0),
        ("a", "a", 3.0),
    ]


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("a\tb\t1\nc\td\n", 2, "2 field"),
        ("a\tb\t1\nc d 2\n", 2, "separated by tabs"),
        ("a b 1\nc d e 2\n", 2, "4 field"),
        ("a b\nc d 1\n", 1, "2 field"),
        ("a b 1\n\nc d high\n", 3, "'high'"),
        ("h1 h2 h3\nh4 h5 h6\n", 2, "'h6'"),
        ("a b nan\n", 1, "'nan'"),
        ("a b 1\na b inf\n", 2, "'inf'"),
        ("a\tb\t1\n\tb\t2\n", 2, "empty"),
        ("a,b,1\nc,d\re,2\n", 2, "comma-separated"),
        (b"a b 1\nc \xff 2\n", 2, "UTF-8"),
        (b"\xef\xbb\xbfa b 1\n\xff\n", 2, "UTF-8"),
    ],
)
def test_a_broken_line_is_named(tmp_path, content, line, says):
    path = written(tmp_path, content)
    with pytest.raises(DataError) as caught:
        read_own_pairs(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n\n", "# only a remark\n", "word1 word2 score\n"])
def test_a_file_without_pairs_is_an_error(tmp_path, content):
    with pytest.raises(DataError, match="holds no pairs"):
        read_own_pairs(written(tmp_path, content))


def test_a_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(DataError, match="Cannot read"):
        read_own_pairs(tmp_path / "absent.txt")
    with pytest.raises(DataError, match="Cannot read"):
        read_own_pairs(tmp_path)


@pytest.mark.parametrize("delimiter", ["\t", ",", " "])
@QUICK
@given(rows=ROWS)
def test_what_is_written_is_read(tmp_path, delimiter, rows):
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    assert rows_of(read_own_pairs(written(tmp_path, buffer.getvalue()))) == rows


@QUICK
@given(content=st.one_of(st.binary(max_size=60), st.text(alphabet='ab1 ,\t\r\n"#-.é', max_size=60).map(str.encode)))
def test_any_bytes_give_pairs_or_a_clear_error(tmp_path, content):
    path = written(tmp_path, content)
    readers = [read_own_pairs, PairReader(), PairReader(delimiter=","), PairReader(delimiter=None, lemma_suffix=True)]
    for reader in readers:
        try:
            pairs = reader(path)
        except DataError as error:
            assert str(path) in str(error)
        else:
            assert len(pairs) == len(pairs.second) == len(pairs.gold) > 0


@pytest.mark.parametrize(
    ("reader", "content"),
    [
        (PairReader(), "sun\tday\t4.5\r\nold\tnew\t1\t7\t10\n"),
        (PairReader(delimiter=None), "sun day 4.500000\nold new 1.000000\n"),
        (PairReader(delimiter=None, lemma_suffix=True), "sun-n day-n 4.5\nold-j new-j 1\n"),
        (PairReader(delimiter=",", header=1), "Word 1,Word 2,Human (mean)\r\nsun,day,4.5\r\nold,new,1\r\n"),
        (PairReader(columns=(0, 1, 3), header=1), "word1\tword2\tPOS\tS\tx\nsun\tday\tN\t4.5\t2\nold\tnew\tA\t1\t3\n"),
        (PairReader(columns=(0, 1, 3)), "sun\tday\tV\t4.5\tNONE\nold\tnew\tV\t1\n"),
        (PairReader(header=2), "# The set\n# Word 1\tWord 2\tHuman\nsun\tday\t4.5\nold\tnew\t1\n"),
    ],
)
def test_published_layouts(tmp_path, reader, content):
    assert rows_of(reader(written(tmp_path, content))) == [("sun", "day", 4.5), ("old", "new", 1.0)]


@pytest.mark.parametrize(
    ("reader", "content", "says"),
    [
        (PairReader(), "a\tb\t1\na\tb\n", "at least 3 fields"),
        (PairReader(columns=(0, 1, 3)), "a\tb\t1\t2\na\tb\tV\n", "at least 4 fields"),
        (PairReader(), "a\tb\t1\na\tb\tV\n", "'V'"),
        (PairReader(delimiter=None, lemma_suffix=True), "a-n b-n 1\na-n b 1\n", "'b'"),
    ],
)
def test_published_layouts_are_not_read_wrongly(tmp_path, reader, content, says):
    with pytest.raises(DataError, match=":2: ") as caught:
        reader(written(tmp_path, content))
    assert says in str(caught.value)
