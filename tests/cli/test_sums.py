"""Commands that work on kept sums, and the options of a run in shards."""

from __future__ import annotations

import re

import pytest

from wordstill import WordVectors

TEACHER = ("--device", "cpu", "--dtype", "float32")


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    path = tmp_path_factory.mktemp("more") / "more.txt"
    path.write_text("The river keeps the heat of the quasar. " * 8, encoding="utf-8")
    return path


@pytest.fixture
def table(cli, tmp_path, short_text, saved_teacher):
    given = ("--teacher", saved_teacher, *TEACHER, "--method", "ase", "--keep-sums", "--out", tmp_path / "table")
    assert cli("distill", short_text, *given).code == 0
    return tmp_path / "table"


@pytest.mark.filterwarnings("default:Whether the table")
def test_text_is_added_and_removed(cli, table, more):
    before = {path.name: path.read_bytes() for path in table.iterdir()}
    added = cli("add", table, more, *TEACHER)
    assert added.code == 0
    assert "Added 72 words of text" in added.out
    assert "Distilled" not in added.out
    assert "3 frequent words without a vector, such as" in added.err
    assert WordVectors.load(table).counts.sum() > 0
    removed = cli("remove", table, more, *TEACHER)
    assert removed.code == 0
    assert {path.name: path.read_bytes() for path in table.iterdir()} == before
    assert removed.err == ""
    again = cli("remove", table, more, *TEACHER)
    assert "only the counts of its words were compared" in again.err


def test_tables_are_merged(cli, table, tmp_path):
    merged = cli("merge", table, "--min-count", "30", "--out", tmp_path / "merged")
    assert merged.code == 0
    counts = WordVectors.load(tmp_path / "merged").counts
    assert counts.min() >= 30
    twice = cli("merge", table, tmp_path / "merged", "--out", tmp_path / "twice")
    assert twice.code == 2
    assert "would count twice" in twice.err


def test_the_dry_run_shows_shards(cli, short_text, saved_teacher, tmp_path):
    given = ("--teacher", saved_teacher, *TEACHER, "--out", tmp_path / "out", "--workers", "1", "--shard-words", "100")
    shown = cli("distill", short_text, *given, "--dry-run")
    assert shown.code == 0
    assert "of 100 words, for 1 worker" in shown.out
    assert re.search(r"each worker +up to \d+ shards?, .* to load the model", shown.out)
    joined = cli("distill", short_text, *given[:-4], "--join", "--dry-run")
    assert joined.code == 2
    assert "--join needs a prepared text" in joined.err


def test_options_for_one_process_are_refused(cli, short_text, saved_teacher, tmp_path):
    given = ("--teacher", saved_teacher, *TEACHER, "--out", tmp_path / "out", "--workers", "1")
    profiled = cli("distill", short_text, *given, "--profile")
    assert profiled.code == 2
    assert "--profile is for a run in one process" in profiled.err
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb\t1\nc\td\t2\ne\tf\t3\n")
    chosen = cli("distill", short_text, *given, "--development", pairs)
    assert chosen.code == 2
    assert "Omit --development" in chosen.err


def test_learners_stay_on_one_device(cli, short_text, saved_teacher, tmp_path):
    given = ("--teacher", saved_teacher, "--method", "x2static", "--workers", "1", "--out", tmp_path / "out")
    for more in ((), ("--dry-run",)):
        refused = cli("distill", short_text, *given, *more)
        assert refused.code == 2
        assert "x2static: a trained method needs all steps on a single device" in refused.err
