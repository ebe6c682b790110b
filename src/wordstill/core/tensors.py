"""Arrays on disk with numpy alone: deterministic safetensors, and .npy files.

The layout of safetensors is an 8-byte little-endian length, that many bytes of JSON (dtype, shape and offsets of each
name), and the data. Files are memory-mapped, and headers are checked against the size of the file.

A file may have a checksum: ``sha256`` in its metadata is that of all its bytes, with zeros in place of the checksum
itself.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordstill.errors import FormatError, in_one_line

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
ALIGNMENT = 8
METADATA = "__metadata__"
CHECKSUM = "sha256"
BLANK_CHECKSUM = "0" * 64
STORED_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
HASH_BLOCK = 1 << 20
BLOCK_BYTES = 8 << 20
"""Bytes written at a time."""
MAX_AXES = 32
MAX_BYTES = 1 << 60

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str], *, checksum: bool = False
) -> None:
    """Write arrays of at least one dimension, the widest type first so that each is aligned.

    Args:
        path: The file.
        tensors: The arrays by name.
        metadata: Texts by name.
        checksum: Whether to add one, for `read_checked`.
    """
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    metadata = {**metadata, CHECKSUM: BLANK_CHECKSUM} if checksum else metadata
    header: dict[str, Any] = {METADATA: dict(sorted(metadata.items()))}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        code = CODES[tensor.dtype.newbyteorder("<")]
        header[name] = {"dtype": code, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % ALIGNMENT)
    digest = hashlib.sha256()
    with path.open("wb") as handle:

        def write(data: bytes | memoryview) -> None:
            handle.write(data)
            if checksum:
                digest.update(data)

        write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        for _, tensor in ordered:
            rows = max(1, BLOCK_BYTES // max(1, tensor.itemsize * math.prod(tensor.shape[1:])))
            for start in range(0, len(tensor), rows):
                block = tensor[start : start + rows]
                # A view rather than `tobytes`, whose copy would hold up other threads.
                write(np.ascontiguousarray(block, block.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data)
        if checksum and (place := STORED_CHECKSUM.search(text)):
            handle.seek(LENGTH_BYTES + place.start(1))
            handle.write(digest.hexdigest().encode())


def map_tensors(path: Path, *, private: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Memory-map all arrays of a file; returns them with its metadata.

    The arrays are read-only, or ``private``: changes stay in memory.
    """
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
            tensors[name] = _map(path, dtype, shape, data_start + begin, "c" if private else "r")
    _check_spans(path, sorted(spans), size - data_start)
    return tensors, {str(key): str(value) for key, value in metadata.items()}


def read_checked(path: Path, *, private: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """`map_tensors` after verifying the checksum of the file."""
    tensors, metadata = map_tensors(path, private=private)
    expected = metadata.pop(CHECKSUM, None)
    if expected is None:
        raise FormatError(f"{path} has no checksum. It is damaged, or of another version.")
    with path.open("rb") as handle:
        start = handle.read(LENGTH_BYTES)
        text = handle.read(int.from_bytes(start, "little"))
        digest = hashlib.sha256(start + text.replace(expected.encode(), BLANK_CHECKSUM.encode(), 1))
        while block := handle.read(HASH_BLOCK):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise FormatError(f"{path} is damaged: its SHA-256 is {digest.hexdigest()}, expected {expected}.")
    return tensors, metadata


def map_array(path: Path) -> NDArray[Any]:
    """Memory-map an array, read-only.

    Raises:
        FormatError: It is not an array of numbers, is stored by columns, or has the wrong size.
    """
    if not path.is_file():
        raise FormatError(f"{path} is missing.")
    with path.open("rb") as handle:
        try:
            version = npy.read_magic(handle)
            shape, fortran, dtype = NPY_HEADERS[version](handle)
        except Exception as error:
            # numpy evaluates the header as a Python literal; damage there can raise nearly anything.
            raise FormatError(f"{path} is not an array of numpy, or a damaged one ({in_one_line(error)}).") from None
        offset = handle.tell()
    if dtype.hasobject or dtype.names is not None:
        raise FormatError(f"{path} holds Python objects, which are never loaded: that could run code.")
    if fortran and len(shape) > 1:
        raise FormatError(f"{path} is stored by columns; write it in C order with numpy.ascontiguousarray.")
    if dtype.kind not in "biuf" or not _is_shape(list(shape), dtype):
        raise FormatError(f"{path} is {dtype} of shape {_shown(shape)}, expected numbers of a sensible shape.")
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
        header = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: the header is not JSON ({error}). The file is damaged.") from None
    if not isinstance(header, dict):
        raise FormatError(f"{path}: the header is a JSON {type(header).__name__}, expected an object.")
    return header, LENGTH_BYTES + length


def _checked_entry(path: Path, name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """The type, shape and offsets of one array, checked for consistency."""
    if not isinstance(entry, dict):
        raise FormatError(f"{path}: the header's entry for {name!r} is not an object.")
    code, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(code, str) or code not in DTYPES:
        raise FormatError(f"{path}: {name!r} has the type {code!r}, expected one of {', '.join(DTYPES)}.")
    dtype = np.dtype(DTYPES[code])
    if not _is_shape(shape, dtype) or not _is_sizes(offsets) or len(offsets) != 2:
        raise FormatError(
            f"{path}: {name!r} has the shape {_shown(shape)} and the offsets {_shown(offsets)}, which make no sense."
        )
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


def _map(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, mode: Literal["r", "c"] = "r"
) -> NDArray[Any]:
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.memmap(os.fspath(path), dtype=dtype, mode=mode, offset=offset, shape=shape)


def _is_shape(shape: Any, dtype: np.dtype[Any]) -> TypeGuard[list[int]]:
    """Whether numpy can have an array of this shape; even an empty array can have axes that are too long."""
    return (
        _is_sizes(shape)
        and len(shape) <= MAX_AXES
        and math.prod(max(1, size) for size in shape) * dtype.itemsize < MAX_BYTES
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise ValueError("a name comes twice")
    return names


def _is_sizes(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)
