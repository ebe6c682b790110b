from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordstill.core.text_io import numbered_lines
from wordstill.errors import DataError
from wordstill.evaluation.data.analogy_sets import read_own_questions
from wordstill.evaluation.data.category_sets import CategoryReader, read_own_categories
from wordstill.evaluation.data.context_sets import read_cosimlex, read_entries, read_scws, read_usim, read_wic
from wordstill.evaluation.data.fields import filled_lines
from wordstill.evaluation.data.sentence_sets import read_own_sentences, read_paws

WORD = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8).filter(
    lambda text: not text.startswith((":", "#"))
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(WORD, WORD, WORD, WORD), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_any_questions_are_read_back(questions, end):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "q.txt"
        path.write_bytes((": one" + end + end.join(" ".join(words) for words in questions)).encode())
        assert list(read_own_questions(path).words) == questions


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
@pytest.mark.parametrize("reader", [read_own_questions, read_own_categories, read_own_sentences, read_entries])
def test_any_bytes_are_read_or_told(reader, content):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any.txt"
        path.write_bytes(content)
        try:
            assert len(reader(path)) > 0
        except DataError as error:
            assert "any.txt" in str(error)


def test_lines_keep_odd_characters_and_lose_their_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\u2028still one\r\n\ntwo".encode())
    assert list(numbered_lines(path)) == [(1, "one\u2028still one"), (2, ""), (3, "two")]
    assert [place for place, _ in filled_lines(path)] == [f"{path}:1", f"{path}:3"]


def test_gzipped_lines(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n"))
    assert [line for _, line in numbered_lines(path)] == ["one", "two"]
    path.write_bytes(gzip.compress(b"one\ntwo\n")[:-6])
    with pytest.raises(DataError, match="the gzip data are broken or cut short"):
        list(numbered_lines(path))


def test_latin_letters(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"caf\xe9\n")
    assert next(numbered_lines(path, "latin-1")) == (1, "café")
    with pytest.raises(DataError, match=r"a\.txt:1: not UTF-8"):
        list(numbered_lines(path))


def test_classes_of_a_published_layout(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text(",category,word\n0,a-x,cat\n1,a-x,\n2,b-y,dog\n")
    read = CategoryReader(",", word=2, label=1, split_label="coarse")(path)
    assert (read.words, read.labels, read.coarser) == (("cat", "dog"), ("a-x", "b-y"), {"coarse": ("x", "y")})
    with pytest.raises(DataError, match=r"c\.csv:2: expected at least 4 fields"):
        CategoryReader(",", word=3, label=1)(path)
    with pytest.raises(DataError, match="ending in '_N'"):
        CategoryReader(",", word=2, label=1, suffix="_N")(path)


def test_a_lexicon_joins_the_lines_of_a_word(tmp_path):
    path = tmp_path / "l.txt"
    path.write_text("cat feline\ndog\ncat kitty feline\n")
    assert read_entries(path) == {"cat": ("feline", "kitty"), "dog": ()}


def wic(folder, data, gold):
    for part in ("train", "dev", "test"):
        (folder / part).mkdir(exist_ok=True)
        (folder / part / f"{part}.data.txt").write_text(data)
        (folder / part / f"{part}.gold.txt").write_text(gold)
    return folder


def test_words_in_context(tmp_path):
    parts = read_wic(wic(tmp_path, "run\tV\t1-0\tI run .\trunning now\n", "T\n")).parts
    (pair,) = parts["dev"]
    assert (pair.first.word, pair.second.word, pair.gold) == ("run", "running", 1)
    usim = tmp_path / "usim.txt"
    usim.write_text("a bright boy\t1\t2.5\tbright.a 1\nso bright\t1\t2.5\tbright.a 2\n")
    (pair,) = read_usim(usim).parts["all"]
    assert (pair.first.word, pair.gold, pair.target) == ("bright", 2.5, "bright.a")
    scws = tmp_path / "scws.txt"
    fields = ["1", "bank", "n", "shore", "n", "the <b> bank </b> of", "a <b>shore</b>", "7.5", *"1234567890"]
    scws.write_text("\t".join(fields) + "\n")
    (pair,) = read_scws(scws).parts["all"]
    assert (pair.first.word, pair.second.word, pair.first.text) == ("bank", "shore", "the bank of")
    cosimlex = tmp_path / "c.csv"
    context = "<strong>dogs</strong> and a <strong>cat</strong>"
    row = ["cat", "dog", context, context, "1", "2", "0", "0", "0", "cat", "dogs", "cat", "dogs"]
    cosimlex.write_text("head\n" + "\t".join(row) + "\n")
    parts = read_cosimlex(cosimlex).parts
    assert (parts["context1"][0].first.word, parts["context2"][0].second.word) == ("cat", "dogs")
    assert [parts[name][0].gold for name in parts] == [1, 2]


@pytest.mark.parametrize(
    ("data", "gold", "says"),
    [
        ("run\tV\t1-9\tI run .\trunning now\n", "T\n", "no word '9' among the 2"),
        ("run\tV\t1-0\tI run .\n", "T\n", "expected five fields"),
        ("run\tV\t1-0\tI run .\trunning now\n", "X\n", "expected the answer T or F"),
        ("run\tV\t1-0\tI run .\trunning now\n", "T\nF\n", "1 pairs but 2 answers"),
    ],
)
def test_bad_words_in_context(tmp_path, data, gold, says):
    with pytest.raises(DataError, match=says):
        read_wic(wic(tmp_path, data, gold))


def test_bad_labels_of_paraphrases(tmp_path):
    for part in ("dev", "test"):
        (tmp_path / f"{part}.tsv").write_text("id\tsentence1\tsentence2\tlabel\n")
    with pytest.raises(DataError, match=r"dev\.tsv:1: expected the label 0 or 1"):
        read_paws(tmp_path)
