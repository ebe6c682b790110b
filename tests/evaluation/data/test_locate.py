from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from wordstill.errors import DataError, MissingExtra, UsageError
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.locate import available, locate
from wordstill.evaluation.data.registry import Dataset, DatasetFile
from wordstill.evaluation.data.similarity_sets import PairReader

CONTENT = b"cat\tdog\t3\n"
TOY = Dataset(
    "toy",
    "Toy",
    1,
    "nobody",
    "none",
    "someone/something@01234567",
    (
        DatasetFile(
            "similarity/toy.txt",
            PairReader(),
            "data/toy.txt",
            checksums={"similarity/toy.txt": hashlib.sha256(CONTENT).hexdigest()},
        ),
    ),
)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(DATASETS, "toy", TOY)
    return TOY.copies[0]


def put(folder: Path, copy: DatasetFile, content: bytes = CONTENT) -> Path:
    path = folder / copy.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_the_data_folder_comes_before_the_cache(bare, toy, tmp_path, monkeypatch):
    cached = put(bare, toy)
    assert (locate("toy").path, locate("toy").source) == (cached, "cache:similarity/toy.txt")
    chosen = put(tmp_path / "data", toy)
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path / "data"))
    found = locate("toy")
    assert (found.path, found.source) == (chosen, "WORDSTILL_DATA:similarity/toy.txt")
    assert found.sha256 == toy.sha256


@pytest.mark.parametrize("name", ["wordsim353", "simlex999"])
def test_the_embedded_copy_comes_before_the_cache(bare, name):
    pytest.importorskip("gensim")
    row = DATASETS[name]
    put(bare, row.copies[0], b"never read")
    found = locate(name)
    assert found.source == f"gensim:{row.copies[-1].path}"
    assert found.sha256 == row.copies[-1].sha256 != row.copies[0].sha256


def test_the_data_folder_comes_before_the_embedded_copy(data_folder):
    assert locate("wordsim353").source == "WORDSTILL_DATA:similarity/EN-WS-353-ALL.txt"


def test_an_empty_variable_counts_as_unset(bare, monkeypatch):
    pytest.importorskip("gensim")
    monkeypatch.setenv("WORDSTILL_DATA", "")
    assert available() == ["wordsim353", "simlex999", "google"]


def test_a_missing_set_says_where_it_was_looked_for_and_where_to_get_it(bare, toy, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path / "data"))
    with pytest.raises(DataError) as caught:
        locate("toy")
    for part in (
        "'toy'",
        str(tmp_path / "data" / "similarity" / "toy.txt"),
        str(bare / "similarity" / "toy.txt"),
        "https://github.com/someone/something/tree/01234567",
        "set WORDSTILL_DATA",
        "wordstill data fetch toy",
    ):
        assert part in str(caught.value)


def test_the_cache_is_in_the_home_folder_by_default(bare, toy, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = put(tmp_path / "home" / ".cache" / "wordstill" / "data", toy)
    assert locate("toy").path == path


def test_a_changed_file_is_refused(bare, toy):
    path = put(bare, toy, b"cat\tdog\t4\n")
    with pytest.raises(DataError) as caught:
        locate("toy")
    for part in (str(path), toy.sha256, hashlib.sha256(b"cat\tdog\t4\n").hexdigest()):
        assert part in str(caught.value)


def test_a_changed_file_does_not_lead_to_another_copy(bare, tmp_path, monkeypatch):
    path = put(tmp_path / "data", DATASETS["wordsim353"].copies[0], b"<html>not found</html>")
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path / "data"))
    with pytest.raises(DataError, match="not the published file") as caught:
        locate("wordsim353")
    assert str(path) in str(caught.value)


def test_without_gensim_the_error_names_it(bare, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(MissingExtra) as caught:
        locate("wordsim353")
    assert caught.value.package == "gensim"
    assert "'wordsim353'" in str(caught.value)
    with pytest.raises(DataError, match="'rg65'"):
        locate("rg65")
    assert available() == []


def test_a_variable_that_is_no_folder_is_an_error(bare, tmp_path, monkeypatch):
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path / "typo"))
    with pytest.raises(UsageError, match="not a folder"):
        locate("wordsim353")


def test_gensim_is_not_imported_for_its_files(bare, monkeypatch):
    pytest.importorskip("gensim")
    monkeypatch.delitem(sys.modules, "gensim")
    locate("wordsim353")
    assert "gensim" not in sys.modules


def test_an_own_file(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_bytes(CONTENT)
    for given in (path, str(path)):
        found = locate(given)
        assert (found.name, found.source) == (str(path), f"file:{path}")
        assert found.sha256 == hashlib.sha256(CONTENT).hexdigest()
        assert len(found.reader(found.path)) == 1


def test_a_path_is_a_file_even_where_a_set_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rg65").write_bytes(CONTENT)
    assert locate(Path("rg65")).source == "file:rg65"


@pytest.mark.parametrize("name", ["no/such/file", "absent.tsv", ".", ""])
def test_a_file_that_is_not_there(name):
    with pytest.raises(DataError, match="There is no file"):
        locate(name)


def test_an_unknown_name_is_met_with_the_nearest():
    with pytest.raises(UsageError, match="Did you mean 'wordsim353'") as caught:
        locate("wordsim-353")
    assert "own file" in str(caught.value)


def test_a_folder_that_lacks_a_file_is_not_found(bare, monkeypatch):
    files = {f"set/{name}.txt": hashlib.sha256(name.encode()).hexdigest() for name in "ab"}
    row = Dataset(
        "toy", "Toy", 1, "nobody", "none", "someone/something@01234567", (DatasetFile("set", str, checksums=files),)
    )
    monkeypatch.setitem(DATASETS, "toy", row)
    (bare / "set").mkdir(parents=True)
    (bare / "set" / "a.txt").write_text("a")
    assert "toy" not in available()
    with pytest.raises(DataError, match="was not found"):
        locate("toy")
    (bare / "set" / "b.txt").write_text("b")
    assert locate("toy").sha256 == row.copies[0].sha256
    (bare / "set" / "b.txt").write_text("other")
    with pytest.raises(DataError, match=r"b\.txt is not the published file"):
        locate("toy")
