"""``wordstill senses``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
import re
import sys

import pytest

from wordstill import WordVectors
from wordstill.cli import main
from wordstill.core.resume import CHECKPOINT


@pytest.fixture(scope="module")
def made(tmp_path_factory, short_text, saved_teacher):
    """A prepared text with two groups, and a table with occurrences of it."""
    folder = tmp_path_factory.mktemp("senses")
    lines = short_text.read_text().splitlines()
    records = [json.dumps({"text": line, "year": 1900 + number % 2}) for number, line in enumerate(lines)]
    (folder / "text.jsonl").write_text("\n".join(records))
    before = sys.argv
    for arguments in (
        ("prepare", folder / "text.jsonl", "--group", "year", "--out", folder / "store"),
        ("distill", folder / "store", "--teacher", saved_teacher, "--occurrences", 25, "--out", folder / "vectors"),
    ):
        sys.argv = ["wordstill", *map(str, arguments), "--no-progress"]
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
    sys.argv = before
    return folder


def test_words_with_sentences_and_groups(cli, made):
    done = cli("senses", made / "vectors", "river", "old", "--text", made / "store", "--strength", 0.4)
    assert done.code == 0, done.err
    assert "river  25 uses of" in done.out and "prediction strength" in done.out
    assert "river|" in done.out and "[river]" in done.out
    assert "  1900  " in done.out and "uses\n" in done.out


def test_json(cli, made):
    done = cli("senses", made / "vectors", "river", "--text", made / "store", "--strength", 0.4, "--json")
    (found,) = json.loads(done.out)
    assert found["kept"] == 25 and found["enough"] and len(found["senses"]) > 1
    assert sum(sense["share"] for sense in found["senses"]) == pytest.approx(1, abs=1e-3)
    assert set(found["groups"]) == {"1900", "1901"}
    assert sum(map(sum, found["groups"].values())) == 25
    for sense in found["senses"]:
        (line,) = sense["sentences"]
        assert line["text"][line["start"] : line["end"]].lower() == "river"


def test_the_clearest_words(cli, made):
    done = cli("senses", made / "vectors", "--strength", 0.4, "--topn", 2, "--no-progress")
    assert done.code == 0, done.err
    assert done.out.count("prediction strength") == 2 and "Add --text STORE" in done.err
    none = cli("senses", made / "vectors", "--most", 1, "--no-progress")
    assert none.out.startswith("No word has more than one sense")


def test_a_table_with_senses(cli, made, tmp_path):
    done = cli("senses", made / "vectors", "--strength", 0.4, "--out", tmp_path / "senses", "--no-progress")
    assert done.code == 0, done.err
    table = WordVectors.load(tmp_path / "senses")
    assert f"{table.provenance['senses']['rows']:,} of them senses" in done.out
    assert any(word.startswith("river|") for word in table.words)
    again = cli("senses", made / "vectors", "--out", tmp_path / "senses")
    assert again.code == 2 and "exists" in again.err


def test_a_word_in_a_sentence(cli, made):
    sentence = "The old house by the river stands."
    done = cli("senses", made / "vectors", "--in", sentence, "--word", "river", "--strength", 0.4, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["word"] == "river" and found["sense"] in found["senses"]
    shown = cli("senses", made / "vectors", "--in", sentence, "--word", "21:26", "--strength", 1)
    assert shown.out == "  1.0000  river\n" and "1 sense, prediction strength" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rivr"], "No occurrence of 'rivr' was kept; .* Near it in spelling: 'river'"),
        (["--in", "The river."], "--in and --word go together"),
        (["river", "--in", "The river.", "--word", "river"], "leave out WORD, --out and --text"),
        (["--in", "The river.", "--word", "house"], "There is no word 'house'"),
    ],
)
def test_bad_input(cli, made, arguments, message):
    done = cli("senses", made / "vectors", *arguments)
    assert done.code == 2
    assert re.search(message, done.err.replace("\n", " ")), done.err


def test_a_table_without_occurrences(cli, made, tmp_path):
    table = WordVectors.load(made / "vectors")
    table.occurrences = None
    table.save(tmp_path / "plain")
    done = cli("senses", tmp_path / "plain", "river")
    assert done.code == 2 and "Distill it again with --occurrences 50" in done.err
    words = tmp_path / "words.txt"
    words.write_text("\n")
    for arguments, message in (
        (["--occurrences-of", words], "Add --occurrences N"),
        (["--occurrences-of", words, "--occurrences", 5], "is empty"),
    ):
        done = cli("distill", made / "store", "--out", tmp_path / "out", *arguments)
        assert done.code > 0 and message in done.err
    assert not (tmp_path / "out.partial" / CHECKPOINT).exists()


def test_too_few_uses_make_no_claim(cli, made):
    done = cli("senses", made / "vectors", "river", "--least", 7)
    assert "too few to look for senses (28 needed)" in done.out


def test_words_without_occurrences_are_left_out(cli, made, tmp_path):
    done = cli("senses", made / "vectors", "rivr", "river")
    assert done.code == 0 and done.out.startswith("river  25 uses")
    assert "Skipped, because no occurrences of them were kept: rivr." in done.err
    done = cli("senses", made / "vectors", "rivr", "river", "--strength", 0.4, "--out", tmp_path / "senses")
    assert done.code == 0 and "Skipped" in done.err and "of them senses" in done.out
