from __future__ import annotations

import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows
from wordstill.vectors.sentences import SENTENCES_AT_ONCE, SentenceConfig, SentenceEncoder

LINES = ["The king, the queen!", "", "A river in New York", "zzz", "BANK bank"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table in the working folder, beside a text."""
    monkeypatch.chdir(tmp_path)
    matrix = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    words = ["the", "king", "queen", "river", "bank", "new york"]
    vectors = WordVectors(words, matrix, counts=np.array([9, 3, 5, 5, 1, 2]))
    vectors.save("plain")
    vectors.replace(provenance={"lengths": "sentence"}).save("weighed")
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n")
    return vectors


def vectors_of(table, *settings):
    return SentenceEncoder(table, SentenceConfig(*settings)).fit(LINES).encode(LINES)


def test_the_weighting_follows_from_the_table(cli, table):
    ended = cli("encode", "plain", "text.txt", "--out", "sif.npy")
    assert ended.code == 0, ended.err
    np.testing.assert_array_equal(np.load("sif.npy"), vectors_of(table, "sif", 1e-3, 0))
    assert "5 x 4" in ended.out and "weighting    sif" in ended.out
    assert "72.7% of 11" in ended.out and "zero rows    2" in ended.out
    assert cli("encode", "weighed", "text.txt", "--out", "mean.npy").code == 0
    np.testing.assert_array_equal(np.load("mean.npy"), vectors_of(table, "mean"))


def test_settings(cli, table):
    options = ("--weighting", "sif", "--smoothing", "0.1", "--components", "1", "--unit")
    assert cli("encode", "weighed", "text.txt", *options, "--out", "x.npy").code == 0
    np.testing.assert_allclose(np.load("x.npy"), unit_rows(vectors_of(table, "sif", 0.1, 1)), atol=1e-6)


def test_parquet_has_the_text(cli, table):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    assert cli("encode", "weighed", "text.txt", "--out", "x.parquet").code == 0
    read = parquet.read_table("x.parquet")
    assert read["text"].to_pylist() == LINES
    np.testing.assert_array_equal(np.array(read["vector"].to_pylist(), np.float32), vectors_of(table, "mean"))


def test_compressed_files_and_the_standard_input(cli, table, tmp_path, monkeypatch):
    packed = gzip.compress((tmp_path / "text.txt").read_bytes())
    (tmp_path / "text.txt.gz").write_bytes(packed)
    assert cli("encode", "weighed", "text.txt.gz", "--out", "x.npy", "--progress").code == 0
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    assert cli("encode", "weighed", "-", "--out", "y.npy").code == 0
    np.testing.assert_array_equal(np.load("x.npy"), vectors_of(table, "mean"))
    np.testing.assert_array_equal(np.load("y.npy"), np.load("x.npy"))


def test_many_blocks_are_one_file(cli, table, tmp_path):
    times = SENTENCES_AT_ONCE // len(LINES) + 1
    (tmp_path / "long.txt").write_text(("\n".join(LINES) + "\n") * times)
    for name in ("x.npy", "x.parquet"):
        assert cli("encode", "weighed", "long.txt", "--out", name).code == 0
    np.testing.assert_array_equal(np.load("x.npy", mmap_mode="r"), np.tile(vectors_of(table, "mean"), (times, 1)))


def test_unknown_words_can_be_estimated(cli, table, tmp_path):
    ended = cli("encode", "weighed", "text.txt", "--out", "x.npy", "--unknown", "ngrams")
    assert ended.code == 0 and "72.7%" in ended.out
    (tmp_path / "near.txt").write_text("rivers\n")
    assert cli("encode", "weighed", "near.txt", "--out", "y.npy", "--unknown", "ngrams").code == 0
    np.testing.assert_allclose(np.load("y.npy")[0], table.with_backoff("ngrams")["rivers"], rtol=1e-6)


def test_the_tables_own_subwords_are_used_without_being_asked_for(cli, table, tmp_path):
    (tmp_path / "near.txt").write_text("rivers\n")
    assert cli("transform", "weighed", "--chain", "subwords:buckets=100", "--out", "subwords").code == 0
    ended = cli("encode", "subwords", "near.txt", "--out", "y.npy")
    assert ended.code == 0 and "100.0% of 1" in ended.out
    np.testing.assert_allclose(np.load("y.npy")[0], WordVectors.load("subwords")["rivers"], rtol=1e-6)


def test_a_text_of_other_words_is_warned_of(cli, table, tmp_path):
    (tmp_path / "other.txt").write_text("ein Fluss und the bank\n")
    ended = cli("encode", "weighed", "other.txt", "--out", "x.npy")
    assert ended.code == 0
    assert "warning: The table has only 40.0% of the words of the text." in ended.err


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (1, ("nowhere.txt", "--out", "x.npy"), "nowhere.txt does not exist"),
        (1, ("plain", "--out", "x.npy"), "plain is a folder"),
        (1, ("empty.txt", "--out", "x.npy"), "empty.txt has no lines"),
        (1, ("latin.txt", "--out", "x.parquet"), "latin.txt:2: not UTF-8"),
        (
            2,
            ("text.txt", "--out", "x.csv"),
            "Unknown extension '.csv' of x.csv. Sentence vectors go to .npy or .parquet",
        ),
        (2, ("text.txt", "--out", "x"), "Unknown extension '' of x"),
        (2, ("text.txt", "--out", "taken.npy"), "taken.npy exists already"),
        (2, ("text.txt", "--out", "folder.npy", "--overwrite"), "folder.npy is a folder"),
        (2, ("text.txt", "--out", "x.npy", "--weighting", "men"), "Did you mean 'mean'"),
        (2, ("text.txt", "--out", "x.npy", "--weighting", "mean", "--components", "1"), "belongs to --weighting sif"),
        (2, ("text.txt", "--out", "x.npy", "--smoothing", "0"), "smoothing must be above 0"),
        (2, ("-", "--out", "x.npy", "--components", "1"), "which does not work with a pipe"),
    ],
)
def test_bad_input(cli, table, tmp_path, code, arguments, message):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin.txt").write_bytes("gut\nschön\n".encode("latin-1"))
    (tmp_path / "taken.npy").write_text("")
    (tmp_path / "folder.npy").mkdir()
    before = sorted(tmp_path.rglob("*"))
    ended = cli("encode", "plain", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err and ended.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
