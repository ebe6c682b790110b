"""Downloads come from a real server on this machine."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from wordstill.errors import DataError, UsageError
from wordstill.evaluation.data import fetch as module
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.fetch import fetch
from wordstill.evaluation.data.locate import available, locate
from wordstill.evaluation.data.registry import Dataset, DatasetFile
from wordstill.evaluation.data.similarity_sets import PairReader

PAIRS = b"cat\tdog\t3\n"
UPSTREAM = "someone/something@01234567"


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.endswith("cut-off.txt"):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"cat\tdo")
            return
        if self.path.endswith("strange.txt"):
            self.send_response(200)
            self.send_header("Content-Length", "abc")
            self.end_headers()
            self.wfile.write(PAIRS)
            return
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path):
    """The address of a server, and the folder that it gives out."""
    folder = tmp_path / "served"
    folder.mkdir()
    Quiet.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", folder
        running.shutdown()
        thread.join()


@pytest.fixture
def github(server, monkeypatch):
    """The server stands for the public repositories; gives the folder of the toy repository."""
    address, folder = server
    monkeypatch.setattr(module, "GITHUB_FILES", address)
    repository = folder / "someone" / "something" / "01234567"
    repository.mkdir(parents=True)
    return repository


def register(monkeypatch, copy: DatasetFile) -> None:
    monkeypatch.setitem(DATASETS, "toy", Dataset("toy", "Toy", 1, "nobody", "none", UPSTREAM, (copy,)))


def toy(path: str = "similarity/toy.txt", source: str | None = "data/pairs.txt", **files: bytes) -> DatasetFile:
    contents = files or {path: PAIRS}
    return DatasetFile(path, PairReader(), source, checksums={name: checksum(text) for name, text in contents.items()})


def test_a_file_is_downloaded_checked_and_found(bare, github, monkeypatch):
    register(monkeypatch, toy())
    (github / "data").mkdir()
    (github / "data" / "pairs.txt").write_bytes(PAIRS)
    assert fetch("toy") == [bare / "similarity" / "toy.txt"]
    assert locate("toy").source == "cache:similarity/toy.txt"
    assert "toy" in available()


def test_what_is_there_is_not_asked_for_again(bare, github, monkeypatch):
    register(monkeypatch, toy())
    (bare / "similarity").mkdir(parents=True)
    (bare / "similarity" / "toy.txt").write_bytes(PAIRS)
    fetch("toy")
    assert Quiet.asked == []


def test_a_folder_of_files(bare, github, monkeypatch):
    contents = {"sts/year/a.txt": b"1\n", "sts/year/part/b.txt": b"2\n"}
    register(
        monkeypatch,
        DatasetFile("sts/year", PairReader(), "data/STS/year", checksums={p: checksum(c) for p, c in contents.items()}),
    )
    for path, content in contents.items():
        target = github / "data" / "STS" / path.removeprefix("sts/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    assert [path.read_bytes() for path in fetch("toy")] == [b"1\n", b"2\n"]


def test_files_out_of_an_archive_that_is_downloaded_once(bare, github, monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inner/one.txt", b"1\n")
        archive.writestr("inner/two.txt", b"2\n")
    (github / "all.zip").write_bytes(buffer.getvalue())
    files = {"set/one.txt": checksum(b"1\n"), "set/two.txt": checksum(b"2\n")}
    register(monkeypatch, DatasetFile("set", PairReader(), "all.zip!inner", checksums=files))
    assert [path.read_bytes() for path in fetch("toy")] == [b"1\n", b"2\n"]
    assert len(Quiet.asked) == 1


def test_an_archive_that_is_none(bare, github, monkeypatch):
    (github / "all.zip").write_bytes(b"<html>moved</html>")
    register(monkeypatch, toy(source="all.zip!inner"))
    with pytest.raises(DataError, match="not the expected archive"):
        fetch("toy")


def test_a_mirror_holds_the_paths_of_the_registry(bare, server, monkeypatch, tmp_path):
    address, folder = server
    register(monkeypatch, toy(source=None))
    (folder / "similarity").mkdir()
    (folder / "similarity" / "toy.txt").write_bytes(PAIRS)
    assert fetch("toy", tmp_path / "here", mirror=f"{address}/") == [tmp_path / "here" / "similarity" / "toy.txt"]


@pytest.mark.parametrize("content", [b"<html>Not found</html>", b"cat\tdog\t4\n", b""])
def test_other_bytes_are_never_kept(bare, github, monkeypatch, content):
    register(monkeypatch, toy())
    (github / "data").mkdir()
    (github / "data" / "pairs.txt").write_bytes(content)
    with pytest.raises(DataError, match="not the published file") as caught:
        fetch("toy")
    assert checksum(PAIRS) in str(caught.value) and "Nothing was kept" in str(caught.value)
    assert not bare.exists() or not [path for path in bare.rglob("*") if path.is_file()]
    with pytest.raises(DataError, match="was not found"):
        locate("toy")


def test_a_download_that_breaks_off(bare, github, monkeypatch):
    register(monkeypatch, toy(source="data/cut-off.txt"))
    with pytest.raises(DataError, match="Nothing was kept"):
        fetch("toy")


def test_a_length_that_is_no_number(bare, github, monkeypatch):
    """D20: a ValueError."""
    register(monkeypatch, toy(source="data/strange.txt"))
    with pytest.raises(DataError, match=r"broke off: .* of abc bytes|Cannot download"):
        fetch("toy")


def test_a_member_that_unpacks_to_too_much(bare, github, monkeypatch):
    """D10: it was unpacked whole before its checksum was compared."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pairs.txt", bytes(3_000_000))
    (github / "data").mkdir(parents=True, exist_ok=True)
    (github / "data" / "set.zip").write_bytes(buffer.getvalue())
    register(monkeypatch, toy(source="data/set.zip!pairs.txt"))
    monkeypatch.setattr(module, "LARGEST", 1 << 20)
    with pytest.raises(DataError, match="unpacks to more than 1 MB"):
        fetch("toy")


def test_an_address_that_has_gone(bare, github, monkeypatch):
    register(monkeypatch, toy())
    with pytest.raises(DataError, match=r"Cannot download .*data/pairs\.txt: .*WORDSTILL_DATA"):
        fetch("toy")


def test_a_server_that_does_not_answer(bare, monkeypatch):
    monkeypatch.setattr(module, "GITHUB_FILES", "http://127.0.0.1:9")
    register(monkeypatch, toy())
    with pytest.raises(DataError, match="Cannot download"):
        fetch("toy")


def test_a_wrong_file_is_replaced(bare, github, monkeypatch):
    register(monkeypatch, toy())
    (github / "data").mkdir()
    (github / "data" / "pairs.txt").write_bytes(PAIRS)
    (bare / "similarity").mkdir(parents=True)
    (bare / "similarity" / "toy.txt").write_bytes(b"damaged")
    fetch("toy")
    assert locate("toy").path.read_bytes() == PAIRS


def test_a_set_that_was_made_by_hand(bare, monkeypatch):
    register(monkeypatch, toy(source=None))
    with pytest.raises(UsageError, match="cannot be downloaded"):
        fetch("toy")
    with pytest.raises(UsageError, match="Did you mean 'simlex999'"):
        fetch("simlex-999")


def test_every_address_is_made_of_repository_commit_and_path():
    addresses = {
        wanted.address
        for row in DATASETS.values()
        if any(copy.source is not None for copy in row.copies)
        for wanted in module.wanted_files(row, None)
    }
    prefix = "https://raw.githubusercontent.com"
    assert f"{prefix}/mfaruqui/eval-word-vectors/94b3dd9f/data/word-sim/EN-RG-65.txt" in addresses
    assert f"{prefix}/FreedomIntelligence/qnn/77f54937/data/STS/STS12-en-test/STS.gs.MSRpar.txt" in addresses
    assert f"{prefix}/nltk/nltk_data/5db857e6/packages/corpora/treebank.zip" in addresses
    assert f"{prefix}/UniversalDependencies/UD_English-EWT/15d613d8/en_ewt-ud-train.conllu" in addresses
    assert not [address for address in addresses if "//" in address.removeprefix("https://")]


def test_a_mirror_of_the_real_thing(data_folder_path, bare, server):
    address, folder = server
    path = "similarity/EN-RG-65.txt"
    (folder / "similarity").mkdir()
    (folder / path).write_bytes((Path(data_folder_path) / path).read_bytes())
    fetch("rg65", mirror=address)
    assert locate("rg65").source == f"cache:{path}"
