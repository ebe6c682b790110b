"""A real Ray cluster of two nodes on this machine, one of which is killed."""

from __future__ import annotations

import importlib.util
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordstill.cli.app import main
from wordstill.corpus import PrepareConfig, prepare
from wordstill.corpus.paragraphs import Block
from wordstill.corpus.segment import LineSplitter
from wordstill.corpus.shards import ShardMaker
from wordstill.errors import DataError, MissingExtra, UsageError
from wordstill.scale import ScaleConfig, distill_in_shards
from wordstill.scale.cluster import ClusterPool, make_shard, shards_on_cluster, share_of_gpu

# A busy machine starts workers slowly, and the run says so.
pytestmark = pytest.mark.filterwarnings("ignore:No worker is ready:UserWarning")

SHARD = 60
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster whose first node has one core."""
    import ray
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield started
    finally:
        ray.shutdown()
        started.shutdown()


def test_without_ray_the_extra_is_named(tmp_path, store, config, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"--ray needs the package 'ray'.*wordstill\[scale\]"):
        distill_in_shards(store, tmp_path / "out", config, ScaleConfig(ray="auto"))
    with pytest.raises(MissingExtra, match=r"--ray needs the package 'ray'.*wordstill\[scale\]"):
        shards_on_cluster("auto")


@pytest.mark.parametrize(
    ("gpus", "workers", "share"), [(1, None, 1), (1, 2, 1 / 2), (4, 2, 1), (4, 4, 1), (2, 3, 1 / 2), (2, 8, 1 / 4)]
)
def test_workers_share_gpus_where_there_are_more_of_them(gpus, workers, share):
    assert share_of_gpu(gpus, workers) == share


@pytest.mark.slow
@needs_ray
def test_a_node_that_dies_changes_nothing_and_text_is_prepared_alike(tmp_path, cluster, store, config, short_text):
    distill_in_shards(store, tmp_path / "inline", config, ScaleConfig(shard_words=SHARD))
    doomed = cluster.add_node(num_cpus=1)
    out = tmp_path / "cluster"
    done = out.with_name("cluster.partial") / "shards" / "done"

    def kill() -> None:
        while not (done.exists() and any(done.iterdir())):
            time.sleep(0.01)
        cluster.remove_node(doomed, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    distill_in_shards(store, out, config, ScaleConfig(ray=cluster.address, shard_words=SHARD))
    killer.join()
    assert contents(out) == contents(tmp_path / "inline")
    run = shards_on_cluster(cluster.address)
    prepare(short_text, tmp_path / "by ray", block_bytes=500, run=run)
    prepare(short_text, tmp_path / "here", block_bytes=500, workers=1)
    assert contents(tmp_path / "by ray") == contents(tmp_path / "here")


@pytest.mark.slow
@needs_ray
def test_the_command_line_shows_words_while_a_shard_is_read(
    tmp_path, cluster, short_text, saved_teacher, capsys, monkeypatch
):
    content = short_text.read_text()
    (tmp_path / "text.txt").write_text(content * (200_000 // len(content)))
    store = tmp_path / "store"
    prepare(tmp_path / "text.txt", store, workers=1)
    events = []
    real = ClusterPool.poll

    def seen(self, seconds):
        found = real(self, seconds)
        events.extend(found)
        return found

    monkeypatch.setattr(ClusterPool, "poll", seen)
    options = ["--method", "ase:layer=2", "--teacher", str(saved_teacher), "--device", "cpu", "--dtype", "float32"]
    options += ["--min-count", "3", "--batch-tokens", "60", "--workers", "1", "--ray", cluster.address]
    monkeypatch.setattr(sys, "argv", ["wordstill", "distill", str(store), "--out", str(tmp_path / "out"), *options])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert not end.value.code, said.err
    assert "Distilled 1 table" in said.out
    assert any(event.words and event.part is None for event in events)


@needs_ray
def test_a_port_that_is_no_cluster_of_ours_is_not_called_absent(tmp_path, store, config, monkeypatch):
    import ray

    def refused(**_):
        raise ConnectionError("not let in")

    monkeypatch.setattr(ray, "init", refused)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"{address} answers, but Ray cannot connect.*not let in.*token"):
            distill_in_shards(store, tmp_path / "out", config, ScaleConfig(ray=address, shard_words=SHARD))


@needs_ray
def test_local_starts_ray_here(tmp_path, store, config, monkeypatch):
    import ray

    given = {}

    def init(**settings):
        given.update(settings)
        raise RuntimeError("not now")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(UsageError, match="not now"):
        distill_in_shards(store, tmp_path / "out", config, ScaleConfig(ray="local", shard_words=SHARD))
    assert given["address"] == "local"


@needs_ray
def test_no_cluster_is_one_line(tmp_path, store, config):
    with pytest.raises(UsageError, match=r"no Ray cluster at '127.0.0.1:1' .*ray start --head"):
        distill_in_shards(store, tmp_path / "out", config, ScaleConfig(ray="127.0.0.1:1", shard_words=SHARD))


def test_a_node_with_another_version_prepares_nothing(tmp_path):
    with pytest.raises(DataError, match=r"run was started with 0\.0.*Install the same version"):
        make_shard(ShardMaker(PrepareConfig(), LineSplitter(), tmp_path), Block(0, ()), "0.0")
