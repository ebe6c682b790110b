"""Text in object stores: a real S3 server, and transfers that end too early."""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

from wordstill.core.object_stores import LIST, fetch, fetch_result, is_address, store_errors
from wordstill.corpus import prepare
from wordstill.errors import DataError, MissingExtra

fsspec = pytest.importorskip("fsspec")
S3 = all(importlib.util.find_spec(name) for name in ("moto", "s3fs", "flask"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def memory():
    store = fsspec.filesystem("memory")
    store.pipe({"/texts/b.txt": b"The second text.", "/texts/a.txt": b"The first text.", "/texts/.hidden": b"x"})
    yield store
    store.rm("/texts", recursive=True)


def test_addresses_are_known():
    assert is_address("s3://bucket/text.txt")
    assert not is_address("C:/text.txt")
    assert not is_address("folder/text.txt")


def test_files_of_a_folder_and_a_pattern_come_in_order(memory):
    for address in ("memory://texts", "memory://texts/*.txt"):
        found = fetch(address)
        assert [name for name, _ in found] == ["memory://texts/a.txt", "memory://texts/b.txt"]
        assert [path.read_bytes() for _, path in found] == [b"The first text.", b"The second text."]
    with pytest.raises(DataError, match="There is no file at memory://nothing"):
        fetch("memory://nothing")
    with pytest.raises(DataError, match="Known are the addresses of fsspec"):
        fetch("nonsense://texts")


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (PermissionError("forbidden"), "Set the credentials"),
        (FileNotFoundError("no such bucket"), "Check the address"),
        (ConnectionError("the line is dead"), "The same command tries again"),
    ],
)
def test_what_to_do_depends_on_what_the_store_says(error, remedy):
    refused = pytest.raises(DataError, match=rf"s3://bucket/a cannot be read: .*{error}\. {remedy}")
    with refused, store_errors("s3://bucket/a", "read"):
        raise error


def test_a_transfer_that_ends_too_early_is_made_again(memory, monkeypatch):
    real, calls = type(memory).get_file, []

    def torn(self, name, local, **more):
        real(self, name, local, **more)
        calls.append(name)
        if len(calls) < broken:
            os.truncate(local, 3)

    monkeypatch.setattr(type(memory), "get_file", torn)
    broken = 3
    assert fetch("memory://texts/a.txt")[0][1].read_bytes() == b"The first text."
    assert len(calls) == 3
    broken = 10**6
    with pytest.raises(DataError, match=r"came in 3 bytes, expected 16, 3 times"):
        fetch("memory://texts/b.txt")
    broken = 0
    assert fetch("memory://texts/b.txt")[0][1].read_bytes() == b"The second text."


def test_a_package_that_is_missing_is_named_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingExtra, match=r"gs:// needs the package 'gcsfs'.*pip install gcsfs$"):
        fetch("gs://bucket/text.txt")


@pytest.mark.skipif(not S3, reason="moto[server] or s3fs is not installed")
def test_text_is_prepared_from_an_s3_server(tmp_path, monkeypatch, short_text):
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        store = fsspec.filesystem("s3", skip_instance_cache=True)
        store.mkdir("texts")
        store.pipe("texts/corpus/one.txt", short_text.read_bytes())
        fsspec.config.conf["s3"] = {"skip_instance_cache": True}
        there = prepare("s3://texts/corpus/*.txt", tmp_path / "there", workers=1)
        here = prepare(short_text, tmp_path / "here", workers=1)
        assert there.hash == here.hash
        assert there.meta["sources"] == ["s3://texts/corpus/one.txt"]
    finally:
        fsspec.config.conf.pop("s3", None)
        server.stop()


@pytest.mark.parametrize("listed", [b"[1]", b"{", b'{"a": 5}', b'{"a": {}}', b'{"../a": {"size": 1, "sha256": "x"}}'])
def test_a_damaged_list_of_a_result_is_refused(memory, listed):
    memory.pipe_file(f"/texts/out/{LIST}", listed)
    with pytest.raises(DataError, match="memory://texts/out"):
        fetch_result("memory://texts/out")
