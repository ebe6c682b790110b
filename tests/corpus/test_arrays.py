from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordstill.corpus.disk_arrays import ArrayFile, ArrayWriter, read_array


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("parts", [[], [[]], [[1]], [[1, 2], [], [3]], [list(range(100_000)), [7]]])
def test_a_streamed_array_is_what_numpy_reads(tmp_path: Path, dtype: type, parts: list[list[int]]) -> None:
    path = tmp_path / "array.npy"
    with ArrayWriter(path, dtype) as writer:
        for part in parts:
            writer.extend(part)
    expected = np.array([value for part in parts for value in part], dtype=dtype)
    assert writer.length == len(expected)
    for array in (np.load(path), np.load(path, mmap_mode="r"), read_array(path)):
        assert array.dtype == dtype
        np.testing.assert_array_equal(array, expected)


def test_an_interrupted_array_does_not_pretend_to_be_complete(tmp_path: Path) -> None:
    path = tmp_path / "array.npy"
    with pytest.raises(KeyError), ArrayWriter(path, np.int64) as writer:
        writer.extend([1, 2, 3])
        raise KeyError
    assert len(np.load(path)) == 0


def test_parts_that_are_written_in_any_order_make_the_streamed_array(tmp_path: Path) -> None:
    streamed, placed = tmp_path / "streamed.npy", tmp_path / "placed.npy"
    with ArrayWriter(streamed, np.int64) as writer:
        writer.extend([0, 1, 2, 3, 4, 5, 0])
    file = ArrayFile(placed, np.int64, 7)
    file.write(3, [3])
    file.write_pieces([4, 1, 0], np.array([4, 5, 1, 2], dtype=np.uint32), [2, 2, 0])
    assert placed.read_bytes() == streamed.read_bytes()
    assert file.read(2, 3).tolist() == [2, 3, 4]
