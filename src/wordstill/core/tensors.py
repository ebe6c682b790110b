"""Arrays on disk by numpy alone: safetensors, written byte for byte the same, and numpy's own .npy files.

The layout of safetensors is an 8-byte little-endian length, that many bytes of JSON (dtype, shape and offsets
of each name), and the data. Both are memory-mapped, and nothing in a header is believed before it is checked
against the size of the file.
"""

from __future__ import annotations

import json
import math
import os
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordstill.errors import FormatError

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
ALIGNMENT = 8
METADATA = "__metadata__"

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1"}
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str], *, block_bytes: int = 8 << 20
) -> None:
    """Write arrays of at least one dimension, the widest type first so that each begins aligned."""
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, Any] = {METADATA: dict(sorted(metadata.items()))}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        code = CODES[tensor.dtype.newbyteorder("<")]
        header[name] = {"dtype": code, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % ALIGNMENT)
    with path.open("wb") as handle:
        handle.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        for _, tensor in ordered:
            rows = max(1, block_bytes // max(1, tensor.itemsize * math.prod(tensor.shape[1:])))
            for start in range(0, len(tensor), rows):
                block = tensor[start : start + rows]
                handle.write(block.astype(block.dtype.newbyteorder("<"), copy=False).tobytes())


def map_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Memory-map every array of a file, read-only, and give its metadata."""
    size = path.stat().st_size
    header, data_start = _header(path, size)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict):
        raise FormatError(f"{path}: {METADATA} in the header is not an object.")
    tensors: dict[str, NDArray[Any]] = {}
    spans: list[tuple[int, int]] = []
    for name, entry in header.items():
        dtype, shape, begin, end = _checked_entry(path, name, entry)
        spans.append((begin, end))
        if data_start + end <= size:
            tensors[name] = _map(path, dtype, shape, data_start + begin)
    _check_spans(path, sorted(spans), size - data_start)
    return tensors, {str(key): str(value) for key, value in metadata.items()}


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
            shape, fortran, dtype = NPY_HEADERS[version](handle)
        except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError, RecursionError) as error:
            raise FormatError(f"{path} is not an array of numpy, or a damaged one ({error}).") from None
        offset = handle.tell()
    if dtype.hasobject or dtype.names is not None:
        raise FormatError(f"{path} holds Python objects, which are never loaded: that could run code.")
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
    return _map(path, dtype, shape, offset)


def _header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    """The JSON header, and the byte where the data begins."""
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(LENGTH_BYTES), "little")
        room = size - LENGTH_BYTES
        if not 2 <= length <= min(room, MAX_HEADER_BYTES):
            raise FormatError(
                f"{path}: the header is said to have {length} bytes, expected 2 to "
                f"{max(0, min(room, MAX_HEADER_BYTES))}; the file has {size} bytes. "
                "It is cut short or not safetensors."
            )
        text = handle.read(length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: the header is not JSON ({error}). The file is damaged.") from None
    if not isinstance(header, dict):
        raise FormatError(f"{path}: the header is a JSON {type(header).__name__}, expected an object.")
    return header, LENGTH_BYTES + length


def _checked_entry(path: Path, name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """The type, shape and offsets of one array, if they agree."""
    if not isinstance(entry, dict):
        raise FormatError(f"{path}: the header's entry for {name!r} is not an object.")
    code, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(code, str) or code not in DTYPES:
        raise FormatError(f"{path}: {name!r} has the type {code!r}, expected one of {', '.join(DTYPES)}.")
    if not _is_sizes(shape) or not _is_sizes(offsets) or len(offsets) != 2:
        raise FormatError(f"{path}: {name!r} has the shape {shape!r} and the offsets {offsets!r}, which make no sense.")
    dtype = np.dtype(DTYPES[code])
    expected = math.prod(shape) * dtype.itemsize
    if offsets[1] - offsets[0] != expected:
        raise FormatError(
            f"{path}: {name!r} of shape {shape} needs {expected} bytes, its offsets give {offsets[1] - offsets[0]}."
        )
    return dtype, tuple(shape), offsets[0], offsets[1]


def _check_spans(path: Path, spans: list[tuple[int, int]], data_bytes: int) -> None:
    """The arrays must fill the data, without gaps or overlaps."""
    end = 0
    for begin, stop in spans:
        if begin != end:
            raise FormatError(f"{path}: an array begins at byte {begin} of the data, expected {end}.")
        end = stop
    if end != data_bytes:
        raise FormatError(f"{path}: the data has {data_bytes} bytes, expected {end}. The file is cut short or damaged.")


def _map(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.memmap(os.fspath(path), dtype=dtype, mode="r", offset=offset, shape=shape)


def _is_sizes(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)
