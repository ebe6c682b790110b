"""Runs whose text, result or ledger is in an object store: a real S3 server, and uploads that are torn."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from wordstill import WordVectors
from wordstill.core.object_stores import LIST, Output, address_of, fetch_result
from wordstill.corpus import prepare
from wordstill.distillation import distill
from wordstill.errors import DataError, UsageError
from wordstill.scale import ScaleConfig, distill_in_shards
from wordstill.scale.incremental import add, merge
from wordstill.scale.ledger import Ledger
from wordstill.scale.shared_folder import ObjectFolder

pytestmark = pytest.mark.usefixtures("models_read_once")

fsspec = pytest.importorskip("fsspec")
if not all(importlib.util.find_spec(name) for name in ("moto", "s3fs", "flask")):
    pytest.skip("moto[server] or s3fs is not installed", allow_module_level=True)

SHARD = 150


@pytest.fixture(scope="module")
def server():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def s3(server, tmp_path, monkeypatch):
    host, port = server.get_host_and_port()
    given = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    given |= dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "testing")
    given["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    store = fsspec.filesystem("s3")
    store.mkdir("bucket")
    yield store
    store.invalidate_cache()
    store.rm("bucket", recursive=True)
    type(store).clear_instance_cache()


@pytest.fixture
def torn(s3, monkeypatch):
    """Makes the next uploads of files break off, with an error or silently."""
    real, left = type(s3)._put_file, {"error": 0, "silent": 0}

    async def put(self, local, name, **more):
        if left["error"]:
            left["error"] -= 1
            raise ConnectionError("the line is dead")
        if left["silent"]:
            left["silent"] -= 1
            short = Path(f"{local}.short")
            short.write_bytes(Path(local).read_bytes()[:9])
            await real(self, str(short), name, **more)
            return short.unlink()
        return await real(self, local, name, **more)

    monkeypatch.setattr(type(s3), "_put_file", put)
    # An instance has bound its methods.
    type(s3).clear_instance_cache()
    return left


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_path_keeps_its_address():
    assert address_of(Path("s3://bucket/vectors")) == "s3://bucket/vectors"
    assert address_of("vectors") is address_of("C:/vectors") is address_of("/tmp/a:/b") is None


def test_text_and_table_are_made_in_a_bucket_and_read_from_there(tmp_path, s3, short_text, config):
    prepared = prepare(short_text, "s3://bucket/store", workers=1)
    assert prepared.hash == prepare(short_text, tmp_path / "store", workers=1).hash
    with pytest.raises(UsageError, match=r"s3://bucket/store exists already.*--overwrite"):
        prepare(short_text, "s3://bucket/store", workers=1)
    one = replace(config, methods=("ase:layer=2",))
    distill("s3://bucket/store", "s3://bucket/vectors", config=one)
    distill(tmp_path / "store", tmp_path / "vectors", config=one)
    found = fetch_result("s3://bucket/vectors")
    assert contents(found) == contents(tmp_path / "vectors")
    table = WordVectors.load("s3://bucket/vectors")
    table.save("s3://bucket/vectors.kv", "gensim")
    assert WordVectors.load(tmp_path / "vectors").words == table.words
    assert {"bucket/vectors.kv"} <= {*s3.find("bucket")}


def test_another_machine_copies_the_whole_result_and_checks_it(tmp_path, s3, short_text, monkeypatch):
    expected = contents(prepare(short_text, "s3://bucket/store", workers=1).path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert contents(fetch_result("s3://bucket/store")) == expected
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "third"))
    name = max(s3.find("bucket/store"), key=s3.size)
    s3.pipe_file(name, b"x" * s3.size(name))
    with pytest.raises(DataError, match="with another SHA-256, 3 times"):
        fetch_result("s3://bucket/store")


@pytest.mark.parametrize("kind", ["error", "silent"])
def test_a_torn_upload_is_made_again_or_named_and_the_same_command_ends_it(
    tmp_path, s3, torn, store, config, kind, monkeypatch
):
    scale = ScaleConfig(keep_sums=True, shard_words=SHARD)
    distill_in_shards(store, tmp_path / "here", config, scale)
    torn[kind] = 2
    distill_in_shards(store, "s3://bucket/first", config, scale)
    assert contents(fetch_result("s3://bucket/first")) == contents(tmp_path / "here")
    torn[kind] = 3
    with pytest.raises(DataError, match=r"cannot be uploaded, tried 3 times.*The same command tries again"):
        distill_in_shards(store, "s3://bucket/second", config, scale)
    assert fetch_result("s3://bucket/second") is None
    # Nothing is read again.
    monkeypatch.setattr("wordstill.scale.partition.ShardReader.read", None)
    distill_in_shards(store, "s3://bucket/second", config, scale)
    assert contents(fetch_result("s3://bucket/second")) == contents(tmp_path / "here")


def test_text_is_added_and_tables_are_merged_in_a_bucket(tmp_path, s3, store, config):
    one = replace(config, methods=("ase:layer=2",))
    (tmp_path / "more.txt").write_text("The old river keeps the heat. The still is old.", encoding="utf-8")
    for place in (str(tmp_path / "here"), "s3://bucket/there"):
        distill_in_shards(store, place, one, ScaleConfig(keep_sums=True))
        add(place, tmp_path / "more.txt", device="cpu", dtype="float32")
    assert contents(fetch_result("s3://bucket/there")) == contents(tmp_path / "here")
    merge(["s3://bucket/there"], "s3://bucket/merged", min_count=2)
    merge([tmp_path / "here"], tmp_path / "merged", min_count=2)
    assert contents(fetch_result("s3://bucket/merged")) == contents(tmp_path / "merged")
    with pytest.raises(UsageError, match=r"s3://bucket/merged exists already.*--overwrite"):
        merge(["s3://bucket/there"], "s3://bucket/merged")


def test_a_result_is_replaced_and_nothing_else_is_touched(tmp_path, s3):
    s3.pipe_file("bucket/out/notes.txt", b"mine")
    for number, names in enumerate((("a", "b"), ("a", "c"))):
        output = Output.at("s3://bucket/out", overwrite=bool(number))
        output.path.mkdir(parents=True)
        for name in names:
            (output.path / name).write_bytes(b"%d" % number)
        output.publish()
    assert contents(fetch_result("s3://bucket/out")) == {"a": b"1", "c": b"1"}
    assert {name.rpartition("/")[2] for name in s3.find("bucket/out")} == {"a", "c", LIST, "notes.txt"}


def test_two_join_over_a_bucket(tmp_path, s3, store, config, monkeypatch):
    monkeypatch.setattr(ObjectFolder, "pause", 0.2)
    expected = tmp_path / "here"
    distill_in_shards(store, expected, config, ScaleConfig(keep_sums=True, shard_words=SHARD))
    scale = ScaleConfig(join=True, keep_sums=True, shard_words=SHARD)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(distill_in_shards, store, "s3://bucket/joined", config, scale) for _ in range(2)]
    assert sum(run.result() is not None for run in runs) == 1
    assert contents(fetch_result("s3://bucket/joined")) == contents(expected)
    assert not s3.exists("bucket/joined.partial")
    assert distill_in_shards(store, "s3://bucket/joined", config, scale) is None


def test_the_ledger_of_a_bucket_gives_a_shard_once(s3):
    ledgers = [Ledger(ObjectFolder("s3://bucket/run.partial/shards"), lease=1000) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(lambda ledger: [ledger.claim(n, {}) for n in range(5)], ledgers))
    assert [sum(claim is not None for claim in column) for column in zip(*won)] == [1] * 5
    (claim,) = [claims[0] for claims in won if claims[0]]
    other = ledgers[0]
    assert other.claim(0, other.held()) is None
    other.lease = -1.0
    assert other.claim(0, other.held()).attempt == 2
    assert other.commit(claim, "parts/0.1-x")


def test_a_store_that_writes_twice_is_refused(store, config):
    from fsspec.implementations.memory import MemoryFileSystem

    class Careless(MemoryFileSystem):
        protocol = "careless"

        def pipe_file(self, path, value, mode="overwrite", **more):
            super().pipe_file(path, value, "overwrite", **more)

    fsspec.register_implementation("careless", Careless, clobber=True)
    with pytest.raises(UsageError, match="refuse to write an object twice"):
        distill_in_shards(store, "careless://bucket/joined", config, ScaleConfig(join=True))
