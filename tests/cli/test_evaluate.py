from __future__ import annotations

import json

import pytest


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    rows = [("babar", "babar", 10), ("babar", "bador", 7), ("bador", "bafir", 5), ("bafir", "nowhere", 1)]
    rows += [("bagur", "baker", 4), ("balor", "bamir", 2)]
    path.write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in rows))
    return path


def test_table_with_interval_coverage_and_protocol(cli, vectors, pairs):
    done = cli("evaluate", vectors / "ase", "--set", pairs)
    assert done.code == 0, done.err
    assert "5/6" in done.out
    assert "Protocol: default" in done.out
    assert "are left out of" in done.out


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


def test_list_says_which_sets_are_there(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "similarity").mkdir()
    (tmp_path / "similarity" / "EN-RG-65.txt").write_text("")
    shown = {line.split()[0]: line.split()[1] for line in cli("evaluate", "--list").out.splitlines()}
    assert shown["rg65"] == "found" and shown["mc30"] == "missing"
