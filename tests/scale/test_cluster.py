"""A real Ray cluster of two nodes on this machine, one of which is killed."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from pathlib import Path

import pytest

from wordstill.corpus import PrepareConfig, prepare
from wordstill.corpus.paragraphs import Block
from wordstill.corpus.segment import LineSplitter
from wordstill.corpus.shards import ShardMaker
from wordstill.errors import DataError, MissingExtra, UsageError
from wordstill.scale import ScaleConfig, distill_in_shards
from wordstill.scale.cluster import _made, shards_on_cluster

SHARD = 60
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_ray_the_extra_is_named(tmp_path, store, config, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"--ray needs the package 'ray'.*wordstill\[scale\]"):
        distill_in_shards(store, tmp_path / "out", config, ScaleConfig(ray="auto"))
    with pytest.raises(MissingExtra, match=r"--ray needs the package 'ray'.*wordstill\[scale\]"):
        shards_on_cluster("auto")


@needs_ray
def test_a_node_that_dies_changes_nothing_and_text_is_prepared_alike(tmp_path, store, config, short_text):
    import ray
    from ray.cluster_utils import Cluster

    distill_in_shards(store, tmp_path / "inline", config, ScaleConfig(shard_words=SHARD))
    two = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        doomed = two.add_node(num_cpus=1)
        out = tmp_path / "cluster"
        done = out.with_name("cluster.partial") / "shards" / "done"

        def kill() -> None:
            while not (done.exists() and any(done.iterdir())):
                time.sleep(0.01)
            two.remove_node(doomed, allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        distill_in_shards(store, out, config, ScaleConfig(ray=two.address, shard_words=SHARD))
        killer.join()
        assert contents(out) == contents(tmp_path / "inline")
        run = shards_on_cluster(two.address)
        prepare(short_text, tmp_path / "by ray", block_bytes=500, run=run)
        prepare(short_text, tmp_path / "here", block_bytes=500, workers=1)
        assert contents(tmp_path / "by ray") == contents(tmp_path / "here")
    finally:
        ray.shutdown()
        two.shutdown()


@needs_ray
def test_no_cluster_is_one_line(tmp_path, store, config):
    with pytest.raises(UsageError, match=r"no Ray cluster at 127.0.0.1:1 .*ray start --head"):
        distill_in_shards(store, tmp_path / "out", config, ScaleConfig(ray="127.0.0.1:1", shard_words=SHARD))


def test_a_node_with_another_version_prepares_nothing(tmp_path):
    with pytest.raises(DataError, match=r"run was started with 0\.0.*Install the same version"):
        _made(ShardMaker(PrepareConfig(), LineSplitter(), tmp_path), Block(0, ()), "0.0")
