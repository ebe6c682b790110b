"""Files of vectors that were made to hang, to fill the memory, to end the process or to raise what is not ours."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import time
import tracemalloc

import numpy as np
import pytest

from wordstill import WordVectors, formats
from wordstill.core.guard import VARIABLE
from wordstill.core.tensors import write_tensors
from wordstill.errors import FormatError
from wordstill.formats import gensim_native

TABLE = WordVectors(["king", "queen"], np.arange(4, dtype=np.float32).reshape(2, 2), counts=np.array([2, 1]))
SECONDS = 20
"""Far more than any of these may take on a busy machine, and far less than they took."""


@pytest.fixture(autouse=True)
def quick():
    started = time.monotonic()
    yield
    assert time.monotonic() - started < SECONDS


def test_a_flipped_bit_of_parquet_does_not_end_the_process(tmp_path):
    """D6: Arrow aborts; no exception handler sees that."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    WordVectors(["king", "queen", "river"], np.arange(6, dtype=np.float32).reshape(3, 2), counts=np.arange(3)).save(
        path
    )
    whole = path.read_bytes()
    for place in (371, 373):
        damaged = bytearray(whole)
        damaged[place] ^= 8
        path.write_bytes(damaged)
        try:
            formats.read(path)
        except FormatError as error:
            assert "x.parquet" in str(error)


def test_long_numbers_take_no_longer_than_their_length(tmp_path):
    """D8: the pattern of a number was tried in the square of its length."""
    path = tmp_path / "x.txt"
    path.write_bytes(b"2 3\nking 1 2 3\nword " + b"1" * 200_000 + b"x 1 2\n")
    with pytest.raises(FormatError):
        formats.read(path)


NESTED = b"2\x86" * 40
HOSTILE = {
    "nested key": b")\x81})" + NESTED + b"K\x01sb.",
    "nested keys": b")\x81}(" + b")" + NESTED + b"K\x01ub.",
    "nested name": b")\x81})" + NESTED + b"K\x01\x86\x85.",
    "nested set": b"()" + NESTED + b"\x91.",
    "nested code": b"0cnumpy\ndtype\n)" + NESTED + b"\x85R.",
    "attributes of a function": b"0cnumpy\nndarray\n}X\x01\x00\x00\x00aK\x01sb.",
    "attributes of a class": b"}X\x01\x00\x00\x00aK\x01sb.",
    "a list of lists": b"0" + b"]" * 50_000 + b"a" * 49_999 + b".",
}


@pytest.mark.parametrize("program", HOSTILE.values(), ids=HOSTILE)
def test_pickles_that_hang(tmp_path, program):
    """D9: a hash or a text of tuples inside each other takes for ever."""
    path = tmp_path / "x.kv"
    path.write_bytes(b"\x80\x04cgensim.models.keyedvectors\nKeyedVectors\n" + program)
    with pytest.raises(FormatError):
        formats.read(path, "gensim")
    assert not vars(gensim_native.nothing)


def attributes(**changed):
    """A pickle of gensim's object with these attributes."""
    program = b"\x80\x04cgensim.models.keyedvectors\nKeyedVectors\n)\x81" + pickle.dumps(changed, 2)[2:-1]
    return program + b"b."


@pytest.mark.parametrize(
    "changed",
    [
        {"index_to_key": [], "__numpys": 5},
        {"index_to_key": ["a"], "vectors": [1.0]},
        {"index_to_key": [["a"]], "vectors": []},
        {"index_to_key": ["a"], "__numpys": ["vectors"], "provenance": 5},
    ],
)
def test_attributes_of_another_type(tmp_path, changed):
    path = tmp_path / "x.kv"
    path.write_bytes(attributes(**changed))
    with pytest.raises(FormatError):
        formats.read(path)


def test_a_pickle_has_a_limit_of_instructions(tmp_path, monkeypatch):
    pytest.importorskip("gensim")
    TABLE.save(tmp_path / "x.kv")
    monkeypatch.setenv(VARIABLE, "objects=20")
    with pytest.raises(FormatError, match=r"more than 20 instructions.*--limits objects=N"):
        formats.read(tmp_path / "x.kv")


def test_a_row_of_millions_of_numbers(tmp_path):
    """D10"""
    (tmp_path / "x.txt.gz").write_bytes(gzip.compress(b"word" + b" 0" * 3_000_000 + b"\n"))
    with pytest.raises(FormatError, match=r"row 1 has more than 1,048,576 numbers.*--limits dim=N"):
        formats.read(tmp_path / "x.txt.gz", "glove-text")


def fasttext(words, dim=2, buckets=1, maxn=100):
    data = (793712314).to_bytes(4, "little") + struct.pack("<i", 12)
    data += struct.pack("<12id", dim, 5, 1, 1, 5, 1, 2, 2, buckets, 1, maxn, 0, 1e-4)
    data += struct.pack("<3i2q", len(words), len(words), 0, 10, -1)
    for word in words:
        data += word + b"\0" + struct.pack("<qb", 1, 0)
    rows = len(words) + buckets
    data += struct.pack("<?2q", False, rows, dim) + bytes(4 * rows * dim)
    return data + struct.pack("<?2q", False, 1, dim) + bytes(4 * dim)


def test_fasttext_words_have_a_limit_and_long_ones_little_memory(tmp_path):
    """D10: a word of 300 kB took 1.3 GB."""
    path = tmp_path / "x.bin"
    path.write_bytes(fasttext([b"a" * 300_000]))
    with pytest.raises(FormatError, match=r"entry 0 has more than 65,536 bytes.*--limits word_bytes=N"):
        formats.read(path)
    path.write_bytes(fasttext([bytes([97 + number]) * 3000 for number in range(20)]))
    tracemalloc.start()
    assert len(formats.read(path)) == 20
    assert tracemalloc.get_traced_memory()[1] < 400 << 20
    tracemalloc.stop()


def broken_model2vec(tmp_path, change):
    path = tmp_path / "x.model2vec"
    TABLE.save(path)
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    change(tokenizer)
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda tokenizer: tokenizer.update(added_tokens=5),
        lambda tokenizer: tokenizer.update(added_tokens=[{"content": [], "id": 1}]),
        lambda tokenizer: tokenizer.update(model=[]),
        lambda tokenizer: tokenizer["model"].update(vocab={"a": []}),
    ],
)
def test_tokenizers_of_another_shape(tmp_path, change):
    """D20"""
    with pytest.raises(FormatError):
        formats.read(broken_model2vec(tmp_path, change), "model2vec")


def test_floret_settings_without_hashes(tmp_path):
    """D20: an IndexError at the first word."""
    path = tmp_path / "x"
    TABLE.save(path)
    settings = {"minn": 1, "maxn": 2, "hash_count": 0, "hash_seed": 0, "begin": "<", "end": ">"}
    metadata = {"kind": "floret", "settings": json.dumps(settings)}
    write_tensors(path / "subwords.safetensors", {"rows": np.ones((4, 2), np.float32)}, metadata)
    config = json.loads((path / "config.json").read_text())
    config["sha256"]["subwords.safetensors"] = "0"
    del config["checksum"]
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(FormatError, match="hash_count"):
        formats.read(path)


def test_repairing_numbers_that_do_not_fit_the_words(tmp_path):
    """D20: an IndexError."""
    pytest.importorskip("gensim")
    TABLE.save(tmp_path / "x.kv")
    program = (tmp_path / "x.kv").read_bytes().replace(b"\x8c\x05queen", b"\x8c\x05queex")
    (tmp_path / "x.kv").write_bytes(
        program.replace(b"(K\x02K\x02\x86", b"(K\x01K\x04\x86").replace(b"K\x02K\x02\x86", b"K\x01K\x04\x86")
    )
    with pytest.raises(FormatError, match=r"for 2 words|damaged"):
        formats.read(tmp_path / "x.kv", repair=True)


def test_a_plugin_that_raises_something_else_is_told_by_file(tmp_path, monkeypatch):
    """One wrapper at the door: no reader can raise what is not ours."""
    path = tmp_path / "x.txt"
    path.write_text("1 2\na 1 2\n")

    def broken(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("wordstill.formats.text.TextTable.add", broken)
    with pytest.raises(FormatError, match=r"x\.txt is damaged or of another kind \(ZeroDivisionError"):
        formats.read(path)
