"""``wordstill test``, ``norms`` and ``expand``: what they print and write, and what they refuse."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.association import associations
from wordstill.analysis.word_lists import published_tests
from wordstill.vectors.folds import Folds

CAREER = published_tests()["weat-6"]


@pytest.fixture
def table(tmp_path):
    words = [word.lower() for one in (*CAREER.targets, *CAREER.attributes) for word in one.words]
    matrix = np.random.default_rng(0).standard_normal((len(words), 6)).astype(np.float32)
    matrix[:8, 0] += 2
    matrix[16:24, 0] += 2
    table = WordVectors(words, matrix)
    table.save(tmp_path / "table")
    return table


def test_a_published_test_in_lower_case(cli, table, tmp_path):
    done = cli("test", tmp_path / "table", "--test", "weat-6", "--each", "--out", tmp_path / "out.json")
    assert done.code == 0, done.err
    (expected,) = associations({"table": table}, [CAREER])
    assert f"{expected.effect:+.2f} [{expected.interval.low:+.2f}" in done.out
    assert "32 of 32 words" in done.out and "+1.81" in done.out
    assert f"{expected.words['Bill']:+8.4f}  Bill" in done.out
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["schema"] == 1
    assert written["results"] == [json.loads(json.dumps(expected.to_dict()))]


def test_own_lists_have_no_column_of_a_paper(cli, table, tmp_path):
    lists = tmp_path / "mine.txt"
    lists.write_text("".join(f"{one.name}: {', '.join(one.words)}\n" for one in (*CAREER.targets, *CAREER.attributes)))
    done = cli("test", tmp_path / "table", "--lists", lists)
    assert done.code == 0, done.err
    assert "32 of 32 words" in done.out and "paper" not in done.out


def test_tables_side_by_side_as_json(cli, table, tmp_path):
    table.save(tmp_path / "other.txt")
    done = cli("test", tmp_path / "table", tmp_path / "other.txt", "-t", "weat-6", "--json", "-s", "rnd")
    assert done.code == 0, done.err
    results = json.loads(done.out)["results"]
    assert [(row["table"], row["targets"]) for row in results] == [
        (name, [target]) for name in ("table", "other.txt") for target in ("male-names", "female-names")
    ]


def test_tests_without_enough_words_say_so(cli, table, tmp_path):
    done = cli("test", tmp_path / "table")
    assert done.code == 0, done.err
    assert "none: 0 of the 25 words of" in " ".join(done.out.split())
    assert done.out.count("Not in table: flowers: aster") == 1
    assert done.out.count("Not in table: pleasant: ") == 1
    assert "and 15 more (--json lists all)" in done.out


def test_lists_are_shown(cli):
    done = cli("test", "--list", "--test", "weat-7")
    assert done.code == 0
    assert "math          math algebra geometry" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--test", "weat-11"), 2, "Unknown test 'weat-11'"),
        (("--statistic", "wheat"), 2, "Unknown statistic 'wheat'. Did you mean 'weat'"),
        (("--test", "weat-1"), 1, "No test could be run: 0 of the 25 words of 'flowers' have vectors, 2 needed"),
        (("--lists", "nowhere.toml"), 1, "Cannot read nowhere.toml"),
    ],
)
def test_refusals(cli, table, tmp_path, arguments, code, message):
    done = cli("test", tmp_path / "table", *arguments)
    assert done.code == code
    assert message in done.err


def test_no_table(cli):
    done = cli("test")
    assert done.code == 2
    assert "No table was named" in done.err


@pytest.fixture
def rated(tmp_path):
    """A table, and ratings of most of its words."""
    random = np.random.default_rng(0)
    table = WordVectors([f"w{number}" for number in range(80)], random.standard_normal((80, 4)).astype(np.float32))
    table.save(tmp_path / "table")
    lines = [f"{word},{number},{table.matrix[number, 0]:.3f}" for number, word in enumerate(table.words[:60])]
    (tmp_path / "ratings.csv").write_text("\n".join(["word,id,valence", *lines, "nowhere,60,1.5", ""]))
    return tmp_path / "table"


def test_norms(cli, rated, tmp_path):
    done = cli("norms", tmp_path / "ratings.csv#word,valence", "--table", rated, "--out", tmp_path / "norms.csv")
    assert done.code == 0, done.err
    assert "60 rated words, each held out once" in done.out and "without a rating" not in done.out
    assert "1 of the 61 rated words are not in the table: nowhere." in done.err
    assert "chance" not in done.err
    assert len((tmp_path / "norms.csv").read_text().splitlines()) == 81
    again = cli("norms", tmp_path / "ratings.csv#word,valence", "--table", rated, "--out", tmp_path / "norms.csv")
    assert (again.code, "exists already" in again.err) == (2, True)


def test_norms_that_are_chance_are_warned_of(cli, rated, tmp_path):
    random = np.random.default_rng(0).standard_normal(60)
    rows = [f"{word},{rating:.3f}" for word, rating in zip(WordVectors.load(rated).words, random)]
    (tmp_path / "noise.csv").write_text("\n".join(["word,noise", *rows]))
    done = cli("norms", tmp_path / "noise.csv", "--table", rated, "--out", tmp_path / "norms.csv")
    assert (done.code, "Predictions of 'noise' on held-out words are no better than chance" in done.err) == (0, True)


def test_norms_as_json(cli, rated, tmp_path):
    arguments = ("--table", rated, "--out", tmp_path / "norms.csv", "--json")
    done = cli("norms", tmp_path / "ratings.csv#word,valence", *arguments)
    report = json.loads(done.out)
    assert (report["rated"], report["missing"], report["norms"][0]["used"]) == (61, ["nowhere"], 60)
    assert report["norms"][0]["empty"] == 0
    assert report["norms"][0]["pearson"] > 0.8


def test_norms_of_an_unknown_column_leave_nothing(cli, rated, tmp_path):
    done = cli("norms", tmp_path / "ratings.csv#word,arousal", "--table", rated, "--out", tmp_path / "norms.csv")
    assert (done.code, "there is no column 'arousal'" in done.err) == (1, True)
    assert not (tmp_path / "norms.csv").exists()


@pytest.fixture
def answer(cli, monkeypatch, tmp_path):
    """Runs ``wordstill expand`` with some answers on the standard input."""
    words = [f"w{number}" for number in range(30)]
    WordVectors(words, np.random.default_rng(0).standard_normal((30, 5)).astype(np.float32)).save(tmp_path / "table")

    def run(answers, *arguments, seeds="w0,w1"):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{one}\n" for one in answers)))
        return cli("expand", seeds, "--table", tmp_path / "table", *arguments)

    return run


def test_candidates_without_questions(answer):
    done = answer([], "--json", "-n", "3")
    assert done.code == 0, done.err
    assert [set(row) for row in json.loads(done.out)] == [{"word", "score", "near"}] * 3
    assert "near w" in answer([]).out


def test_answers_are_kept_and_the_list_is_written(answer, tmp_path):
    ask = ("--ask", "--decisions", tmp_path / "d.tsv", "--out", tmp_path / "list.txt")
    done = answer(["y", "n", "what", "u", "yes"], *ask)
    assert done.code == 0, done.err
    assert "Not an answer" in done.err and "Undone: w" in done.err
    marks = [line.split("\t")[0] for line in (tmp_path / "d.tsv").read_text().splitlines()[1:]]
    assert marks == ["y", "y"]
    assert len((tmp_path / "list.txt").read_text().split()) == 4
    # The same command resumes: what it wrote before is replaced, what another wrote is not.
    assert answer(["n", "q"], *ask).code == 0
    assert "rejected  1" in answer(["q"], *ask).out
    (tmp_path / "list.txt").write_text("mine\n")
    done = answer(["y"], *ask)
    assert (done.code, "exists already" in done.err) == (2, True)


def test_one_run_and_two_runs_make_the_same_decisions(answer, tmp_path):
    answer(["y", "n", "y", "n", "y"], "--ask", "--decisions", tmp_path / "one.tsv", "--ranking", "maximum")
    for answers in (["y", "n"], ["y", "n", "y"]):
        answer(answers, "--ask", "--decisions", tmp_path / "two.tsv", "--ranking", "maximum")
    assert (tmp_path / "one.tsv").read_text() == (tmp_path / "two.tsv").read_text()


def test_proposals_for_an_editor(answer, tmp_path):
    file = tmp_path / "d.tsv"
    assert answer([], "--decisions", file, "--propose", "3").code == 0
    edited = file.read_text().replace("?", "y", 2).replace("# y, n or y", "# y, n or ?")
    file.write_text(edited.replace("?\tw", "n\tw"))
    done = answer([], "--decisions", file, "--propose", "2", "--out", tmp_path / "list.txt")
    assert done.code == 0, done.err
    marks = [line.split("\t")[0] for line in file.read_text().splitlines()[1:]]
    assert sorted(marks) == ["?", "?", "n", "n", "y"]
    assert len((tmp_path / "list.txt").read_text().split()) == 3


@pytest.mark.parametrize(
    ("arguments", "seeds", "code", "message"),
    [
        (("--ask",), "w0", 2, "need --decisions FILE"),
        ((), "nowhere", 2, "nowhere"),
        ((), ",", 2, "There are no seed words"),
        ((), "nowhere.txt", 2, "Cannot read nowhere.txt"),
        (("--ranking", "best"), "w0", 2, "Unknown ranking 'best'"),
        (("--ask", "--json", "--decisions", "d.tsv"), "w0", 2, "cannot be combined"),
    ],
)
def test_expand_refuses(answer, arguments, seeds, code, message):
    done = answer([], *arguments, seeds=seeds)
    assert done.code in (1, code)
    assert message in done.err


def test_regress(cli, tmp_path):
    random = np.random.default_rng(0)
    words = [*(f"w{number}" for number in range(20)), "bank"]
    WordVectors(words, random.standard_normal((21, 4)).astype(np.float32)).save(tmp_path / "table")
    lines = []
    for number in range(40):
        party = "AB"[number % 2]
        around = [f"w{one}" for one in random.integers(0, 10, 6) + (10 if party == "B" else 0)]
        lines.append(json.dumps({"text": " ".join([*around[:3], "bank", *around[3:]]), "party": party, "year": number}))
    lines.append(json.dumps({"text": "w1 bank w2", "party": None, "year": 3}))
    (tmp_path / "docs.jsonl").write_text("\n".join([*lines, json.dumps({"text": "w1 w2", "party": "A"})]))
    arguments = ("regress", "bank", tmp_path / "docs.jsonl", "--table", tmp_path / "table", "--permutations", "99")
    done = cli(*arguments, "--on", "party,year")
    assert done.code == 0, done.err
    assert "40 uses in 40 documents of 42" in done.out
    assert "1 document without a value of party or year" in done.out
    assert "With more party=B, nearer to: w" in done.out and "With less party=B, nearer to: w" in done.out
    report = json.loads(cli(*arguments, "--on", "party,year", "--json").out)
    assert [one["name"] for one in report["coefficients"]] == ["party=B", "year"]
    assert report["coefficients"][0]["p_value"] <= 0.05
    assert (report["documents"], report["with_word"], report["used"], report["references"]) == (
        42,
        41,
        40,
        {"party": "A"},
    )
    refused = cli(*arguments, "--on", "sex")
    assert (refused.code, "No document has the field 'sex'" in refused.err) == (1, True)


def test_regress_on_the_groups_of_a_table(cli, tmp_path):
    random = np.random.default_rng(0)
    rows = random.standard_normal((16, 4)).astype(np.float32)
    rows[8:, 0] += 4
    table = WordVectors(["bank", "river"], np.vstack([rows.mean(axis=0), random.standard_normal(4)]).astype(np.float32))
    group = np.repeat([0, 1], 8).astype(np.int32)
    cells = (np.zeros(16, np.int32), np.arange(16, dtype=np.int32), np.full(16, 3))
    table.folds = Folds(rows, *cells, group, np.full(16, 100), ("old", "new"), ("documents",) * 2)
    table.save(tmp_path / "table")
    done = cli("regress", "bank", "--table", tmp_path / "table", "--permutations", "99", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["folds"], report["used"], report["uses"]) == (16, 16, 48)
    assert [(one["name"], one["p_value"]) for one in report["coefficients"]] == [("group=old", 0.01)]
    (tmp_path / "groups.csv").write_text("group,year\nold,1900\nnew,2000\n")
    fields = ("--groups", tmp_path / "groups.csv", "--on", "year")
    by_year = cli("regress", "bank", "--table", tmp_path / "table", *fields, "--unit", "fold")
    assert "48 uses in 16 folds of 16" in by_year.out
    too_few = cli("regress", "bank", "--table", tmp_path / "table", *fields)
    assert (too_few.code, "2 rows are too few for 2 columns" in too_few.err) == (1, True)
    refused = cli("regress", "river", "--table", tmp_path / "table")
    assert (refused.code, "'river' has no rows by fold" in refused.err) == (2, True)


def test_groups_of_a_table_are_tested_side_by_side(cli, table, tmp_path):
    random = np.random.default_rng(0)
    words = np.repeat(np.arange(len(table), dtype=np.int32), 2)
    rows = np.repeat(table.matrix, 2, axis=0)
    rows[1::2] = random.standard_normal(table.matrix.shape)
    cells = (words, np.tile(np.array([0, 1], np.int32), len(table)), np.full(len(words), 5))
    table.folds = Folds(rows, *cells, np.array([0, 1], np.int32), np.full(2, 100), ("old", "new"), ("documents",) * 2)
    table.save(tmp_path / "grouped")
    done = cli("test", tmp_path / "grouped", "--by-group", "-t", "weat-6", "--json")
    assert done.code == 0, done.err
    old, new = json.loads(done.out)["results"]
    assert (old["table"], new["table"]) == ("old", "new")
    assert old["effect"] == pytest.approx(associations({"x": table}, [CAREER])[0].effect)
    assert abs(new["effect"]) < old["effect"]
    assert json.loads(done.out)["differences"] == []  # with one fold each, nothing is known about other texts
    refused = cli("test", tmp_path / "table", "--by-group")
    assert (refused.code, "keeps no groups or folds" in refused.err) == (2, True)


def test_groups_differ_with_an_interval(cli, table, tmp_path):
    random, words = np.random.default_rng(0), len(table)
    rows = np.repeat(table.matrix, 12, axis=0) + 0.1 * random.standard_normal((12 * words, table.dim)).astype(
        np.float32
    )
    cells = (np.repeat(np.arange(words, dtype=np.int32), 12), np.tile(np.arange(12, dtype=np.int32), words))
    group = np.repeat([0, 1], 6).astype(np.int32)
    folds = Folds(
        rows, *cells, np.full(len(rows), 5), group, np.full(12, 100), ("a: old", "a: new"), ("documents",) * 2
    )
    table.folds = folds
    table.save(tmp_path / "grouped")
    done = cli("test", tmp_path / "grouped", "--by-group", "-t", "weat-6", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    (apart,) = report["differences"]
    old, new = (row["text"] for row in report["results"])
    assert (apart["from"], apart["to"]) == ("a: old", "a: new")
    assert apart["value"] == pytest.approx(new["value"] - old["value"])
    assert apart["error"] == pytest.approx((old["error"] ** 2 + new["error"] ** 2) ** 0.5)
    shown = cli("test", tmp_path / "grouped", "--by-group", "-t", "weat-6")
    assert "texts [" in shown.out
    assert "a: new - a: old" in shown.out
