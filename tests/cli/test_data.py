from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import pytest


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("WORDSTILL_DATA", str(data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return data


@pytest.fixture
def real() -> Path:
    folder = os.environ.get("WORDSTILL_DATA")
    if not folder:
        pytest.skip("WORDSTILL_DATA is not set: the published data sets are not here")
    return Path(folder)


def test_list(cli, empty):
    done = cli("data", "list")
    assert done.code == 0, done.err
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "missing" in lines["rg65"] and "65 items  similarity" in lines["rg65"]
    assert "items  –" in lines["ppdb-xl"]
    assert "wordstill data fetch" in done.out


def test_list_says_where_sets_come_from(cli, empty):
    shown = cli("data", "list", "--verbose").out
    for part in ("home: https://fh295.github.io/simlex.html", "license: CC BY 2.0", "sha256: "):
        assert part in shown
    assert "note: The file holds one row without a word for each of the 21 classes" in shown


def test_path(cli, empty, tmp_path):
    assert cli("data", "path").out.strip() == str(tmp_path / "cache" / "wordstill" / "data")
    missing = cli("data", "path", "rg65")
    assert missing.code == 1 and "wordstill data fetch rg65" in " ".join(missing.err.split())


def test_path_of_a_set(cli, real):
    assert cli("data", "path", "rg65").out.strip() == str(real / "similarity" / "EN-RG-65.txt")


def test_check(cli, real):
    done = cli("data", "check", "rg65", "sts13", "semeval2012")
    assert (done.code, done.out) == (0, "rg65: ok\nsts13: ok\nsemeval2012: ok\n")


def test_check_finds_a_changed_file(cli, empty):
    path = empty / "similarity" / "EN-RG-65.txt"
    path.parent.mkdir()
    path.write_text("cord\tsmile\t0.02\n")
    done = cli("data", "check")
    assert done.code == 1
    assert "rg65:" in done.out and "not the published file" in done.out
    assert "1 set missing or changed: rg65" in done.err


def test_fetch_from_a_folder_as_a_mirror(cli, real, tmp_path, monkeypatch):
    monkeypatch.delenv("WORDSTILL_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = cli("data", "fetch", "rg65", "mc30", "--mirror", real.as_uri())
    assert done.code == 0, done.err
    assert "rg65: 1 file in" in done.out
    assert cli("data", "check", "rg65", "mc30").code == 0


def test_fetch_leaves_a_set_that_is_found(cli, real, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    nowhere = (tmp_path / "nowhere").as_uri()
    done = cli("data", "fetch", "rg65", "--mirror", nowhere)
    assert (done.code, done.out) == (0, f"rg65: already present: {real / 'similarity' / 'EN-RG-65.txt'}\n")
    assert not (tmp_path / "cache").exists()
    # A folder that is named gets the files all the same.
    assert cli("data", "fetch", "rg65", "--mirror", nowhere, "--to", tmp_path / "copy").code == 1
    done = cli("data", "fetch", "rg65", "--mirror", real.as_uri(), "--to", tmp_path / "copy")
    assert done.out == f"rg65: 1 file in {tmp_path / 'copy' / 'similarity'}\n"


def test_fetch_leaves_the_sets_that_gensim_brings(cli, empty, tmp_path):
    pytest.importorskip("gensim", reason="gensim brings simlex999")
    done = cli("data", "fetch", "simlex999", "--mirror", (tmp_path / "nowhere").as_uri())
    assert done.code == 0 and done.out.startswith("simlex999: already present: ")


def test_fetch_replaces_a_changed_file(cli, real, tmp_path, monkeypatch):
    monkeypatch.delenv("WORDSTILL_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "wordstill" / "data" / "similarity" / "EN-RG-65.txt"
    path.parent.mkdir(parents=True)
    path.write_text("cord\tsmile\t0.02\n")
    assert cli("data", "fetch", "rg65", "--mirror", real.as_uri()).out == f"rg65: 1 file in {path.parent}\n"
    assert cli("data", "check", "rg65").code == 0


def test_fetch_all_says_that_there_is_nothing_to_do(cli, monkeypatch):
    from wordstill.evaluation import DATASETS

    locate = import_module("wordstill.evaluation.data.locate")
    monkeypatch.setattr(locate, "available", lambda: list(DATASETS))
    done = cli("data", "fetch", "--all")
    assert (done.code, done.out) == (0, "All sets are already present.\n")


def test_what_can_be_downloaded():
    from wordstill.cli.data import downloadable

    assert downloadable(["rg65", "battig82", "trec:probe", "trec"]) == ["rg65", "trec"]


def test_fetch_all_goes_on_after_a_failure(cli, empty, tmp_path):
    done = cli("data", "fetch", "--all", "--mirror", (tmp_path / "nowhere").as_uri())
    assert done.code == 1
    assert "could not be fetched: rg65, mc30" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fetch",), "No data set was named"),
        (("fetch", "simlex-999"), "Did you mean 'simlex999'"),
        (("fetch", "battig82"), "cannot be downloaded"),
        (("check", "rg-65"), "Did you mean 'rg65'"),
        (("path", "rg-65"), "Did you mean 'rg65'"),
    ],
)
def test_settings_that_cannot_be_right(cli, empty, arguments, says):
    done = cli("data", *arguments)
    assert done.code == 2
    assert says in " ".join(done.err.split())
