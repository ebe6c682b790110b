"""numpy's arrays on disk; a header is believed only as far as there are bytes for what it says."""

from __future__ import annotations

import math
import os
import tokenize
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordstill.errors import FormatError

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Header(NamedTuple):
    """What an array is, and how many bytes its header has."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int

    @property
    def bytes(self) -> int:
        """The bytes of the array itself."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(handle: IO[bytes], where: object, available: int) -> Header:
    """The header of an array that fits into so many bytes; ``where`` is what errors name.

    Raises:
        FormatError: It is no array, holds Python objects, is stored by columns, or is not of that size.
    """
    try:
        version = npy.read_magic(handle)
        shape, fortran, dtype = HEADERS[version](handle)
    except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError, RecursionError) as error:
        raise FormatError(f"{where} is not an array of numpy, or a damaged one ({error}).") from None
    if dtype.hasobject or dtype.names is not None:
        raise FormatError(f"{where} holds Python objects, which are never read: that could run code.")
    if fortran and len(shape) > 1:
        raise FormatError(f"{where} is stored by columns; write it in C order with numpy.ascontiguousarray.")
    if any(type(size) is not int or size < 0 for size in shape):
        raise FormatError(f"{where} has the shape {shape}, which makes no sense.")
    header = Header(shape, dtype, handle.tell())
    if header.offset + header.bytes != available:
        raise FormatError(
            f"{where}: {dtype} of shape {shape} needs {header.bytes} bytes after byte {header.offset}, "
            f"there are {available - header.offset}. It is cut short or damaged."
        )
    return header


def map_array(path: Path) -> NDArray[Any]:
    """Memory-map an array, read-only."""
    if not path.is_file():
        raise FormatError(f"{path} is missing.")
    with path.open("rb") as handle:
        shape, dtype, offset = read_header(handle, path, path.stat().st_size)
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.memmap(os.fspath(path), dtype=dtype, mode="r", offset=offset, shape=shape)
