from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from wordstill import formats
from wordstill.errors import FormatError
from wordstill.vectors import WordVectors

WORDS = ["the", "new york", "👩‍💻", "x" * 3000, ""]
MATRIX = np.random.default_rng(5).standard_normal((5, 4)).astype(np.float32)


def save(path, **arrays):
    np.savez(path, **{"words": np.array(WORDS), "vectors": MATRIX, **arrays})
    return path


def test_numpy_reads_what_we_write_without_pickles(tmp_path):
    vectors = WordVectors(WORDS, MATRIX, counts=np.arange(5), provenance={"teacher": "é"})
    vectors.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as archive:
        assert sorted(archive) == ["counts", "provenance", "vectors", "words"]
        assert archive["words"].tolist() == WORDS
        np.testing.assert_array_equal(archive["vectors"], MATRIX)
        np.testing.assert_array_equal(archive["counts"], np.arange(5))
        assert json.loads(archive["provenance"][0]) == {"teacher": "é"}
    assert (tmp_path / "x.npz").stat().st_size < 10_000


@pytest.mark.parametrize("writer", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2", "<i4"])
def test_we_read_what_numpy_writes(tmp_path, writer, dtype):
    matrix = (MATRIX * 100).astype(dtype)
    writer(tmp_path / "x.npz", words=np.array(WORDS), vectors=matrix, other=np.array([None]))
    again = formats.read(tmp_path / "x.npz")
    assert list(again.words) == WORDS
    assert again.matrix.dtype == (np.float16 if dtype == "<f2" else np.float32)
    np.testing.assert_array_equal(again.matrix, matrix.astype(np.float32))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"words": np.array(WORDS, dtype=object)}, "Python objects, which are never read"),
        ({"vectors": np.array([[None]])}, "Python objects, which are never read"),
        ({"words": np.arange(5)}, "expected words"),
        ({"words": np.array([WORDS])}, "expected words"),
        ({"vectors": np.array([["a"]])}, "expected numbers"),
        ({"vectors": np.asfortranarray(MATRIX)}, "stored by columns"),
        ({"vectors": MATRIX[:4]}, r"shape \(4, 4\), expected \(5, dim\)"),
        ({"vectors": MATRIX[0]}, "shape"),
        ({"vectors": MATRIX * np.inf}, "finite"),
        ({"counts": np.arange(4)}, "counts"),
        ({"counts": -np.arange(5)}, "count of row"),
        ({"counts": np.ones(5)}, "counts.npy is float64, expected numbers"),
        ({"provenance": np.array(["[]"])}, "JSON list"),
        ({"words": np.array(["a", "b", "a", "d", "e"])}, "the word 'a' is there twice"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, arrays, message):
    save(tmp_path / "x.npz", **arrays)
    with pytest.raises(FormatError, match=message):
        formats.read(tmp_path / "x.npz")


def archive_of(tmp_path, **members):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return tmp_path / "x.npz"


def header(shape, descr="<f4"):
    memory = io.BytesIO()
    np.lib.format.write_array_header_1_0(memory, {"descr": descr, "fortran_order": False, "shape": shape})
    return memory.getvalue()


@pytest.mark.parametrize("shape", [(1 << 40, 300), (2, 3), (-1, 4), (1 << 70, 1 << 70)])
def test_a_shape_is_not_believed(tmp_path, shape):
    words = io.BytesIO()
    np.save(words, np.array(["a"]))
    path = archive_of(tmp_path, words=words.getvalue(), vectors=header(shape) + bytes(16))
    with pytest.raises(FormatError, match=r"vectors\.npy"):
        formats.read(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("wordstill.formats.compression.FREE_BYTES", 1 << 16)
    words = io.BytesIO()
    np.save(words, np.array(["a"]))
    zeros = bytes(4 << 20)
    path = archive_of(tmp_path, words=words.getvalue(), vectors=header((1, 1 << 20)) + zeros)
    with pytest.raises(FormatError, match=r"bytes unpack to more than 4,194,\d+, over 100 times as many"):
        formats.read(path)
