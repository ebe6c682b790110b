from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from wordstill.core.resume import CHECKPOINT, CheckpointFile, differences
from wordstill.core.tensors import write_tensors
from wordstill.errors import DataError

RECIPE = {"teacher": {"name": "tiny", "dtype": "float32"}, "seed": 0, "methods": {"still": {"dim": 3}}}
ARRAYS = {
    "still/sums": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "still/counts": np.array([3, 0, 1]),
    "ase/alone": np.empty((0, 3), dtype=np.float32),
    "ase/products": np.full((2, 2), np.pi),
}


@dataclass(frozen=True)
class Progress:
    words: int = 0
    cut: int = 0


@pytest.fixture
def file(tmp_path: Path) -> CheckpointFile:
    return CheckpointFile(tmp_path / "work" / CHECKPOINT, json.dumps(RECIPE))


def test_nothing_saved_yet(file):
    assert file.load(Progress) is None


def test_the_last_state_comes_back_bit_for_bit(file):
    file.save({}, {"still/sums": np.zeros(1)})
    file.save({"words": 400, "cut": 2}, ARRAYS)
    progress, arrays = file.load(Progress)
    assert progress == Progress(words=400, cut=2)
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert [path.name for path in file.path.parent.iterdir()] == [CHECKPOINT]


def test_other_settings_are_named_field_by_field(file):
    file.save({}, ARRAYS)
    other = {"teacher": {"name": "tiny", "dtype": "bfloat16"}, "seed": 0, "methods": {"still": {"dim": 4}, "ase": {}}}
    with pytest.raises(DataError) as caught:
        CheckpointFile(file.path, json.dumps(other)).load(Progress)
    message = str(caught.value)
    assert f"{file.path} was made with other settings" in message
    assert "teacher.dtype was 'float32', now 'bfloat16'; methods.still.dim was 3, now 4" in message
    assert "teacher.name" not in message and "seed" not in message
    assert "Use those again, or start again with --overwrite (overwrite=True)." in message


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"a": 1}, {"a": 1}, ""),
        ({"a": 1}, {}, "a is missing now"),
        ({"a": {"b": {}}}, {"a": {}}, "a.b is missing now"),
        ({"files": {}}, {"files": {"x/a.txt": "0"}}, "x/a.txt is new"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "a was [1, 2], now [2, 1]"),
        ({"a": {"b": 1}, "c": 2}, {"a": 5, "c": 3}, "a was {'b': 1}, now 5; c was 2, now 3"),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 1, "d": 0}}}, "a.b.d was 2, now 0"),
    ],
)
def test_differences(before, now, expected):
    assert differences(before, now) == expected


DAMAGED_BYTES = {
    "cut": lambda whole: whole[:-1],
    "empty": lambda whole: b"",
    "other file": lambda whole: b"PK\x03\x04 not this at all",
}
START = json.dumps({"words": 0})
DAMAGED_METADATA = {
    "no recipe": {"progress": START},
    "no progress": {"recipe": json.dumps(RECIPE)},
    "recipe is no JSON": {"recipe": "{", "progress": START},
    "recipe is no object": {"recipe": "[1]", "progress": START},
    "progress of another version": {"recipe": json.dumps(RECIPE), "progress": '{"words": 0, "epoch": 1}'},
    "progress is no object": {"recipe": json.dumps(RECIPE), "progress": "5"},
    "progress is nested for ever": {"recipe": json.dumps(RECIPE), "progress": "[" * 100_000},
}
DAMAGED = r"The checkpoint .* is damaged \(.+\): start again with --overwrite"


@pytest.mark.parametrize("damage", DAMAGED_BYTES.values(), ids=DAMAGED_BYTES)
def test_damaged_bytes_are_told(file, damage):
    file.save({}, ARRAYS)
    file.path.write_bytes(damage(file.path.read_bytes()))
    with pytest.raises(DataError, match=DAMAGED):
        file.load(Progress)


def test_one_flipped_bit_anywhere_is_told(file):
    """D2: a checkpoint had no checksum, and a flipped bit of the sums gave other vectors."""
    file.save({"words": 400, "cut": 2}, ARRAYS)
    whole = file.path.read_bytes()
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        file.path.write_bytes(damaged)
        with pytest.raises(DataError, match=DAMAGED):
            file.load(Progress)


def test_a_checkpoint_without_a_checksum_is_refused(file):
    """Found by fuzzing: without the checksum, other numbers were taken."""
    file.path.parent.mkdir()
    write_tensors(file.path, ARRAYS, {"recipe": json.dumps(RECIPE), "progress": START})
    with pytest.raises(DataError, match="has no checksum"):
        file.load(Progress)


@pytest.mark.parametrize("metadata", DAMAGED_METADATA.values(), ids=DAMAGED_METADATA)
def test_damaged_metadata_are_told(file, metadata):
    file.path.parent.mkdir()
    write_tensors(file.path, {"x": np.zeros(1)}, metadata, checksum=True)
    with pytest.raises(DataError, match=DAMAGED):
        file.load(Progress)


def test_a_checkpoint_that_cannot_be_opened_is_told(file):
    file.path.mkdir(parents=True)
    with pytest.raises(DataError, match=DAMAGED):
        file.load(Progress)


def test_a_full_disk_keeps_the_last_state(file, monkeypatch):
    file.save({"words": 1}, ARRAYS)

    def full(path: Path, *_: object, **__: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wordstill.core.resume.write_tensors", full)
    with pytest.raises(DataError, match="No space left on device"):
        file.save({"words": 2}, ARRAYS)
    assert file.load(Progress)[0].words == 1
    assert [path.name for path in file.path.parent.iterdir()] == [CHECKPOINT]
