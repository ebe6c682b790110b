"""The commands that only look: similar, analogy, info."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from wordstill import WordVectors
from wordstill.cli.open_tables import tables_inside
from wordstill.corpus import Corpus


@pytest.fixture
def table(vectors):
    return WordVectors.load(vectors / "ase")


def shown_words(out: str) -> list[str]:
    return [line.split()[-1] for line in out.splitlines() if line]


def test_similar(cli, vectors, table):
    done = cli("similar", vectors / "ase", "babar", "-n", "3")
    assert shown_words(done.out) == [word for word, _ in table.most_similar("babar", topn=3)]


def test_similar_of_several_words(cli, vectors, table):
    done = cli("similar", vectors / "ase", "babar", "bador", "--topn", "2")
    first, second = table.neighbors(["babar", "bador"], 2)
    assert shown_words(done.out) == ["babar", *(w for w, _ in first), "bador", *(w for w, _ in second)]


def test_similar_reads_other_formats(cli, table, tmp_path):
    table.save(tmp_path / "vectors.vec")
    assert cli("similar", tmp_path / "vectors.vec", "babar").code == 0


def test_analogy(cli, vectors, table):
    done = cli("analogy", vectors / "ase", "babar", "bador", "bafir", "--topn", "4")
    assert shown_words(done.out) == [word for word, _ in table.analogy("babar", "bador", "bafir", 4)]


def test_info_of_vectors(cli, vectors, table, teacher, store):
    out = cli("info", vectors / "ase", "--verify").out
    facts = dict(line.split(maxsplit=1) for line in out.splitlines()[1:-1])
    assert facts["words"] == f"{len(table):,}"
    assert facts["dimensions"] == str(table.dim)
    assert facts["method"].startswith("ase.v1, ")
    assert facts["lengths"] == "weights of the words in a sentence"
    assert facts["teacher"].startswith(str(teacher))
    assert Corpus.open(store).hash[:12] in facts["corpus"]
    assert len(facts["sha256"]) == len("0123456789ab...")
    assert "all files are as recorded" in out


def test_info_names_shards_that_were_skipped(cli, table, tmp_path):
    table = WordVectors(table.words, table.matrix, provenance={"left_out_shards": [2, 5]})
    table.save(tmp_path / "skipped")
    assert re.search(
        r"skipped +2 shards that failed \(2, 5\), with --skip-bad\n", cli("info", tmp_path / "skipped").out
    )


def test_info_of_a_folder_of_tables(cli, vectors):
    out = cli("info", vectors).out
    assert out.count(": word vectors\n") == 2


def test_tables_of_a_folder_are_shown_by_number(cli, table, tmp_path):
    for layer in (10, 9, 2):
        table.save(tmp_path / f"ase-layer{layer}")
    shown = [line for line in cli("info", tmp_path).out.splitlines() if line.endswith(": word vectors")]
    assert [line.partition("layer")[2].partition(":")[0] for line in shown] == ["2", "9", "10"]


def test_info_of_a_plain_file(cli, table, tmp_path):
    table.save(tmp_path / "vectors.vec")
    out = cli("info", tmp_path / "vectors.vec", "--verify").out
    assert "records no checksums" in out


def test_info_of_a_store(cli, store, text):
    corpus = Corpus.open(store)
    out = cli("info", store, "--verify").out
    facts = [line.split(maxsplit=1) for line in out.splitlines()[1:-1]]
    assert ["words", f"and marks      {corpus.n_words:,}"] in facts
    assert ["hash", f"{corpus.hash[:12]}..."] in facts
    assert str(text) in out


def test_changed_words_are_an_error_and_changed_numbers_when_asked(cli, vectors, tmp_path):
    copy = tmp_path / "ase"
    shutil.copytree(vectors / "ase", copy)
    words = (copy / "words.txt").read_text()
    (copy / "words.txt").write_text(words.replace("babar", "rabab", 1))
    damaged = cli("info", copy)
    assert damaged.code == 1
    assert "words.txt" in damaged.err
    (copy / "words.txt").write_text(words)
    numbers = bytearray((copy / "vectors.safetensors").read_bytes())
    numbers[-5] ^= 1
    (copy / "vectors.safetensors").write_bytes(numbers)
    assert cli("info", copy).code == 0
    damaged = cli("info", copy, "--verify")
    assert damaged.code == 1
    assert "vectors.safetensors" in damaged.err


def test_info_as_json(cli, vectors, store):
    found = json.loads(cli("info", vectors, "--json").out)
    assert set(found) == {str(table) for table in tables_inside(vectors)}
    ase = found[str(vectors / "ase")]
    assert (ase["format"], type(ase["words"])) == ("wordstill", int)
    assert len(ase["sha256"]) == 64 and ase["provenance"]["teacher"]
    kept = json.loads(cli("info", store, "--json").out)[str(store)]
    assert (kept["counts"]["paragraphs"], kept["hash"]) == (len(Corpus.open(store)), Corpus.open(store).hash)
