from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from wordstill.core.tensors import map_array, map_tensors, read_checked, write_tensors
from wordstill.errors import FormatError

TENSORS = {
    "vectors": np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32),
    "counts": np.arange(5),
    "half": np.ones((2, 2, 2), np.float16),
    "none": np.empty((0, 4), np.float32),
}


def assert_same(got, expected):
    assert set(got) == set(expected)
    for name, tensor in expected.items():
        assert got[name].dtype == tensor.dtype
        np.testing.assert_array_equal(got[name], tensor)


def test_the_safetensors_library_reads_what_we_write(tmp_path):
    write_tensors(tmp_path / "x", TENSORS, {"format": "wordstill"})
    assert_same(load_file(tmp_path / "x"), TENSORS)
    with safe_open(tmp_path / "x", "numpy") as opened:
        assert opened.metadata() == {"format": "wordstill"}


def test_we_read_what_the_safetensors_library_writes(tmp_path):
    save_file(TENSORS, tmp_path / "x", {"a": "b"})
    tensors, metadata = map_tensors(tmp_path / "x")
    assert_same(tensors, TENSORS)
    assert metadata == {"a": "b"}


def test_arrays_are_mapped_aligned_and_read_only(tmp_path):
    write_tensors(tmp_path / "x", TENSORS, {})
    tensors, _ = map_tensors(tmp_path / "x")
    assert isinstance(tensors["vectors"], np.memmap)
    assert all(tensor.flags.aligned for tensor in tensors.values())
    with pytest.raises(ValueError, match="read-only"):
        tensors["vectors"][0] = 1


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"v": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "said to have 0 bytes"),
        (b"\x05", "said to have 5 bytes"),
        (b"\xff" * 8, "said to have 18446744073709551615 bytes, expected 2 to 0; the file has 8"),
        (file_of({})[:-1], "said to have 2 bytes, expected 2 to 1; the file has 9"),
        (file_of(b"{]"), "not JSON"),
        (file_of(b"\xff\xff"), "not JSON"),
        (file_of(b"[" * 100_000), "not JSON"),
        (file_of([1]), "JSON list, expected an object"),
        (file_of({"v": 3}), "entry for 'v' is not an object"),
        (file_of({"__metadata__": 3}), "not an object"),
        (file_of(entry(dtype="O"), bytes(8)), "type 'O'"),
        (file_of(entry(dtype=[]), bytes(8)), r"type \[\]"),
        (file_of(entry(shape=[-2]), bytes(8)), "make no sense"),
        (file_of(entry(shape=[2.0]), bytes(8)), "make no sense"),
        (file_of(entry(shape=[True, 2]), bytes(8)), "make no sense"),
        (file_of(entry(shape=None), bytes(8)), "make no sense"),
        (file_of(entry(offsets=[0]), bytes(8)), "make no sense"),
        (file_of(entry(offsets=[0, 12]), bytes(12)), "needs 8 bytes, its offsets give 12"),
        (file_of(entry(offsets=[8, 0]), bytes(8)), "needs 8 bytes, its offsets give -8"),
        (file_of(entry(shape=[1 << 70], offsets=[0, 4 << 70]), bytes(8)), "make no sense"),
        (file_of(entry(shape=[1 << 40], offsets=[0, 4 << 40]), bytes(8)), "the data has 8 bytes, expected"),
        (file_of(entry(shape=[0, 10**30], offsets=[0, 0])), "make no sense"),
        (file_of(entry(shape=[0, 1 << 62, 1 << 62], offsets=[0, 0])), "make no sense"),
        (file_of(entry(shape=[1] * 70, offsets=[0, 4]), bytes(4)), "make no sense"),
        (file_of(b'{"a": {}, "a": {}}'), "a name comes twice"),
        (file_of(entry(), bytes(7)), "the data has 7 bytes, expected 8"),
        (file_of(entry(), bytes(9)), "the data has 9 bytes, expected 8"),
        (file_of(entry(offsets=[4, 12]), bytes(12)), "begins at byte 4 of the data, expected 0"),
        (file_of({**entry(), "w": entry()["v"]}, bytes(8)), "begins at byte 0 of the data, expected 8"),
    ],
)
def test_a_header_is_not_believed(tmp_path, content, message):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        map_tensors(tmp_path / "x")
    assert str(caught.value).startswith(str(tmp_path / "x"))


def test_a_checksum_is_of_every_byte(tmp_path):
    path = tmp_path / "x"
    write_tensors(path, TENSORS, {"format": "wordstill", "text": '"sha256":"' + "0" * 64}, checksum=True)
    assert_same(load_file(path), TENSORS)
    tensors, metadata = read_checked(path)
    assert_same(tensors, TENSORS)
    assert metadata == {"format": "wordstill", "text": '"sha256":"' + "0" * 64}
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(FormatError):
            read_checked(path)


def test_a_file_without_a_checksum_is_refused(tmp_path):
    write_tensors(tmp_path / "x", TENSORS, {"format": "old"})
    with pytest.raises(FormatError, match="has no checksum"):
        read_checked(tmp_path / "x")


MATRIX = np.arange(20, dtype=np.float32).reshape(5, 4)


def test_an_array_is_mapped(tmp_path):
    np.save(tmp_path / "x.npy", MATRIX)
    again = map_array(tmp_path / "x.npy")
    assert isinstance(again, np.memmap)
    np.testing.assert_array_equal(again, MATRIX)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[None]]), "Python objects, which are never loaded"),
        (np.zeros(3, dtype=[("a", "i4")]), "Python objects, which are never loaded"),
        (np.asfortranarray(MATRIX), "stored by columns"),
        (np.array(["a", "b"]), "<U1 of shape .*expected numbers"),
    ],
)
def test_arrays_that_are_refused(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(FormatError, match=message):
        map_array(tmp_path / "x.npy")


@pytest.mark.parametrize("shape", [(1 << 40, 300), (2, 3), (-1, 4), (1 << 70, 1 << 70), (0, 10**30), (1,) * 70])
def test_a_shape_is_not_believed(tmp_path, shape):
    with (tmp_path / "x.npy").open("wb") as handle:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(handle, header)
        handle.write(bytes(16))
    with pytest.raises(FormatError, match=r"x\.npy"):
        map_array(tmp_path / "x.npy")
