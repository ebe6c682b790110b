from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import FormatError
from wordstill.formats.npy import map_array

MATRIX = np.arange(20, dtype=np.float32).reshape(5, 4)


def test_an_array_is_mapped(tmp_path):
    np.save(tmp_path / "x.npy", MATRIX)
    again = map_array(tmp_path / "x.npy")
    assert isinstance(again, np.memmap)
    np.testing.assert_array_equal(again, MATRIX)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[None]]), "Python objects, which are never read"),
        (np.zeros(3, dtype=[("a", "i4")]), "Python objects, which are never read"),
        (np.asfortranarray(MATRIX), "stored by columns"),
    ],
)
def test_arrays_that_are_refused(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(FormatError, match=message):
        map_array(tmp_path / "x.npy")


@pytest.mark.parametrize("shape", [(1 << 40, 300), (2, 3), (-1, 4), (1 << 70, 1 << 70)])
def test_a_shape_is_not_believed(tmp_path, shape):
    with (tmp_path / "x.npy").open("wb") as handle:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(handle, header)
        handle.write(bytes(16))
    with pytest.raises(FormatError, match=r"x\.npy"):
        map_array(tmp_path / "x.npy")
