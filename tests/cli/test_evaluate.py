from __future__ import annotations

import json

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.errors import TeacherError


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    rows = [("babar", "babar", 10), ("babar", "bador", 7), ("bador", "bafir", 5), ("bafir", "nowhere", 1)]
    rows += [("bagur", "baker", 4), ("balor", "bamir", 2), ("banur", "bapar", 3)]
    path.write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in rows))
    return path


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_table_with_interval_coverage_and_protocol(cli, vectors, pairs):
    done = cli("evaluate", vectors / "ase", "--set", pairs)
    assert done.code == 0, done.err
    assert "6/7" in done.out
    assert "Protocol: default" in done.out
    assert "are skipped" in done.out


def test_unknown_words_can_be_read_by_the_teacher(cli, vectors, pairs):
    done = cli("evaluate", vectors / "ase", "--set", pairs, "--unknown", "teacher")
    assert done.code == 0, done.err
    assert "7/7 (6 without" in " ".join(done.out.split())
    assert "oov=backoff" in done.out
    refused = cli("evaluate", vectors / "ase", "--set", pairs, "--unknown", "teacher", "--rule", "oov=zero")
    assert refused.code == 2
    assert "Choose one" in refused.err


def test_a_folder_of_tables_gives_a_column_each(cli, vectors, pairs):
    header = cli("evaluate", vectors, "--set", pairs, "--markdown").out.splitlines()[0]
    assert header == "| set | measure | ase | decontextual |"


def test_tables_of_the_same_name_keep_their_paths(cli, vectors, pairs, tmp_path):
    other = tmp_path / "ase"
    other.symlink_to(vectors / "decontextual")
    header = cli("evaluate", vectors / "ase", other, "--set", pairs, "--markdown").out.splitlines()[0]
    assert header == f"| set | measure | {vectors / 'ase'} | {other} |"


def test_json(cli, vectors, pairs, tmp_path):
    out = tmp_path / "evaluation.json"
    assert cli("evaluate", vectors, "--set", pairs, "--out", out).code == 0
    assert list(json.loads(out.read_text())["tables"]) == ["ase", "decontextual"]
    again = cli("evaluate", vectors, "--set", pairs, "--out", out)
    assert (again.code, again.out) == (2, "")
    assert cli("evaluate", vectors, "--set", pairs, "--out", out, "--overwrite").code == 0


def test_files_are_written_even_if_nobody_reads_the_table(start, vectors, pairs, tmp_path):
    out, html = tmp_path / "evaluation.json", tmp_path / "evaluation.html"
    process = start("evaluate", vectors / "ase", "--set", pairs, "--out", out, "--html", html)
    process.stdout.close()
    assert process.wait() == 1
    assert "Written" in process.stderr.read()
    assert list(json.loads(out.read_text())["tables"]) == ["ase"]
    assert html.read_text().startswith("<!DOCTYPE html>")


def test_the_table_is_shown_even_if_a_file_cannot_be_written(cli, vectors, pairs, tmp_path):
    (tmp_path / "file").write_text("")
    done = cli("evaluate", vectors / "ase", "--set", pairs, "--out", tmp_path / "file" / "evaluation.json")
    assert done.code == 1 and "Cannot write" in done.err
    assert "6/7" in done.out


def test_two_reports_do_not_share_a_file(cli, vectors, pairs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ("evaluate", vectors / "ase", "--set", pairs, "--overwrite")
    done = cli(*given, "--out", "report", "--html", tmp_path / "report")
    assert (done.code, done.out) == (2, "")
    assert "--out and --html are both report" in done.err
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize("width", [80, 120])
def test_every_score_of_many_tables_is_visible(cli, pairs, vectors, tmp_path, monkeypatch, width):
    monkeypatch.setattr("wordstill.cli.printing.PLAIN_WIDTH", width)
    folder = tmp_path / "tables"
    table = WordVectors.load(vectors / "ase")
    names = [f"{kind}.seed{number}" for kind in ("cbow", "fasttext", "skipgram") for number in range(3)]
    for name in names:
        table.save(folder / name, "wordstill")
    with pairs.open("a") as file:
        file.write("babar\tbafir\t6\nbador\tbagur\t3\n")
    done = cli("evaluate", folder, "--set", pairs)
    assert done.code == 0, done.err
    assert "…" not in done.out
    scores, differences = done.out.split("Differences from")
    assert all(scores.count(name) == 1 for name in names)
    assert scores.count("8/9") == len(names)
    row = cli("evaluate", vectors / "ase", "--set", pairs, "--markdown").out.splitlines()[2]
    assert scores.count(row.split("|")[3].partition("[")[0]) == len(names)
    assert all(differences.count(f" {name} ") == 1 for name in names[1:])
    assert max(map(len, done.out.partition("Protocol")[0].splitlines())) <= width


def test_list_says_which_sets_are_there(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "similarity").mkdir()
    (tmp_path / "similarity" / "EN-RG-65.txt").write_text("")
    lines = [line.split() for line in cli("evaluate", "--list").out.splitlines() if "items" in line]
    shown = {name: state for name, state, *_ in lines}
    assert shown["rg65"] == "found" and shown["mc30"] == "missing"


def test_the_page_has_both_tables(cli, vectors, pairs, tmp_path):
    page = tmp_path / "report.html"
    done = cli("evaluate", vectors, "--set", pairs, "--html", page, "--neighbours", "babar")
    assert done.code == 0, done.err
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>") and "decontextual" in text and "Nearest words" in text
    assert f"Written: {page}" in done.err
    assert cli("evaluate", vectors, "--set", pairs, "--html", page).code == 2
    assert cli("evaluate", vectors, "--set", pairs, "--html", page, "--overwrite").code == 0


def test_latex(cli, vectors, pairs):
    assert cli("evaluate", vectors, "--set", pairs, "--latex").out.splitlines()[-1] == "\\end{table}"
    assert cli("evaluate", vectors, "--set", pairs, "--latex", "--markdown").code == 2


def test_several_tables_are_compared(cli, vectors, pairs):
    assert "Differences from ase" in cli("evaluate", vectors, "--set", pairs).out


def test_a_report_in_a_folder_is_not_replaced(cli, vectors, pairs, tmp_path):
    given = ("evaluate", vectors, "--set", pairs, "--html", tmp_path, "--out", tmp_path)
    assert cli(*given).code == 0
    assert (tmp_path / "evaluation.html").exists() and (tmp_path / "evaluation.json").exists()
    (tmp_path / "evaluation.json").unlink()
    again = cli(*given)
    assert (again.code, again.out) == (2, "")
    assert "evaluation.html exists already" in " ".join(again.err.split())
    assert cli(*given, "--overwrite").code == 0


def test_rules_can_be_changed(cli, vectors, pairs, tmp_path):
    out = tmp_path / "evaluation.json"
    rules = ("--rule", "oov=zero", "--rule", "max_vocab=50", "--rule", "case=lower")
    done = cli("evaluate", vectors / "ase", "--set", pairs, "--protocol", "muse", *rules, "--out", out)
    assert done.code == 0, done.err
    assert "Protocol: muse with oov=zero, max_vocab=50, case=lower" in done.out
    assert json.loads(out.read_text())["protocol"]["max_vocab"] == 50


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--rule", "oov"), "must be NAME=VALUE"),
        (("--rule", "ov=skip"), "Did you mean 'oov'"),
        (("--rule", "oov=drop"), "Unknown value of oov"),
        (("--rule", "max_vocab=many"), "max_vocab: expected a whole number or all"),
        (("--suite", "paper"), "Did you mean 'papers'"),
        (("--protocol", "muze"), "Did you mean 'muse'"),
        (("--projection", "umap"), "Unknown projection 'umap'"),
        (("--neighbours", "babar"), "use --html FILE"),
        (("--html", "page.html", "--neighbours", "nowhere"), "No table has these words"),
        (("--set", "similarty:mine.tsv"), "Did you mean 'similarity'"),
    ],
)
def test_settings_that_cannot_be_right(cli, vectors, pairs, options, says):
    done = cli("evaluate", vectors / "ase", "--set", pairs, *options)
    assert (done.code, done.out) == (2, "")
    assert says in " ".join(done.err.split())


def test_own_files_of_other_kinds(cli, vectors, tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("babar x\nbador x\nbafir y\nbagur y\nbaker y\n")
    done = cli("evaluate", vectors / "ase", "--set", f"categorisation:{path}")
    assert done.code == 0, done.err
    assert "purity" in done.out and "5/5" in done.out


def test_a_table_with_none_of_the_words_fails(cli, vectors, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("nothing\tof\t1\nthis\tis\t2\nhere\tatall\t3\n")
    done = cli("evaluate", vectors / "ase", "--set", path)
    assert done.code == 1
    assert "No data set could be scored" in done.err and "--unknown teacher" in done.err
    assert cli("evaluate", vectors / "ase", "--set", path, "--latex").code == 1


def test_missing_data_names_the_command_that_gets_it(cli, vectors, tmp_path, monkeypatch):
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = cli("evaluate", vectors / "ase", "--set", "rg65")
    assert done.code == 1
    assert "wordstill data fetch rg65" in " ".join(done.err.split())


def test_sets_of_the_default_suite_that_are_missing_are_told(cli, no_data, tmp_path):
    pytest.importorskip("gensim", reason="gensim brings simlex999 and wordsim353")
    from wordstill.evaluation import words_of

    words = dict.fromkeys(word.lower() for word in words_of("simlex999"))
    matrix = np.random.default_rng(0).standard_normal((len(words), 5)).astype(np.float32)
    WordVectors(list(words), matrix).save(tmp_path / "table")
    shown = [cli("evaluate", tmp_path / "table", *suite) for suite in ((), ("--suite", "similarity"))]
    assert [done.code for done in shown] == [0, 0], shown[0].err
    assert shown[0].out == shown[1].out
    assert "Not found, so not scored: rg65, mc30," in " ".join(shown[0].out.split())
    assert "  wordstill data fetch rg65 mc30 wordsim353-similarity " in shown[0].out
    out, page = tmp_path / "evaluation.json", tmp_path / "evaluation.html"
    done = cli("evaluate", tmp_path / "table", "--out", out, "--html", page)
    missing = json.loads(out.read_text())["missing"]
    assert missing[:2] == ["rg65", "mc30"] and "simlex999" not in missing
    assert "Not found, so not scored: rg65" in page.read_text()
    assert f"  wordstill data fetch {' '.join(missing)}\n" in done.out
    assert "Next" not in cli("evaluate", tmp_path / "table", "--markdown").out


def test_a_set_that_was_not_asked_for_is_not_missed(cli, vectors, pairs, no_data):
    done = cli("evaluate", vectors / "ase", "--set", pairs)
    assert "Not found" not in done.out and "data fetch" not in done.out


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.tsv"
    path.write_text("".join(f"{('good', 'bad')[n % 2]}\tfilm {n}\n" for n in range(60)))
    return path


def test_the_parent_row_is_of_the_teacher_that_is_named(cli, vectors, reviews, tmp_path, monkeypatch):
    def load(name):
        raise TeacherError(f"asked for {name}")

    monkeypatch.setattr("wordstill.evaluation.trained.finetuned.load_model_and_tokenizer", load)
    WordVectors(["film", "good"], np.eye(2, dtype=np.float32)).save(tmp_path / "nobody.vec")
    given = ("evaluate", vectors / "ase", tmp_path / "nobody.vec", "--set", f"parent:{reviews}")
    done = cli(*given, "--teacher", "some-model", "--markdown")
    assert done.out.count("no score: asked for some-model") == 2
    without = cli(*given, "--markdown").out
    assert "some-model" not in without and without.count("no score: asked for") == 1


def test_a_teacher_without_a_parent_row_is_refused(cli, vectors, pairs):
    done = cli("evaluate", vectors / "ase", "--set", pairs, "--teacher", "some-model")
    assert (done.code, done.out) == (2, "")
    assert "--set trec:parent" in " ".join(done.err.split())
