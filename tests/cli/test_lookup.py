"""Words that a table does not have, and the rules for analogies, on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wordstill import WordVectors

WORDS = ["queen", "river", "rivers", "Paris", "boat", "king"]


@pytest.fixture
def place(tmp_path):
    matrix = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    WordVectors(WORDS, matrix).save(tmp_path / "table")
    return tmp_path / "table"


def shown_words(out: str) -> list[str]:
    return [line.split()[-1] for line in out.splitlines() if line]


def test_policies_in_order(cli, place):
    done = cli("similar", place, "QUEEN", "quenn", "-u", "case", "--unknown", "spelling", "-n", "2")
    expected = [word for word, _ in WordVectors.load(place).most_similar("queen", topn=2)]
    assert shown_words(done.out) == ["QUEEN", *expected, "quenn", *expected]
    assert "'QUEEN' is not in the table; using 'queen' instead." in done.err
    assert "'quenn' is not in the table; using 'queen' instead." in done.err


def test_an_estimated_word(cli, place):
    done = cli("similar", place, "riverside", "-u", "ngrams", "-n", "2")
    assert set(shown_words(done.out)) == {"river", "rivers"}
    assert "its vector is estimated" in done.err


def test_the_subwords_of_a_table_are_used_without_being_asked_for(cli, place, tmp_path):
    assert cli("transform", place, "--chain", "subwords", "--out", tmp_path / "open").code == 0
    done = cli("similar", tmp_path / "open", "riverboat", "-n", "2")
    expected = WordVectors.load(tmp_path / "open").most_similar("riverboat", topn=2)
    assert shown_words(done.out) == [word for word, _ in expected], done.err
    assert "'riverboat' is not in the table; its vector is estimated." in done.err


def test_a_teacher_reads_a_word_once(cli, vectors, teacher, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = cli("similar", vectors / "decontextual", "zuzur", "-u", "teacher", "-n", "3")
    assert first.code == 0, first.err
    kept = list((tmp_path / "wordstill" / "words").iterdir())
    assert len(kept) == 1

    def refuse(*_):
        raise AssertionError("the teacher was asked again")

    monkeypatch.setattr("wordstill.teacher.isolated_words.WordsAlone.__call__", refuse)
    again = cli("similar", vectors / "decontextual", "zuzur", "-u", "teacher", "-n", "3")
    assert again.out == first.out


def test_without_a_policy_unknown_words_are_an_error(cli, place):
    done = cli("similar", place, "QUEEN")
    assert done.code == 2
    assert "'QUEEN' is not among the 6 words. Near it in spelling: 'queen'" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-u", "cases"), "Unknown policy for unknown words 'cases'. Did you mean 'case'"),
        (("-u", "subwords"), "such as a fastText .bin file"),
    ],
)
def test_policies_that_cannot_be_used(cli, place, arguments, message):
    done = cli("similar", place, "QUEEN", *arguments)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "rule"), [(("king", "queen", "boat"), "3cosmul"), (("king,boat", "queen,river", "Paris"), "3cosavg")]
)
def test_rules_for_analogies(cli, place, words, rule):
    done = cli("analogy", place, *words, "--rule", rule, "-n", "3")
    a, b, c = (word.split(",") if "," in word else word for word in words)
    expected = WordVectors.load(place).analogy(a, b, c, 3, rule)
    assert shown_words(done.out) == [word for word, _ in expected]


def test_analogies_back_off_too(cli, place):
    done = cli("analogy", place, "KING", "QUEEN", "boat", "-u", "case")
    expected = WordVectors.load(place).analogy("king", "queen", "boat")
    assert shown_words(done.out) == [word for word, _ in expected]


def test_an_unknown_rule(cli, place):
    done = cli("analogy", place, "king", "queen", "boat", "--rule", "3cosmin")
    assert done.code == 2
    assert "Unknown rule for analogies '3cosmin'" in done.err


def test_a_word_that_is_not_there_does_not_hide_the_others(cli, place):
    done = cli("similar", place, "xyzzy", "queen", "-n", "2")
    assert done.code == 0
    assert shown_words(done.out)[0] == "queen"
    assert "'xyzzy' is not among the 6 words" in done.err
    assert "--unknown teacher" in done.err
    alone = cli("similar", place, "xyzzy")
    assert (alone.code, alone.out) == (2, "")


def test_json(cli, place):
    found = json.loads(cli("similar", place, "queen", "king", "-n", "2", "--json").out)
    assert [entry["word"] for entry in found["queen"]] == [
        word for word, _ in WordVectors.load(place).most_similar("queen", topn=2)
    ]
    assert list(found) == ["queen", "king"]
    answers = json.loads(cli("analogy", place, "queen", "king", "river", "-n", "1", "--json").out)
    assert list(answers[0]) == ["word", "score"]


def test_tables_of_lower_case_words_are_asked_in_lower_case(cli, tmp_path):
    matrix = np.eye(3, dtype=np.float32)
    WordVectors(["film", "new york", "sun"], matrix, provenance={"vocabulary": {"key": "lower"}}).save(tmp_path / "t")
    done = cli("similar", tmp_path / "t", "Film", "New York", "-n", "1")
    assert done.code == 0
    assert "'Film' is not in the table; using 'film' instead." in done.err
    table = WordVectors.load(tmp_path / "t")
    assert table["FILM"].tolist() == [1, 0, 0]
    assert "FILM" not in table


def test_words_cannot_control_the_terminal(cli, tmp_path):
    """D18"""
    WordVectors(["king", "\x1b]0;PWN\x07"], np.ones((2, 3), np.float32)).save(tmp_path / "table")
    done = cli("similar", tmp_path / "table", "king")
    assert r"\x1b]0;PWN\x07" in done.out
    assert "\x1b" not in done.out


def test_a_table_does_not_choose_what_is_downloaded(cli, tmp_path, monkeypatch):
    """D19: a request to the Hub went out by the data of a file."""
    monkeypatch.setattr("wordstill.teacher.loading.hub_answers", lambda: pytest.fail("the Hub was asked"))
    provenance = {"teacher": {"name": "attacker/model"}}
    WordVectors(["king"], np.ones((1, 3), np.float32), provenance=provenance).save(tmp_path / "table")
    done = cli("similar", tmp_path / "table", "queen", "-u", "teacher")
    assert done.code == 2
    assert "names the model 'attacker/model', which is not on this machine" in done.err
    assert "name it with --teacher attacker/model" in done.err


@pytest.mark.parametrize(
    "provenance",
    [
        {"trimmed": 5},
        {"transforms": 5},
        {"cut_sentences": "x"},
        {"teacher": "\ud800"},
        {"method": {"a": {"b": []}}},
        {"cut_sentences": 3, "teacher": 5},
    ],
)
def test_information_about_strange_provenance(cli, place, provenance):
    """D20"""
    config = json.loads((place / "config.json").read_text())
    del config["checksum"]
    (place / "config.json").write_text(json.dumps({**config, "provenance": provenance, "sha256": {**config["sha256"]}}))
    assert cli("info", place).code == 0


def test_limits_are_raised_by_an_option(cli, place, tmp_path, monkeypatch):
    monkeypatch.setenv("WORDSTILL_LIMITS", "")
    WordVectors.load(place).save(tmp_path / "table.txt")
    assert "--limits dim=N" in cli("--limits", "dim=2", "info", tmp_path / "table.txt").err
    assert cli("--limits", "dim=1k", "info", tmp_path / "table.txt").code == 0
    assert "Unknown limit 'lines'" in cli("--limits", "lines=5", "info", place).err
