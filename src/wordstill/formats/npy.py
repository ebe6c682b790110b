"""numpy's arrays on disk; a header is believed only as far as there are bytes for what it says."""

from __future__ import annotations

import math
import os
import tokenize
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordstill.errors import FormatError

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def map_array(path: Path) -> NDArray[Any]:
    """Memory-map an array, read-only.

    Raises:
        FormatError: It is no array, holds Python objects, is stored by columns, or is not of its size.
    """
    if not path.is_file():
        raise FormatError(f"{path} is missing.")
    with path.open("rb") as handle:
        try:
            version = npy.read_magic(handle)
            shape, fortran, dtype = HEADERS[version](handle)
        except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError, RecursionError) as error:
            raise FormatError(f"{path} is not an array of numpy, or a damaged one ({error}).") from None
        offset = handle.tell()
    if dtype.hasobject or dtype.names is not None:
        raise FormatError(f"{path} holds Python objects, which are never read: that could run code.")
    if fortran and len(shape) > 1:
        raise FormatError(f"{path} is stored by columns; write it in C order with numpy.ascontiguousarray.")
    if any(type(size) is not int or size < 0 for size in shape):
        raise FormatError(f"{path} has the shape {shape}, which makes no sense.")
    needed, there = math.prod(shape) * dtype.itemsize, path.stat().st_size - offset
    if needed != there:
        raise FormatError(
            f"{path}: {dtype} of shape {shape} needs {needed} bytes after byte {offset}, "
            f"there are {there}. It is cut short or damaged."
        )
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.memmap(os.fspath(path), dtype=dtype, mode="r", offset=offset, shape=shape)
