from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file, save_file

from wordstill import formats
from wordstill.errors import FormatError, UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.compressed import quantize

matrices = arrays(
    np.float32, st.tuples(st.integers(0, 5), st.integers(1, 6)),
    elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(matrices)
def test_rounding_is_to_half_a_step_and_done_once(matrix):
    words = [str(row) for row in range(len(matrix))]
    rows = quantize(WordVectors(words, matrix))
    again = rows.decode(slice(None))
    assert np.isfinite(again).all()
    error = np.abs(again.astype(np.float64) - matrix)
    assert (error <= 0.51 * rows.scales[:, None].astype(np.float64) + 1e-38).all()
    np.testing.assert_array_equal(quantize(WordVectors(words, again)).vectors, rows.vectors)


def test_the_artifact_holds_a_quarter(tmp_path):
    matrix = np.random.default_rng(0).standard_normal((500, 64)).astype(np.float32)
    vectors = WordVectors([f"w{row}" for row in range(500)], matrix, counts=np.arange(500))
    vectors.save(tmp_path / "large")
    vectors.save(tmp_path / "small", dtype="i8")
    sizes = [(tmp_path / name / "vectors.safetensors").stat().st_size for name in ("large", "small")]
    assert sizes[1] < 0.32 * sizes[0]
    tensors = load_file(tmp_path / "small" / "vectors.safetensors")
    assert tensors["vectors"].dtype == np.int8
    again = formats.read(tmp_path / "small")
    np.testing.assert_array_equal(again.matrix, tensors["vectors"] * tensors["scales"][:, None])
    assert again.counts.tolist() == list(range(500))
    cosines = np.sum(again.unit * vectors.unit, axis=1)
    assert cosines.min() > 0.999
    again.save(tmp_path / "again", dtype="i8")
    np.testing.assert_array_equal(load_file(tmp_path / "again" / "vectors.safetensors")["vectors"], tensors["vectors"])


@pytest.mark.parametrize("scales", [[1, np.nan], [np.inf, 1], [1], [[1, 1]]])
def test_scales_that_cannot_be(tmp_path, scales):
    WordVectors(["a", "b"], np.eye(2, dtype=np.float32)).save(tmp_path / "x", dtype="i8")
    tensors = load_file(tmp_path / "x" / "vectors.safetensors")
    save_file(tensors | {"scales": np.float32(scales)}, tmp_path / "x" / "vectors.safetensors")
    with pytest.raises(FormatError, match=str(tmp_path / "x")):
        formats.read(tmp_path / "x")


def test_int8_without_scales(tmp_path):
    WordVectors(["a", "b"], np.eye(2, dtype=np.float32)).save(tmp_path / "x", dtype="i8")
    config = json.loads((tmp_path / "x" / "config.json").read_text())
    assert config["dtype"] == "int8"
    tensors = load_file(tmp_path / "x" / "vectors.safetensors")
    save_file({"vectors": tensors["vectors"]}, tmp_path / "x" / "vectors.safetensors")
    with pytest.raises(FormatError, match="scales"):
        formats.read(tmp_path / "x")


def test_what_float16_cannot_hold_is_refused(tmp_path):
    vectors = WordVectors(["a", "b"], np.array([[1, 2], [3, 1e6]], np.float32))
    with pytest.raises(UsageError, match="'b' has a number beyond 65504"):
        vectors.save(tmp_path / "x", dtype="f16")
    assert list(tmp_path.iterdir()) == []
    vectors.save(tmp_path / "x", dtype="i8")
