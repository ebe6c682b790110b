from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from wordstill.core.resume import CHECKPOINT, CheckpointFile, Progress, differences, refuse_change
from wordstill.core.tensors import write_tensors
from wordstill.errors import DataError

RECIPE = {"teacher": {"name": "tiny", "dtype": "float32"}, "seed": 0, "methods": {"still": {"dim": 3}}}
TENSORS = {
    "still/sums": torch.arange(6, dtype=torch.float32).reshape(2, 3).T,
    "still/counts": torch.tensor([3, 0, 1]),
    "ase/alone": torch.empty(0, 3),
    "ase/products": torch.full((2, 2), torch.pi, dtype=torch.float64),
}


@pytest.fixture
def file(tmp_path: Path) -> CheckpointFile:
    return CheckpointFile(tmp_path / "work" / CHECKPOINT, json.dumps(RECIPE))


def test_nothing_saved_yet(file):
    assert file.load() is None


def test_the_last_state_comes_back_bit_for_bit(file):
    file.save(Progress(), {"still/sums": torch.zeros(1)})
    file.save(Progress(1, (20, 3), 400, 2), TENSORS)
    progress, tensors = file.load()
    assert progress == Progress(stage=1, position=(20, 3), words=400, cut=2)
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)
        tensors[name].add_(1)
    assert [path.name for path in file.path.parent.iterdir()] == [CHECKPOINT]


def test_other_settings_are_named_field_by_field(file):
    file.save(Progress(), TENSORS)
    other = {
        "teacher": {"name": "tiny", "dtype": "bfloat16"},
        "seed": 0,
        "methods": {"still": {"dim": 4}, "ase": {}},
    }
    with pytest.raises(DataError) as caught:
        CheckpointFile(file.path, json.dumps(other)).load()
    message = str(caught.value)
    assert f"{file.path} belongs to a run with other settings" in message
    assert "teacher.dtype was 'float32', now 'bfloat16'; methods.still.dim was 3, now 4" in message
    assert "teacher.name" not in message and "seed" not in message
    assert "Resume with the same settings, or start again with --overwrite." in message


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"a": 1}, {"a": 1}, ""),
        ({"a": 1}, {}, "a was 1, now 'absent'"),
        ({"a": {}}, {}, "a was {}, now 'absent'"),
        ({}, {"a": {"b": None}}, "a was 'absent', now {'b': None}"),
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
START = json.dumps({"position": [0, 0]})
DAMAGED_METADATA = {
    "no recipe": {"progress": START},
    "no progress": {"recipe": json.dumps(RECIPE)},
    "recipe is no JSON": {"recipe": "{", "progress": START},
    "recipe is no object": {"recipe": "[1]", "progress": START},
    "progress of another version": {
        "recipe": json.dumps(RECIPE),
        "progress": '{"position": [0, 0], "epoch": 1}',
    },
    "progress is no object": {"recipe": json.dumps(RECIPE), "progress": "5"},
}
DAMAGED = r"The checkpoint .* is damaged \(.+\)\. Start again with --overwrite"


@pytest.mark.parametrize("damage", DAMAGED_BYTES.values(), ids=DAMAGED_BYTES)
def test_damaged_bytes_are_told(file, damage):
    file.save(Progress(), TENSORS)
    file.path.write_bytes(damage(file.path.read_bytes()))
    with pytest.raises(DataError, match=DAMAGED):
        file.load()


@pytest.mark.parametrize("metadata", DAMAGED_METADATA.values(), ids=DAMAGED_METADATA)
def test_damaged_metadata_are_told(file, metadata):
    file.path.parent.mkdir()
    write_tensors(file.path, {"x": torch.zeros(1).numpy()}, metadata)
    with pytest.raises(DataError, match=DAMAGED):
        file.load()


def test_a_checkpoint_that_cannot_be_opened_is_told(file):
    file.path.mkdir(parents=True)
    with pytest.raises(DataError, match=DAMAGED):
        file.load()


def test_a_full_disk_keeps_the_last_state(file, monkeypatch):
    file.save(Progress(words=1), TENSORS)

    def full(path: Path, *_: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wordstill.core.resume.write_tensors", full)
    with pytest.raises(DataError, match="No space left on device"):
        file.save(Progress(words=2), TENSORS)
    assert file.load()[0].words == 1
    assert [path.name for path in file.path.parent.iterdir()] == [CHECKPOINT]


def test_facts_are_noted_and_compared(tmp_path):
    record = tmp_path / "work" / "text.json"
    refuse_change(record, {"bytes of": {"a.txt": 5}})
    refuse_change(record, {"bytes of": {"a.txt": 5}})
    with pytest.raises(
        DataError, match=r"started with another text: bytes of\.a\.txt was 5, now 6\. Resume with"
    ):
        refuse_change(record, {"bytes of": {"a.txt": 6}})
    for damage in (b"{", b"[1]"):
        record.write_bytes(damage)
        with pytest.raises(DataError, match=r"text\.json is damaged"):
            refuse_change(record, {})
