from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordstill.errors import DataError
from wordstill.evaluation.data.examples import divide_by_class
from wordstill.evaluation.data.text_sets import FileOfEachClass, LabelFirst, read_own_labeled
from wordstill.evaluation.trained.classification import ClassificationTask

SIZES = {
    "mr": ((10662,), {"negative": 5331, "positive": 5331}),
    "cr": ((3771,), {"negative": 1366, "positive": 2405}),
    "subj": ((10000,), {"objective": 5000, "subjective": 5000}),
    "mpqa": ((10603,), {"negative": 7292, "positive": 3311}),
    "trec": ((5452, 500), {"ABBR": 86, "DESC": 1162, "ENTY": 1250, "HUM": 1223, "LOC": 835, "NUM": 896}),
    "sst5": ((8544, 1101, 2210), {"0": 1092, "1": 2218, "2": 1624, "3": 2322, "4": 1288}),
    "sst2": ((6920, 872, 1821), {"0": 3310, "1": 3610}),
}


@pytest.mark.parametrize("name", SIZES)
def test_published_sets(data_folder, name):
    published = ClassificationTask(name).dataset.content
    sizes, classes = SIZES[name]
    parts = [part for part in (published.train, published.dev, published.test) if part is not None]
    assert tuple(map(len, parts)) == sizes
    assert Counter(published.train.targets) == classes
    assert all(sentence for part in parts for sentence in part.sentences)
    assert [set(part.targets) for part in divide_by_class(published, 0)] == [set(classes)] * 3


def test_a_file_for_each_class(tmp_path):
    (tmp_path / "a").write_text("one two\n\n  \nthree\r\n")
    (tmp_path / "b").write_text("four \x85 five")
    published = FileOfEachClass({"A": "a", "B": "b"})(tmp_path)
    assert published.train.sentences == (("one", "two"), ("three",), ("four", "five"))
    assert published.train.targets == ("A", "A", "B")


def test_coarse_labels_in_latin_1(tmp_path):
    (tmp_path / "train").write_bytes("LOC:city Where is Orléans ?\nNUM:date When ?\n".encode("latin-1"))
    published = LabelFirst("train", encoding="latin-1", coarse=True)(tmp_path)
    assert published.train.sentences[0] == ("Where", "is", "Orléans", "?")
    assert published.train.targets == ("LOC", "NUM")
    assert published.test is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("LOC:city Where ?\nNUM:date\n", r"train:2: expected 'label sentence' but got 'NUM:date'"),
        ("LOC Where ?\n", r"train:1: expected a label as 'LOC:city' but got 'LOC'"),
        ("\n \n", r"train holds no sentences"),
    ],
)
def test_bad_lines_are_named(tmp_path, content, message):
    (tmp_path / "train").write_text(content)
    with pytest.raises(DataError, match=message):
        LabelFirst("train", coarse=True)(tmp_path)


def test_an_own_file(tmp_path):
    path = tmp_path / "own.tsv"
    path.write_text("very good\ta b  c\nbad d e\n")
    published = read_own_labeled(path)
    assert published.train.targets == ("very good", "bad")
    assert published.train.sentences == (("a", "b", "c"), ("d", "e"))


WORDS = st.lists(st.from_regex(r"[^\s\0]{1,5}", fullmatch=True), min_size=1, max_size=5)
LABELS = st.from_regex(r"[a-z0-9:]{1,8}", fullmatch=True)


@settings(max_examples=40)
@given(st.lists(st.tuples(LABELS, WORDS), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("own") / "own.txt"
    path.write_text("".join(f"{label}\t{' '.join(words)}\n" for label, words in rows), encoding="utf-8")
    read = read_own_labeled(path).train
    assert read.targets == tuple(label for label, _ in rows)
    assert [list(sentence) for sentence in read.sentences] == [words for _, words in rows]
