from __future__ import annotations

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

from wordstill.formats import FORMATS
from wordstill.formats.floret import FloretTable
from wordstill.postprocess import Pipeline
from wordstill.vectors import WordVectors


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table of ours in it."""
    monkeypatch.chdir(tmp_path)
    matrix = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    words = ["the", "king", "queen", "river", "bank", "new york"]
    counts = np.array([9, 3, 5, 5, 1, 2])
    WordVectors(words, matrix, counts=counts, provenance={"seed": 1}).save("table")
    return tmp_path


def test_from_our_folder_and_back(cli, here):
    ended = cli("convert", "table", "table.txt.gz")
    assert ended.code == 0, ended.err
    assert "word2vec-text" in ended.out and "6 x 4" in ended.out
    assert "counts, provenance" in ended.out
    assert gzip.decompress((here / "table.txt.gz").read_bytes()).startswith(b"6 4\nthe ")
    assert cli("convert", "table.txt.gz", "back").code == 0
    before, after = WordVectors.load("table"), WordVectors.load("back")
    assert after.words == before.words
    np.testing.assert_array_equal(after.matrix, before.matrix)


@pytest.mark.parametrize("name", [name for name in FORMATS.built_in if name != "wordllama"])
def test_the_command_to_try_next_works_in_every_format(cli, here, name):
    table = WordVectors.load("table").select(range(5))
    made = table if name != "floret" else Pipeline.from_spec("subwords:kind=floret,buckets=50").fit_transform(table)
    made.save("words")
    suffix = next(iter(FORMATS[name].suffixes), "")
    ended = cli("convert", "words", f"out{suffix}", "--to", name)
    assert ended.code == 0, ended.err
    assert f"wordstill info out{suffix}" in ended.out
    shown = cli("info", f"out{suffix}")
    assert shown.code == 0, shown.err
    assert name in shown.out


def test_what_is_kept_is_not_said_to_be_lost(cli, here):
    ended = cli("convert", "table", "table.model2vec")
    assert "not kept" not in ended.out
    again = WordVectors.load("table.model2vec")
    assert again.counts.tolist() == [9, 3, 5, 5, 1, 2]
    assert again.provenance == {"seed": 1}


def test_what_becomes_of_sentence_weights_is_said(cli, here):
    assert "no sentence weights" in cli("convert", "table", "plain.model2vec").out
    assert cli("transform", "table", "--chain", "sentence-weights", "--out", "weighed").code == 0
    assert "lengths" not in cli("convert", "weighed", "weighed.model2vec").out
    assert "kept, but not recorded as sentence weights" in cli("convert", "weighed", "weighed.txt").out
    lengths = [np.linalg.norm(WordVectors.load(name).matrix, axis=1) for name in ("weighed", "weighed.txt")]
    np.testing.assert_array_equal(*lengths)


def test_the_formats_can_be_named(cli, here):
    assert cli("convert", "table", "x.dat", "--to", "glove-text").code == 0
    assert (here / "x.dat").read_bytes().startswith(b"the ")
    assert cli("convert", "x.dat", "y.dat", "--from", "glove-text", "--to", "word2vec-text").code == 0
    assert len(WordVectors.load("y.dat")) == 6


def test_top_keeps_the_most_frequent_in_the_order_of_the_table(cli, here):
    assert cli("convert", "table", "small", "--top", "3", "--dim", "2").code == 0
    small, table = WordVectors.load("small"), WordVectors.load("table")
    assert small.words == ("the", "queen", "river")
    assert small.counts.tolist() == [9, 5, 5]
    np.testing.assert_array_equal(small.matrix, table[small.words][:, :2])
    assert small.provenance == {"seed": 1, "trimmed": [{"from": [6, 4], "to": [3, 2]}]}


def test_info_tells_that_words_were_left_out(cli, here):
    cli("convert", "table", "less", "--top", "4", "--dim", "3")
    assert "6 words x 4 to 4 words x 3" in cli("info", "less").out


def test_a_list_of_words_may_begin_with_a_mark(cli, here):
    (here / "words.txt").write_text("river\nking\n", encoding="utf-8-sig")
    assert cli("convert", "table", "less", "--words", "words.txt").code == 0
    assert WordVectors.load("less").words == ("river", "king")


def test_top_without_counts_keeps_the_first(cli, here):
    cli("convert", "table", "table.txt")
    assert cli("convert", "table.txt", "small", "--top", "2").code == 0
    assert WordVectors.load("small").words == ("the", "king")


def test_more_than_there_are_is_all(cli, here):
    assert cli("convert", "table", "same", "--top", "100", "--dim", "4").code == 0
    assert WordVectors.load("same").provenance == {"seed": 1}


@pytest.mark.parametrize(("dtype", "stored", "error"), [("f16", "float16", 1e-3), ("i8", "float32", 2e-2)])
def test_smaller_numbers(cli, here, dtype, stored, error):
    assert cli("convert", "table", "small", "--dtype", dtype).code == 0
    small, table = WordVectors.load("small"), WordVectors.load("table")
    assert small.matrix.dtype == stored
    np.testing.assert_allclose(small.matrix, table.matrix, atol=error)
    assert cli("convert", "small", "large", "--dtype", "f32").code == 0
    assert WordVectors.load("large").matrix.dtype == np.float32


def test_words_from_sub_words(cli, here):
    rows = np.random.default_rng(1).standard_normal((20, 4)).astype(np.float32)
    subwords = FloretTable(rows, 2, 3, 1, 0)
    WordVectors([], np.empty((0, 4), np.float32), subwords=subwords).save("x.floret")
    (here / "words.txt").write_text("kings\n\nqueens\nkings\n")
    ended = cli("convert", "x.floret", "x.txt", "--words", "words.txt")
    assert ended.code == 0, ended.err
    assert "subwords" in ended.out
    made = WordVectors.load("x.txt")
    assert made.words == ("kings", "queens")
    np.testing.assert_allclose(made["queens"], subwords.vector("queens"), rtol=1e-6)


@pytest.mark.filterwarnings("default::UserWarning")
def test_repair_says_what_it_did(cli, here):
    (here / "bad.txt").write_text("5 2\na 1 2\nb 1 nan\na 3 4\nc 1\nd 5 6\n")
    strict = cli("convert", "bad.txt", "good")
    assert strict.code == 1 and "bad.txt:5: 1 numbers after the word, expected 2" in strict.err
    assert not (here / "good").exists()
    ended = cli("convert", "bad.txt", "good", "--repair")
    assert ended.code == 0
    assert ended.err.count("warning: Repaired, ") == 3, ended.err
    assert WordVectors.load("good").words == ("a", "d")


BAD = {
    "output exists": (("table", "taken"), 2, "taken exists already"),
    "unknown suffix": (("table", "x.pkl"), 2, "Unknown extension '.pkl'"),
    "unknown format": (("table", "x", "--to", "gensin"), 2, "Did you mean 'gensim'"),
    "unknown source format": (("table", "x", "--from", "glov"), 2, "Unknown format 'glov'"),
    "no room": (("table", "x.txt", "--dtype", "i8"), 2, "cannot store i8. Formats that can: wordstill"),
    "unknown type": (("table", "x", "--dtype", "f8"), 2, "Known: f16, f32, i8"),
    "too many numbers": (("table", "x", "--dim", "5"), 2, "dim must be at most 4, that of the table; got 5"),
    "missing words": (("table", "x", "--words", "words.txt"), 2, "2 of 2 words are not in the table, 'kings'"),
    "no word list": (("table", "x", "--words", "nowhere"), 1, "Cannot read nowhere"),
    "empty word list": (("table", "x", "--words", "empty"), 1, "empty is empty"),
    "no source": (("nowhere", "x"), 1, "nowhere"),
    "floret of words": (("table", "x.floret"), 2, "no floret rows"),
    "a word that has no place": (("table", "x.bin"), 2, "'new york' (row 5)"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), BAD.values(), ids=BAD)
def test_bad_input_leaves_nothing(cli, here, arguments, code, message):
    (here / "taken").mkdir()
    (here / "taken" / "notes.txt").write_text("mine")
    (here / "empty").write_text("")
    (here / "words.txt").write_text("kings\nqueens\n")
    before = sorted(here.iterdir())
    ended = cli("convert", *arguments)
    assert ended.code == code
    assert ended.err.startswith("error: ") and message in ended.err
    assert sorted(here.iterdir()) == before


def test_what_cannot_be_written_is_refused_before_reading(cli, here, monkeypatch):
    monkeypatch.setattr("wordstill.formats.read", lambda *_, **__: pytest.fail("it was read"))
    assert cli("convert", "table", "table").code == 2


def test_a_bar_is_shown_on_request(cli, here):
    cli("convert", "table", "table.txt")
    assert "table.txt" in cli("convert", "table.txt", "again", "--progress").err
    assert cli("convert", "table.txt", "more", "--no-progress").err == ""


def test_no_heavy_import(here):
    script = """
import sys
from wordstill.cli import app
app(["convert", "table", "table.txt"], standalone_mode=False)
heavy = {"torch", "scipy", "gensim", "pyarrow", "spacy"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("default")
def test_words_that_are_not_there_are_skipped_and_reported(cli, here):
    (here / "words.txt").write_text("king\nkings\n")
    ended = cli("convert", "table", "less", "--words", "words.txt")
    assert ended.code == 0
    assert "1 of 2 words are not in the table, 'kings' first" in ended.err
    assert WordVectors.load(here / "less").words == ("king",)


@pytest.fixture
def near(tmp_path):
    """A table with two pairs of near words."""
    matrix = np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0.1], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    table = WordVectors(["big", "large", "kafka", "rabbit,mq", "1984"], matrix)
    table.save(tmp_path / "near")
    return tmp_path / "near"


def test_synonyms_with_a_review(cli, near, tmp_path):
    out = tmp_path / "synonyms.txt"
    done = cli("convert", near, out, "--to", "synonyms")
    assert "Antonyms, such as hot and cold, are not filtered out" in done.err
    assert done.code == 0, done.err
    assert "2 rules from 2 pairs" in done.out and "1 word without a letter" in done.out
    assert [line for line in out.read_text().splitlines() if line[0] != "#"] == ["kafka, rabbit\\,mq", "big, large"]
    review = tmp_path / "synonyms.txt.review.tsv"
    review.write_text(review.read_text().replace("y\tbig", "n\tbig"))
    again = cli("convert", near, out, "--to", "synonyms", "--reviewed", review, "--overwrite")
    assert again.code == 0, again.err
    assert "big" not in out.read_text()
    assert "n\tbig\tlarge" in review.read_text()


def test_synonyms_with_lexicons(cli, near, tmp_path):
    (tmp_path / "synonyms.csv").write_text("big,great\nlarge,ample\n")
    (tmp_path / "antonyms.csv").write_text('kafka,"rabbit,mq"\n')
    lexicons = ("--lexicon", tmp_path / "synonyms.csv", "--antonyms", tmp_path / "antonyms.csv")
    done = cli("convert", near, tmp_path / "set.json", "--to", "synonyms", *lexicons)
    assert "Opposites" not in done.err
    assert done.code == 0, done.err
    assert "1 by relatives" in done.out and "1 by antonyms" in done.out
    assert json.loads((tmp_path / "set.json").read_text()) == {"synonyms_set": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("out.txt", "--threshold", "0.7"), "--threshold is for --to synonyms only"),
        (("out.txt", "--to", "synonyms", "--dtype", "f16"), "--dtype is for vectors"),
        (("out.txt", "--to", "synonyms", "--threshold", "2"), "threshold must be above 0 and at most 1"),
        (("near", "--to", "synonyms"), "exists already"),
    ],
)
def test_synonyms_refuse(cli, near, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = cli("convert", near, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not (tmp_path / "out.txt").exists()
