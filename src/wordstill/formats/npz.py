"""numpy's archive of arrays: "words", "vectors" (rows, dim), and "counts" and "provenance" if known.

``numpy.load`` opens it without pickles. Words are stored as numpy's strings of one width, packed; since those
end at the first of their trailing zero characters, a word cannot have any.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordstill.errors import FormatError, UsageError
from wordstill.files import atomic_file
from wordstill.formats.base import Format, encode_word, make_table, to_float
from wordstill.formats.compression import refuse_bomb
from wordstill.formats.npy import Header, read_header
from wordstill.formats.reading import STRICT, Reading
from wordstill.formats.record import parse_object, provenance_text
from wordstill.formats.sniff import head, not_this
from wordstill.vectors import WordVectors

BLOCK_BYTES = 8 << 20
WORDS, VECTORS, COUNTS, PROVENANCE = "words", "vectors", "counts", "provenance"
EPOCH = (1980, 1, 1, 0, 0, 0)
ZIP = b"PK\x03\x04"


def read(path: Path, how: Reading = STRICT) -> WordVectors:
    """Read the archive; arrays of other names are left alone."""
    start = head(path)
    if not start.startswith(ZIP) or not _has_arrays(path):
        raise not_this(path, start, "an archive with the arrays 'words' and 'vectors'")
    try:
        with zipfile.ZipFile(path) as archive:
            names = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            words = _read_words(path, archive, names[WORDS])
            matrix = to_float(_read_array(path, archive, names[VECTORS], "fiu"))
            counts = _read_array(path, archive, names[COUNTS], "iu") if COUNTS in names else None
            text = _read_words(path, archive, names[PROVENANCE]) if PROVENANCE in names else []
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FormatError(f"{path}: the archive is damaged ({error}).") from None
    provenance = parse_object(text[0], f"{path}: {PROVENANCE}") if text else {}
    return make_table(path, words, matrix, how, counts=counts, provenance=provenance)


def write(vectors: WordVectors, path: Path) -> None:
    """Write the archive; the same table gives the same bytes."""
    for row, word in enumerate(vectors.words):
        encode_word(word, row)
        if word.endswith("\0"):
            raise UsageError(
                f"The word {word!r} (row {row}) ends in a zero character, which numpy's strings cannot hold. "
                "Use our own format, or leave the word out."
            )
    provenance = provenance_text(vectors) if vectors.provenance else ""
    with atomic_file(path) as handle, zipfile.ZipFile(handle, "w") as archive:
        _write_words(archive, WORDS, vectors.words)
        shape, dtype = vectors.matrix.shape, vectors.matrix.dtype.newbyteorder("<")
        rows = max(1, BLOCK_BYTES // (dtype.itemsize * vectors.dim))
        with _member(archive, VECTORS, shape, dtype, packed=False) as out:
            for start in range(0, len(vectors), rows):
                out.write(vectors.matrix[start : start + rows].astype(dtype, copy=False).tobytes())
        if vectors.counts is not None:
            with _member(archive, COUNTS, vectors.counts.shape, np.dtype("<i8"), packed=False) as out:
                out.write(vectors.counts.astype("<i8", copy=False).tobytes())
        if provenance:
            _write_words(archive, PROVENANCE, (provenance,))


def recognises(path: Path) -> bool:
    """Whether it is an archive with words and vectors."""
    return path.is_file() and head(path).startswith(ZIP) and _has_arrays(path)


def _has_arrays(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return {f"{WORDS}.npy", f"{VECTORS}.npy"} <= set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _blocks(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[Header | NDArray[Any]]:
    """The header of an array, then its rows in flat blocks."""
    where = f"{path}: {entry.filename}"
    refuse_bomb(path, entry.file_size, entry.compress_size)
    with archive.open(entry) as member:
        header = read_header(member, where, entry.file_size)
        yield header
        left, step = (
            header.bytes,
            max(1, BLOCK_BYTES // max(1, header.dtype.itemsize)) * header.dtype.itemsize,
        )
        while left:
            block = member.read(min(step, left))
            if not block or len(block) % header.dtype.itemsize:
                raise FormatError(f"{where} ends {left} bytes too early.")
            left -= len(block)
            yield np.frombuffer(block, dtype=header.dtype)


def _read_array(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kinds: str) -> NDArray[Any]:
    blocks = _blocks(path, archive, entry)
    header = next(blocks)
    assert isinstance(header, Header)
    if header.dtype.kind not in kinds:
        raise FormatError(f"{path}: {entry.filename} is {header.dtype}, expected numbers.")
    array = np.empty(header.bytes // header.dtype.itemsize, dtype=header.dtype.newbyteorder("="))
    done = 0
    for block in blocks:
        assert isinstance(block, np.ndarray)
        array[done : done + len(block)] = block
        done += len(block)
    return array.reshape(header.shape)


def _read_words(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> list[str]:
    blocks = _blocks(path, archive, entry)
    header = next(blocks)
    assert isinstance(header, Header)
    if header.dtype.kind != "U" or len(header.shape) != 1:
        raise FormatError(
            f"{path}: {entry.filename} is {header.dtype} of shape {header.shape}, expected words."
        )
    if not header.dtype.itemsize:
        return [""] * header.shape[0]
    words: list[str] = []
    for block in blocks:
        assert isinstance(block, np.ndarray)
        words += block.tolist()
    return words


def _write_words(archive: zipfile.ZipFile, name: str, words: tuple[str, ...]) -> None:
    width = max(1, max(map(len, words), default=1))
    dtype = np.dtype(f"<U{width}")
    rows = max(1, BLOCK_BYTES // dtype.itemsize)
    with _member(archive, name, (len(words),), dtype, packed=True) as out:
        for start in range(0, len(words), rows):
            out.write(np.array(words[start : start + rows], dtype=dtype).tobytes())


def _member(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], *, packed: bool
) -> IO[bytes]:
    """Begin an array in the archive."""
    entry = zipfile.ZipInfo(f"{name}.npy", EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    header = io.BytesIO()
    described = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(header, described)
    member = archive.open(entry, "w", force_zip64=True)
    member.write(header.getvalue())
    return member


NPZ = Format("npz", (".npz",), read, write, recognises, records=True, float16=True)
