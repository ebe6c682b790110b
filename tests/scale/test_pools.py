"""Pools: a part is stored while the next shard is read."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from wordstill.errors import DataError
from wordstill.scale import ScaleConfig, distill_in_shards, pools
from wordstill.scale.ledger import Claim
from wordstill.scale.partition import ShardReader
from wordstill.scale.pools import InlinePool
from wordstill.scale.shared_folder import LocalFolder

SECONDS = 30.0


@dataclass(frozen=True)
class Piece:
    number: int
    words: int = 1
    place: str = "here"


class Made:
    def __init__(self, written: threading.Event) -> None:
        self.written = written

    def write(self, path: Path) -> None:
        assert self.written.wait(SECONDS), "nothing is read meanwhile"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"a part")


class Reader:
    """Each of its parts can be written only once the next piece is read."""

    def __init__(self) -> None:
        self.last = threading.Event()

    def read(self, piece, report=None):
        self.last.set()
        self.last = threading.Event()
        return Made(self.last)


@pytest.mark.parametrize(
    ("workers", "ray", "on_gpu", "times"),
    [
        (1, False, False, 1),
        (2, False, False, 1),
        (4, False, False, 2),
        (16, False, False, 8),
        (4, True, False, 8),
        (2, False, True, 1),
        (6, False, True, 3),
    ],
)
def test_a_worker_with_fewer_cores_takes_longer(monkeypatch, workers, ray, on_gpu, times):
    monkeypatch.setattr(pools, "usable_cores", lambda: 16)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pools.slowdown(workers, ray=ray, on_gpu=on_gpu) == times


def test_a_part_is_stored_while_the_next_piece_is_read(tmp_path):
    reader, events = Reader(), []
    pool = InlinePool(reader, LocalFolder(tmp_path))
    for number in range(3):
        assert pool.idle() == [0]
        pool.start(0, Piece(number), Claim(number, 1))
        events += pool.poll(0)
    reader.last.set()
    pool.close()
    events += pool.poll(0)
    assert [event.claim.shard for event in events if event.part] == [0, 1, 2]
    assert sum(event.words for event in events) == 3
    assert sorted(f"parts/{path.name}" for path in (tmp_path / "parts").iterdir()) == sorted(
        event.part for event in events if event.part
    )


def test_a_shard_whose_part_cannot_be_stored_is_read_again(tmp_path, store, config, monkeypatch):
    real, read, failed = LocalFolder.store, [], []
    real_read = ShardReader.read

    def store_part(self, name, write):
        if name.startswith("parts/1.") and not failed:
            failed.append(name)
            raise DataError("no room")
        real(self, name, write)

    def counted(self, shard, *rest):
        read.append(shard.number)
        return real_read(self, shard, *rest)

    scale = ScaleConfig(shard_words=60)
    distill_in_shards(store, tmp_path / "one", config, scale)
    monkeypatch.setattr(LocalFolder, "store", store_part)
    monkeypatch.setattr(ShardReader, "read", counted)
    distill_in_shards(store, tmp_path / "two", config, scale)
    assert failed
    assert read.count(1) == 2
    assert read.count(0) == 1
    for path in (tmp_path / "one").rglob("*.safetensors"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()
