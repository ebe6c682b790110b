"""Text that was made to hang or to fill the memory."""

from __future__ import annotations

import gzip
import json
import lzma
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest

from wordstill.core.guard import VARIABLE
from wordstill.corpus import PrepareConfig, prepare
from wordstill.corpus.mediawiki import prose
from wordstill.corpus.readers import read_parts
from wordstill.corpus.sources import find_sources
from wordstill.errors import DataError

SECONDS = 20


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Small limits, so that small files reach them."""
    monkeypatch.setenv(VARIABLE, "line_bytes=1MB,page_bytes=2MB,page_elements=1000,free_bytes=2MB")
    started = time.monotonic()
    yield
    assert time.monotonic() - started < SECONDS


def read(path: Path, **settings: object) -> int:
    """Bytes of all parts, and the peak of memory in them."""
    tracemalloc.start()
    try:
        return sum(len(part.payload) for part in read_parts(find_sources(path), PrepareConfig(**settings), 1 << 16))
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60 << 20


@pytest.mark.parametrize("name", ["x.txt.gz", "x.jsonl.gz", "x.gz"])
def test_a_line_without_end(tmp_path, name):
    """D10: 2 MB of gzip held 2 GB in memory."""
    (tmp_path / name).write_bytes(gzip.compress(b"a" * 20_000_000))
    with pytest.raises(DataError, match=rf"{name}:1: the line has more than 1,000,000 bytes.*--limits line_bytes=N"):
        read(tmp_path / name)


def test_a_field_without_end(tmp_path):
    (tmp_path / "x.csv").write_bytes(b'text,year\n"' + b"a b\n" * 500_000 + b'",1990\n')
    with pytest.raises(DataError, match=r"a field has more than 1,000,000 characters.*--limits line_bytes=N"):
        read(tmp_path / "x.csv")


def test_a_long_line_within_the_limit_is_text(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"word " * 150_000)
    assert read(tmp_path / "x.txt") == 750_000


WIKI = "<mediawiki>{}</mediawiki>"
PAGE = "<page><ns>0</ns><revision><text>{}</text></revision></page>"
BOMBS = {
    "elements outside pages": (WIKI.format("<a>" + "<b/>" * 200_000 + "</a>"), "more than 1,000 XML elements"),
    "one long page": (WIKI.format(PAGE.format("a" * 9_000_000)), "a page has more than 2,000,000 bytes"),
    "a long comment": (WIKI.format("<!--" + "a" * 9_000_000 + "-->"), "a page has more than 2,000,000 bytes"),
    "deep elements": (WIKI.format("<a>" * 900), "nested more than 100 levels.*--limits depth=N"),
}


@pytest.mark.parametrize(("content", "message"), BOMBS.values(), ids=BOMBS)
def test_dumps_that_fill_the_memory(tmp_path, content, message):
    """D10, D11"""
    (tmp_path / "x.xml.gz").write_bytes(gzip.compress(content.encode()))
    with pytest.raises(DataError, match=message):
        read(tmp_path / "x.xml.gz")


def test_elements_between_pages_are_forgotten(tmp_path):
    between = "<a/>" * 600
    pages = (PAGE.format(f"Page {number}") + between for number in range(20))
    (tmp_path / "x.xml").write_text(WIKI.format("".join(pages)))
    assert read(tmp_path / "x.xml") > 100


def test_many_spaces_are_one():
    """D11: 20,000 of them took seconds, 100,000 minutes."""
    line = "One two three four five six seven eight nine" + " " * 300_000 + "ten ( ) , ( , x."
    assert prose(line) == ["One two three four five six seven eight nine ten, (x."]


@pytest.mark.parametrize("mark", ["{{a|", "<div a=", "[[a|", "{|\n|a\n", "<!--", "<ref>", "[http://a "])
def test_pages_of_open_brackets_are_skipped_with_a_warning(mark):
    """D11: the parser starts again for each of them."""
    with pytest.warns(UserWarning, match="A page was skipped.*--limits page_steps=N"):
        assert prose(mark * 40_000) == []


def test_ordinary_pages_with_something_open_are_read():
    text = "The river runs past the old house, and nobody has ever moved it from there."
    assert prose(f"{{{{open\n\n{text}<br>\n" * 50 + text)[-1] == text


def test_parquet_rows_that_repeat_each_other(tmp_path):
    """D10: 517 bytes became 2 GB."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    text = arrow.DictionaryArray.from_arrays(arrow.array([0] * 4000, arrow.int32()), arrow.array(["a b" * 10_000]))
    parquet.write_table(arrow.table({"text": text}), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 50_000
    with pytest.raises(DataError, match=r"unpack to more than.*--limits ratio=N"):
        read(tmp_path / "x.parquet")


def test_a_flipped_bit_of_parquet_is_an_error_or_nothing(tmp_path):
    """D6, D20: Arrow ends the process, or text is not UTF-8."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table({"text": ["One text.", "Another text."]}), path)
    whole = path.read_bytes()
    for place in (30, len(whole) // 2, len(whole) - 200):
        damaged = bytearray(whole)
        damaged[place] ^= 0x80
        path.write_bytes(damaged)
        try:
            read(path)
        except DataError as error:
            assert "x.parquet" in str(error)


def test_a_huge_dictionary_of_xz(tmp_path):
    """D10: 88 bytes claimed 4 GB."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 24}]
    data = bytearray(lzma.compress(b"Some text.\n", format=lzma.FORMAT_XZ, filters=filters))
    # The size is one byte of the block's header: 40 is 4 GB less a byte.
    at = data.index(bytes([0x21, 0x01])) + 2
    data[at] = 40
    header = slice(12, 12 + (data[12] + 1) * 4)
    data[header.stop - 4 : header.stop] = zlib.crc32(bytes(data[header][:-4])).to_bytes(4, "little")
    (tmp_path / "x.txt.xz").write_bytes(data)
    with pytest.raises(DataError, match=r"xz data are broken|memory"):
        read(tmp_path / "x.txt.xz")


@pytest.mark.parametrize("content", [b'{"text":' + b"[" * 30_000, b'{"text":' + b'{"a":' * 30_000])
def test_json_nested_for_ever(tmp_path, content):
    """D20: a RecursionError."""
    (tmp_path / "x").write_bytes(content)
    read(tmp_path / "x")
    (tmp_path / "x.jsonl").write_bytes(content + b"\n" + json.dumps({"text": "a"}).encode())
    with pytest.raises(DataError, match=r"x\.jsonl:1: not a line of JSON"):
        prepare(tmp_path / "x.jsonl", tmp_path / "store", workers=1)
