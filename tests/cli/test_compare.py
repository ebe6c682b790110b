from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import pytest

from wordstill import WordVectors

WORDS = [f"word{number}" for number in range(30)]


@pytest.fixture
def tables(tmp_path):
    generator = np.random.default_rng(0)
    first = WordVectors(WORDS, generator.standard_normal((30, 6)).astype(np.float32))
    second = WordVectors(WORDS[5:], generator.standard_normal((25, 4)).astype(np.float32))
    first.save(tmp_path / "a")
    second.save(tmp_path / "b")
    return tmp_path / "a", tmp_path / "b"


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"word{number}\tword{number + 5}\t{number}\n" for number in range(20)))
    return path


def test_side_by_side(cli, tables, pairs):
    done = cli("compare", *tables, "--set", pairs, "--word", "word7", "--topn", "3", "--sample", "10")
    assert done.code == 0, done.err
    assert "words in both   25" in done.out
    assert "of the 3 nearest of 10 frequent words" in done.out
    assert "p (Holm)" in done.out and "Protocol: default" in done.out
    lines = done.out.splitlines()
    shown = lines[lines.index("word7") + 1 :][:4]
    assert shown[0].split() == ["a", "b"]
    nearest = WordVectors.load(tables[0]).most_similar("word7", topn=3)
    assert [line.split()[0] for line in shown[1:]] == [word for word, _ in nearest]


def test_json(cli, tables, pairs, tmp_path):
    out = tmp_path / "compared.json"
    assert cli("compare", *tables, "--set", pairs, "--out", out).code == 0
    content = json.loads(out.read_text())
    assert content["tables"] == ["a", "b"]
    (test,) = content["tests"]
    assert (test["first"], test["second"], test["n"]) == ("b", "a", 15)
    assert len(content["neighbours"]["words"]) == 25
    assert cli("compare", *tables, "--set", pairs, "--out", out).code == 2
    assert cli("compare", *tables, "--set", pairs, "--out", out, "--overwrite").code == 0


def test_rules_can_be_changed(cli, tables, pairs, tmp_path):
    out = tmp_path / "compared.json"
    done = cli("compare", *tables, "--set", pairs, "--rule", "max_vocab=12", "--out", out)
    assert done.code == 0, done.err
    assert json.loads(out.read_text())["evaluation"]["protocol"]["max_vocab"] == 12
    wrong = cli("compare", *tables, "--set", pairs, "--rule", "max_words=12")
    assert wrong.code == 2 and "Unknown rule 'max_words'" in " ".join(wrong.err.split())


def test_without_data_sets(cli, tables, monkeypatch):
    monkeypatch.setattr(import_module("wordstill.evaluation.comparison"), "available", tuple)
    done = cli("compare", *tables)
    assert done.code == 0, done.err
    assert "No data set was found" in done.out


def test_one_table_twice(cli, tables):
    done = cli("compare", tables[0], tables[0])
    assert done.code == 2
    assert "was named twice" in done.err


def test_tables_without_common_words(cli, tables, tmp_path):
    WordVectors(["x", "y", "z"], np.ones((3, 2), np.float32)).save(tmp_path / "c")
    done = cli("compare", tables[0], tmp_path / "c")
    assert done.code == 1
    assert "share 0 of their 30 and 3 words" in done.err


def test_a_word_that_is_not_there(cli, tables, pairs):
    done = cli("compare", *tables, "--set", pairs, "--word", "word1", "--topn", "2")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[lines.index("word1") + 2].endswith("not in this table")
    nowhere = cli("compare", *tables, "--set", pairs, "--word", "word1", "--word", "nowhere")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "Neither table has these words: nowhere." in nowhere.err


def test_the_file_is_written_even_if_nobody_reads_the_table(start, tables, pairs, tmp_path):
    process = start("compare", *tables, "--set", pairs, "--out", tmp_path / "compared.json")
    process.stdout.close()
    assert process.wait() == 1
    assert json.loads((tmp_path / "compared.json").read_text())
