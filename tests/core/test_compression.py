from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from functools import partial

import numpy as np
import pytest
import zstandard
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st

from wordstill import formats
from wordstill.core.guard import Limits
from wordstill.core.text_io import numbered_lines, open_bytes, read_word_list
from wordstill.errors import DataError, FormatError
from wordstill.formats.base import ReadOptions
from wordstill.vectors import WordVectors

KINDS = {
    ".gz": (gzip.compress, gzip.decompress),
    ".xz": (partial(lzma.compress, preset=0), lzma.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".zst": (zstandard.compress, lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
}
FILES = ("table.txt", "table.vec", "table.glove.txt", "table.bin")
GLOVE = formats.FORMATS.find("glove-text")
every_kind = pytest.mark.parametrize("end", KINDS)


@pytest.fixture
def vectors():
    matrix = np.random.default_rng(3).standard_normal((50, 9)).astype(np.float32)
    return WordVectors([f"w{row}" for row in range(50)], matrix)


@every_kind
@pytest.mark.parametrize("file", FILES)
def test_every_streamed_format_goes_both_ways(vectors, tmp_path, file, end):
    vectors.save(tmp_path / file)
    vectors.save(tmp_path / f"{file}{end}")
    plain = (tmp_path / file).read_bytes()
    assert KINDS[end][1]((tmp_path / f"{file}{end}").read_bytes()) == plain
    (tmp_path / "other").write_bytes(KINDS[end][0](plain))
    for path in (tmp_path / f"{file}{end}", tmp_path / "other"):
        again = formats.read(path)
        assert again.words == vectors.words
        np.testing.assert_array_equal(again.matrix, vectors.matrix)


@every_kind
def test_the_same_table_gives_the_same_bytes(vectors, tmp_path, end):
    for name in ("a", "b"):
        vectors.save(tmp_path / f"{name}.txt{end}")
    assert (tmp_path / f"a.txt{end}").read_bytes() == (tmp_path / f"b.txt{end}").read_bytes()


@pytest.mark.parametrize("end", [".gz", ".xz", ".bz2"])
def test_gensim_reads_what_we_write(vectors, tmp_path, end):
    vectors.save(tmp_path / f"x.txt{end}")
    oracle = KeyedVectors.load_word2vec_format(str(tmp_path / f"x.txt{end}"), binary=False)
    np.testing.assert_array_equal(oracle.vectors, vectors.matrix)


@every_kind
def test_several_streams_one_after_another(tmp_path, end):
    (tmp_path / "x").write_bytes(KINDS[end][0](b"a 1 2\nb 3 ") + KINDS[end][0](b"4\n"))
    np.testing.assert_array_equal(formats.read(tmp_path / "x").matrix, [[1, 2], [3, 4]])


@every_kind
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_damage_is_an_error_of_ours_or_harmless(tmp_path_factory, end, data):
    path = tmp_path_factory.mktemp("damaged") / "x"
    text = "".join(f"w{row} {row}.5 0.25\n" for row in range(40)).encode()
    content = bytearray(KINDS[end][0](text))
    for _ in range(data.draw(st.integers(0, 2))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    try:
        formats.read(path)
    except FormatError as error:
        assert str(path) in str(error)


@every_kind
@pytest.mark.parametrize("name", [None, "word2vec-text"])
def test_a_cut_file_is_named(tmp_path, end, name):
    text = "".join(f"w{row} {row}.5 0.25\n" for row in range(2000)).encode()
    (tmp_path / "x").write_bytes(KINDS[end][0](text)[:-20])
    with pytest.raises(FormatError, match=r"x: the \w+ data are broken or cut short near byte \d+"):
        formats.read(tmp_path / "x", name)


@every_kind
def test_a_bomb_cannot_fill_the_memory(tmp_path, end):
    options = ReadOptions(block_bytes=1 << 20, limits=Limits(free_bytes=2 << 20))
    (tmp_path / "x").write_bytes(KINDS[end][0](b"w 0 0\n" + b"0" * (96 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"unpack to more than .* over 100 times as many"):
            GLOVE.read(tmp_path / "x", options)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_line_without_end_cannot_fill_the_memory(tmp_path):
    (tmp_path / "x").write_bytes(b"w 0 0\nx" + b" 0" * (1 << 20))
    with pytest.raises(FormatError, match="x:2: the line has more than 262,144 bytes"):
        GLOVE.read(tmp_path / "x", ReadOptions(block_bytes=1 << 16, limits=Limits(line_bytes=1 << 18)))
    with pytest.raises(DataError, match="x:2: the line has more than 60 bytes"):
        list(numbered_lines(tmp_path / "x", limits=Limits(line_bytes=60)))


@every_kind
def test_numbered_lines_of_compressed_text(tmp_path, end):
    path = tmp_path / f"a.txt{end}"
    path.write_bytes(KINDS[end][0]("\ufeffone\u2028still one\r\n\ntwo\n".encode()))
    assert list(numbered_lines(path)) == [(1, "one\u2028still one"), (2, ""), (3, "two")]
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(DataError, match=r"a\.txt.*: the \w+ data are broken or cut short"):
        list(numbered_lines(path))


@every_kind
def test_zeros_after_the_end_are_padding(tmp_path, end):
    (tmp_path / "x").write_bytes(KINDS[end][0](b"one\n") + bytes(4))
    assert open_bytes(tmp_path / "x").read() == b"one\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\ntwo\xff\n", r"a\.txt:2: not UTF-8 .*Convert the file"),
        (b"one\n\ntw\x00o\n", r"a\.txt:3: a zero byte; this is not text"),
        (b"\n \r\n", r"a\.txt is empty"),
    ],
)
def test_word_lists_name_the_line_of_a_fault(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_word_list(tmp_path / "a.txt")


def test_a_name_that_does_not_fit_the_bytes(tmp_path):
    (tmp_path / "x.txt.gz").write_bytes(b"a 1 2\n")
    with pytest.raises(FormatError, match="named like gzip data but begins with 61 20"):
        formats.read(tmp_path / "x.txt.gz")
    with pytest.raises(DataError, match="Cannot read"):
        open_bytes(tmp_path)


def test_only_streamed_formats_are_compressed(vectors, tmp_path):
    assert formats.by_suffix(tmp_path / "x.vec.GZ").name == "word2vec-text"
    with pytest.raises(formats.UsageError, match=r"Unknown extension '\.gz'"):
        formats.by_suffix(tmp_path / "x.kv.gz")
