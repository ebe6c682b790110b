"""Blocks that are decompressed side by side give what the library gives, errors included."""

from __future__ import annotations

import bz2
import io
import random
from pathlib import Path

import pytest

from wordstill.core import parallel_bzip2
from wordstill.core.parallel_bzip2 import ParallelBzip2
from wordstill.core.text_io import open_bytes

RANDOM = random.Random(0)
TEXT = " ".join(RANDOM.choices([f"word{number}" for number in range(5_000)], k=120_000)).encode()


def read_all(reader: io.RawIOBase | bz2.BZ2File, size: int = 70_000) -> tuple[bytes, type[Exception] | None]:
    found = b""
    try:
        while block := reader.read(size):
            found += block
    except (EOFError, OSError) as error:
        return found, type(error)
    finally:
        reader.close()
    return found, None


def both(data: bytes) -> tuple[tuple[bytes, type[Exception] | None], tuple[bytes, type[Exception] | None]]:
    parallel = ParallelBzip2(io.BytesIO(data), lambda: io.BytesIO(data), threads=3)
    return read_all(parallel), read_all(bz2.BZ2File(io.BytesIO(data)))


def streams(*sizes: int, level: int = 1) -> bytes:
    return b"".join(bz2.compress(TEXT[start : start + size], level) for start, size in enumerate(sizes))


SOUND = {
    "one block": streams(50_000),
    "many blocks, at any bit": streams(len(TEXT)),
    "larger blocks": streams(len(TEXT), level=9),
    "many streams, some of them empty": streams(250_000, 0, 1, 99, 130_000, 0),
    "nothing": streams(0),
    "something else at the end": streams(1_000) + b"junk",
    "zeros at the end": streams(1_000, 5) + bytes(9),
}


@pytest.mark.parametrize("chunk", [97, 5_000, 1 << 20])
@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_what_the_library_reads(data: bytes, chunk: int) -> None:
    again = pytest.fail
    expected = bz2.BZ2File(io.BytesIO(data)).read()
    assert read_all(ParallelBzip2(io.BytesIO(data), again, threads=2, read_bytes=chunk)) == (expected, None)


@pytest.mark.parametrize("cut", [1, 4, 5, 30, 60_000, 100_000, 10_000_000])
def test_data_that_are_cut_short_are_read_up_to_there(cut: int) -> None:
    (found, error), (expected, same) = both(streams(400_000, 300_000)[:-cut])
    assert error is same is EOFError
    assert TEXT[:400_000].startswith(found[:400_000])
    # The library's reader loses what it has begun to fill its buffer with.
    assert len(found) >= len(expected) - 100_000


@pytest.mark.parametrize("end", [b"B", b"BZ", b"BZh"])
def test_the_beginning_of_a_stream_is_not_ignored(end: bytes) -> None:
    parallel, (_, same) = both(streams(3_000) + end)
    assert parallel == (TEXT[:3_000], same)
    assert same is EOFError


def test_damaged_data_are_an_error_wherever_they_are() -> None:
    whole = streams(300_000)
    for place in [4, 11, 40, *RANDOM.choices(range(len(whole)), k=40), len(whole) - 2]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << RANDOM.randrange(8)
        (found, error), (expected, same) = both(bytes(damaged))
        assert (error is None) == (same is None)
        assert error is not None or found == expected


def test_marks_inside_a_block_do_not_mislead(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneMore(parallel_bzip2.Blocks):
        given = False

        def find(self, needle, mark, shift):  # type: ignore[no-untyped-def]
            yield from super().find(needle, mark, shift)
            if (mark, shift) == (parallel_bzip2.BLOCK_MARK, 3) and not self.given:
                self.given = True
                yield 8 * 20_000 + 3, False

    monkeypatch.setattr(parallel_bzip2, "Blocks", OneMore)
    (found, error), (expected, _) = both(streams(300_000))
    assert (found, error) == (expected, None)


def test_blocks_that_become_long_are_read_a_little_at_a_time() -> None:
    data = bz2.compress(TEXT[:1_000]) + bz2.compress(bytes(30_000_000))
    assert both(data)[0] == (TEXT[:1_000] + bytes(30_000_000), None)


def test_files_are_read_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    path = tmp_path / "x.bz2"
    path.write_bytes(streams(300_000, 10))
    with open_bytes(path) as reader:
        assert reader.read() == TEXT[:300_000] + TEXT[1:11]
        assert reader.codec == "bzip2"
    with open_bytes(path) as reader:
        assert reader.read(10) == TEXT[:10]
