"""What every format must do. A new format is one row of CASES."""

from __future__ import annotations

import functools
import io
import json
import pickle
import re
import struct
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from wordstill import formats
from wordstill.errors import DataError, FormatError, UsageError, WordstillError
from wordstill.formats import FORMATS
from wordstill.formats.base import ReadOptions
from wordstill.formats.floret import FloretTable
from wordstill.vectors import WordVectors


def fasttext_file(vectors, path):
    """A model without n-grams, so that rows are vectors."""
    entries = b"".join(word.encode() + b"\0" + struct.pack("<qb", 1, 0) for word in vectors.words)
    matrix = struct.pack("<?2q", False, *vectors.matrix.shape) + vectors.matrix.astype("<f4").tobytes()
    path.write_bytes(
        struct.pack("<ii", 793712314, 12)
        + struct.pack("<12id", vectors.dim, 5, 5, 1, 5, 1, 2, 2, 0, 0, 0, 100, 1e-4)
        + struct.pack("<3i2q", len(vectors), len(vectors), 0, len(vectors), -1)
        + entries
        + matrix
        + matrix
    )


def floret_file(vectors, path):
    rows = FloretTable(vectors.matrix, 2, 3, 2, 7)
    none = np.empty((0, vectors.dim), np.float32)
    formats.write(WordVectors([], none, subwords=rows), path, "floret", overwrite=True)


def wordllama_folder(vectors, path):
    path.mkdir()
    vocabulary = dict(zip(vectors.words, range(len(vectors))))
    (path / "l2_tokenizer_config.json").write_text(json.dumps({"model": {"type": "BPE", "vocab": vocabulary}}))
    save_file({"embedding.weight": vectors.matrix}, path / "l2_5.safetensors")


@dataclass(frozen=True)
class Case:
    """A format, a name that chooses it for writing, and what it has room for."""

    format: str
    file: str
    make: Callable[[WordVectors, Path], None] | None = None
    """Makes a file of tables that the format cannot write: it is read only, or holds no words."""

    words: bool = True
    streamed: bool = False
    counts: bool = False
    provenance: bool = False
    float16: bool = False
    no_rows: bool = True
    refused: str = r"(?!)"
    """A pattern of words that the format must refuse to write; all others must come back."""

    unwritten: str = r"(?!)"
    """A pattern of words that a format which is only read cannot have."""


CASES = [
    Case("wordstill", "table", counts=True, provenance=True, float16=True),
    Case("model2vec", "table.model2vec", counts=True, provenance=True, float16=True),
    Case("sentence-transformers", "table.sentence-transformers", counts=True, provenance=True),
    Case("wordllama", "table.wordllama", wordllama_folder, float16=True),
    Case("spacy", "table.spacy", counts=True, provenance=True, refused=r"\A\Z"),
    Case("projector", "table.projector", counts=True, provenance=True, no_rows=False, refused=r"[\t\n\r]"),
    Case("gensim", "table.kv", counts=True, provenance=True, float16=True),
    Case("parquet", "table.parquet", counts=True, provenance=True, float16=True),
    Case("fasttext-binary", "table.bin", fasttext_file, unwritten=r"\x00"),
    Case("floret", "table.floret", floret_file, words=False, streamed=True),
    Case("word2vec-text", "table.txt", refused="\n", streamed=True),
    Case("word2vec-binary", "table.bin", refused=r" |\A\n", streamed=True),
    Case("glove-text", "table.glove.txt", refused="\n", no_rows=False, streamed=True),
]


def cases(chosen=lambda case: True):
    kept = [case for case in CASES if chosen(case)]
    return pytest.mark.parametrize("case", kept, ids=lambda case: case.format)


every_case = cases()
both_ways = cases(lambda case: case.make is None)


def make(case, vectors, path):
    """A file of this format."""
    if case.make:
        case.make(vectors, path)
    else:
        formats.write(vectors, path, case.format, overwrite=True)


def table(rows=7, dim=5, **extra):
    matrix = np.random.default_rng(rows).standard_normal((rows, dim)).astype(np.float32)
    return WordVectors([f"w{row}" for row in range(rows)], matrix, **extra)


class SmallBlocks(WordVectors):
    def blocks(self, rows=7):
        return super().blocks(rows)


def contents(path):
    """Every byte of a file or folder."""
    if path.is_file():
        return path.read_bytes()
    return {str(entry.relative_to(path)): entry.read_bytes() for entry in path.rglob("*") if entry.is_file()}


def assert_same(got, expected):
    assert got.words == expected.words
    assert got.matrix.dtype == expected.matrix.dtype
    # By bits: -0.0 is not 0.0.
    assert got.matrix.tobytes() == expected.matrix.tobytes()


def test_every_format_has_a_case():
    assert [case.format for case in CASES] == list(FORMATS)


@every_case
def test_the_table_of_formats_says_what_is_true(case):
    known = formats.FORMATS.find(case.format)
    assert (known.float16, known.streamed) == (case.float16, case.streamed)
    assert known.records == case.counts == case.provenance
    assert known.read is not None
    assert known.folder == (case.file.partition(".")[2] in FOLDERS)


FOLDERS = ("", "model2vec", "sentence-transformers", "wordllama", "spacy", "projector")


@both_ways
def test_round_trip_is_exact(case, tmp_path):
    path = tmp_path / case.file
    vectors = table(300, 20, counts=np.arange(300), provenance={"teacher": "t", "layers": [1, 2]})
    formats.write(vectors, path)
    for name in (None, case.format):
        again = formats.read(path, name)
        assert_same(again, vectors)
        assert (again.counts is not None) == case.counts
        assert again.provenance == (vectors.provenance if case.provenance else {})
        if case.counts:
            np.testing.assert_array_equal(again.counts, vectors.counts)


@both_ways
def test_float16_is_kept_or_widened(case, tmp_path):
    vectors = table()
    half = WordVectors(vectors.words, vectors.matrix.astype(np.float16))
    formats.write(half, tmp_path / case.file)
    again = formats.read(tmp_path / case.file)
    assert again.matrix.dtype == (np.float16 if case.float16 else np.float32)
    np.testing.assert_array_equal(again.matrix, half.matrix)


@both_ways
def test_rows_beyond_one_block(case, tmp_path):
    vectors = table(300, 20)
    formats.write(vectors, tmp_path / "whole", case.format)
    formats.write(SmallBlocks(vectors.words, vectors.matrix), tmp_path / "blocks", case.format)
    assert contents(tmp_path / "whole") == contents(tmp_path / "blocks")
    known = formats.recognize(tmp_path / "blocks")
    for block_bytes in (50, 1000):
        assert_same(known.read(tmp_path / "blocks", ReadOptions(block_bytes=block_bytes)), vectors)


@both_ways
def test_a_table_without_words(case, tmp_path):
    empty = WordVectors([], np.empty((0, 4), np.float32))
    if not case.no_rows:
        with pytest.raises(UsageError, match="no words"):
            formats.write(empty, tmp_path / case.file)
        return
    formats.write(empty, tmp_path / case.file)
    again = formats.read(tmp_path / case.file, case.format)
    assert (len(again), again.dim) == (0, 4)


@both_ways
def test_the_same_table_gives_the_same_bytes(case, tmp_path):
    for folder, provenance in (("a", {"x": 1, "y": {"p": 2, "q": 3}}), ("b", {"y": {"q": 3, "p": 2}, "x": 1})):
        formats.write(table(counts=np.arange(7), provenance=provenance), tmp_path / folder / case.file)
    assert contents(tmp_path / "a" / case.file) == contents(tmp_path / "b" / case.file)


@both_ways
def test_what_is_there_is_replaced_only_on_request(case, tmp_path):
    path = tmp_path / case.file
    formats.write(table(3), path)
    before = contents(path)
    with pytest.raises(UsageError, match="exists already"):
        formats.write(table(4), path)
    assert contents(path) == before
    formats.write(table(4), path, overwrite=True)
    assert len(formats.read(path)) == 4
    assert [entry.name for entry in tmp_path.iterdir()] == [case.file]


@both_ways
def test_a_table_can_be_written_over_its_own_file(case, tmp_path):
    path = tmp_path / case.file
    vectors = table()
    formats.write(vectors, path)
    formats.write(formats.read(path), path, overwrite=True)
    assert_same(formats.read(path), vectors)


@both_ways
def test_a_failed_write_leaves_nothing(case, tmp_path):
    vectors = WordVectors(["a", "\ud800"], np.ones((2, 3), np.float32))
    with pytest.raises(UsageError, match=r"'\\ud800' \(row 1\)"):
        formats.write(vectors, tmp_path / case.file)
    assert list(tmp_path.iterdir()) == []


@both_ways
def test_an_unwritable_place_is_an_error_of_ours(case, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WordstillError):
        formats.write(table(), tmp_path / "file" / case.file)


@every_case
def test_a_missing_path_is_an_error_of_ours(case, tmp_path):
    for name in (None, case.format):
        with pytest.raises(DataError, match="nowhere"):
            formats.read(tmp_path / "nowhere", name)


ODD_WORDS = [
    "a\tb", "\u00a0", "a\u00a0b", "e\u0301", "\U0001f469\u200d\U0001f4bb", "\x85", "\u2028", "a\rb", "\r",
    "\x1c", "\x00", "", "\\", "\\n", "#", '"', "'", "5", "-1.5", "1e5", "nan", "</s>", "\ufeff", "א",
    "x" * 5000,
]  # fmt: skip
BLANK_WORDS = [
    " ", "  ", "new york", " a", "a ", ". . .", "at name@domain.com", "section 5", "section 5 ",
    "section 5  ", "5 ", " 5", "5 5", "a 5 b", "pi 3.14159", "a -0.5e-3", "a nan", "1 2 3 4 5 6", "a\n",
    "\n", "\na", "a\nb",
]  # fmt: skip
words = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from(ODD_WORDS + BLANK_WORDS), st.from_regex(r"\A[a5. -]{0,8}\Z")),
    min_size=1,
    max_size=12,
    unique=True,
)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@cases(lambda case: case.words)
@settings(max_examples=40, deadline=None)
@given(words=words, value=numbers)
@example(words=ODD_WORDS, value=0.1)
@example(words=BLANK_WORDS, value=1.0)
@example(words=["section 5"], value=1.0)
@example(words=["\ufeff", "\ufeff\ufeff", "a"], value=1.0)
@example(words=["chapter 1", "chapter 2.5"], value=0.5)
def test_any_word_and_number_comes_back_or_is_refused(case, words, value):
    words = [word for word in words if not re.search(rf"[\ud800-\udfff]|{case.unwritten}", word)]
    kept = [word for word in words if not re.search(case.refused, word)]
    for word in sorted(set(words) - set(kept))[:5]:
        with tempfile.TemporaryDirectory() as folder, pytest.raises(UsageError, match="cannot store"):
            formats.write(WordVectors([word], np.ones((1, 3), np.float32)), Path(folder) / case.file)
    if not kept:
        return
    matrix = np.full((len(kept), 3), value, np.float32)
    matrix[:, 1] = np.arange(len(kept)) - 0.25
    with tempfile.TemporaryDirectory() as folder:
        vectors = WordVectors(kept, matrix)
        make(case, vectors, Path(folder) / case.file)
        assert_same(formats.read(Path(folder) / case.file), vectors)


@functools.cache
def files_of(case) -> dict[str, bytes]:
    """What a table is written as, by path."""
    with tempfile.TemporaryDirectory() as folder:
        make(case, table(counts=np.arange(7)), Path(folder) / case.file)
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@every_case
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_damaged_file_never_raises_anything_but_our_errors(case, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.file
        for name, written in files_of(case).items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(written)
        victim = Path(folder) / data.draw(st.sampled_from([*files_of(case)]))
        content = bytearray(victim.read_bytes())
        for _ in range(data.draw(st.integers(0, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        victim.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        for name in (None, case.format):
            try:
                vectors = formats.read(path, name)
            except DataError as error:
                assert folder in str(error)
            else:
                assert len(vectors.words) == len(vectors.matrix)


def zipped():
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("vectors.txt", "a 1 2\n")
    return memory.getvalue()


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was read",))


FOREIGN = {
    "a pickle": pickle.dumps(Bomb()),
    "a zip archive": zipped(),
    "an SQLite database": b"SQLite format 3\x00" + bytes(40),
    "binary data": bytes(range(256)) * 10,
    "text of another kind": b"It was a dark and stormy night.\nNothing here is a vector.\n",
    "empty": b"",
}


@every_case
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_named_for_what_it_is(case, kind, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(FOREIGN[kind])
    for name in (None, case.format):
        with pytest.raises(FormatError, match=f"foreign is not .* {kind}"):
            formats.read(path, name)


MANY = 1_000_000


@every_case
def test_a_million_columns(case, tmp_path):
    matrix = np.zeros((2, MANY), np.float32)
    matrix[1, -1] = 2.5
    table = WordVectors(["a", "b"], matrix)
    make(case, table, tmp_path / case.file)
    again = formats.read(tmp_path / case.file)
    assert again.dim == MANY
    rows = again.matrix if case.words else again.subwords.rows
    assert rows.shape == (2, MANY)
    assert rows[1, -1] == 2.5
