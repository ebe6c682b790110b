"""Blocks that are decompressed side by side give what the library gives, errors included."""

from __future__ import annotations

import io
import lzma
import random
import zlib
from pathlib import Path

import pytest

from wordstill.core.parallel_xz import find_blocks, parallel_xz
from wordstill.core.text_io import open_bytes
from wordstill.core.threads import Misread
from wordstill.errors import DataError

RANDOM = random.Random(0)
TEXT = " ".join(RANDOM.choices([f"word{number}" for number in range(5_000)], k=60_000)).encode()
EDGE = 12
"""Bytes of the header and of the footer of a stream."""


def number(value: int) -> bytes:
    low = value & 127
    return bytes([low]) if value < 128 else bytes([low | 128]) + number(value >> 7)


def stream(*parts: bytes, check: int = lzma.CHECK_CRC64) -> bytes:
    """One stream with a block for each part, as programs write that compress with several threads."""
    blocks, records = [], []
    for part in parts:
        alone = lzma.compress(part, check=check, preset=0)
        index_size = 4 * (int.from_bytes(alone[-8:-4], "little") + 1)
        blocks.append(alone[EDGE : -EDGE - index_size])
        # After the mark of an index and the count of one block: both sizes and the checksum.
        record = alone[-EDGE - index_size + 2 : -EDGE - 4]
        size = next(end for end in range(1, len(record)) if record[end - 1] < 128)
        records.append(record[:size] + number(len(part)))
    empty = lzma.compress(b"", check=check)
    index = b"\0" + number(len(parts)) + b"".join(records)
    index += bytes(-len(index) % 4)
    index += zlib.crc32(index).to_bytes(4, "little")
    footer = (len(index) // 4 - 1).to_bytes(4, "little") + empty[6:8]
    return b"".join([empty[:EDGE], *blocks, index, zlib.crc32(footer).to_bytes(4, "little"), footer, b"YZ"])


def read_all(reader: io.RawIOBase | lzma.LZMAFile, size: int = 70_000) -> tuple[bytes, type[Exception] | None]:
    found = b""
    try:
        while block := reader.read(size):
            found += block
    except (EOFError, OSError, lzma.LZMAError) as error:
        return found, type(error)
    finally:
        reader.close()
    return found, None


def in_parallel(data: bytes, threads: int = 3) -> io.RawIOBase | None:
    return parallel_xz(lambda: io.BytesIO(data), lzma.LZMAFile, threads, 1 << 30)


def one_reader(data: bytes) -> tuple[bytes, type[Exception] | None]:
    with lzma.LZMAFile(io.BytesIO(data)) as reader:
        return read_all(reader)


SOUND = {
    "two blocks": stream(TEXT[:200_000], TEXT[200_000:]),
    "many blocks": stream(*(TEXT[start : start + 9_999] for start in range(0, len(TEXT), 9_999))),
    "no checksums": stream(TEXT[:5], TEXT[5:], check=lzma.CHECK_NONE),
    "long checksums": stream(TEXT[:5], TEXT[5:], check=lzma.CHECK_SHA256),
    "many streams, some of them empty": stream(TEXT) + lzma.compress(b"") + stream(TEXT[:3], TEXT[3:]),
    "zeros between streams and at the end": stream(b"a", b"b") + bytes(8) + stream(b"c") + bytes(4),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_what_one_reader_reads(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    (tmp_path / "x").write_bytes(data)
    with open_bytes(tmp_path / "x") as serial:
        expected = serial.read()
    assert len(expected) > 2
    reader = in_parallel(data)
    assert reader is not None
    assert read_all(reader) == (expected, None)


@pytest.mark.parametrize("data", [lzma.compress(TEXT), lzma.compress(b""), b"", b"YZ", bytes(400), bytes(1 << 20)])
def test_other_files_are_left_to_one_reader(data: bytes) -> None:
    assert in_parallel(data) is None


@pytest.mark.parametrize("cut", [1, 4, 30, 5_000])
def test_where_the_end_is_missing_nobody_knows_where_blocks_are(cut: int) -> None:
    whole = stream(TEXT[:200_000], TEXT[200_000:])
    with pytest.raises(Misread):
        find_blocks(io.BytesIO(whole[:-cut]))
    assert in_parallel(whole[:-cut]) is None


def test_damaged_data_are_an_error_wherever_they_are() -> None:
    whole = stream(TEXT[:200_000], TEXT[200_000:])
    for place in [8, 12, 13, 14, *RANDOM.choices(range(len(whole)), k=60), *range(len(whole) - 40, len(whole))]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << RANDOM.randrange(8)
        expected, same = one_reader(damaged)
        parallel = in_parallel(bytes(damaged))
        assert same is not None
        if parallel is not None:
            found, error = read_all(parallel)
            assert error is not None
            # What a reader has begun to fill its buffer with is lost, and buffers differ.
            assert len(found) >= len(expected) - 70_000


def test_files_are_read_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    path = tmp_path / "x.xz"
    path.write_bytes(stream(TEXT[:200_000], TEXT[200_000:]))
    with open_bytes(path) as reader:
        assert reader.read(10) == TEXT[:10]
        assert 0 < reader.consumed < path.stat().st_size
        assert reader.read() == TEXT[10:]
    damaged = bytearray(path.read_bytes())
    damaged[-5_000] ^= 1
    path.write_bytes(damaged)
    with (
        open_bytes(path) as reader,
        pytest.raises(DataError, match=r"x\.xz: the xz data are broken .* near byte \d{5}"),
    ):
        while reader.read1(1 << 16):
            pass
