"""How a format is chosen: by its name, by the end of a file's name, or by what is there."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from wordstill import formats
from wordstill.core.plugins import Registry
from wordstill.errors import DataError, FormatError, UsageError
from wordstill.formats import FORMATS
from wordstill.vectors import WordVectors

TABLE = WordVectors(["a", "b"], np.ones((2, 3), np.float32))


def test_a_folder_that_holds_no_vectors(tmp_path):
    with pytest.raises(FormatError, match="holds no vectors"):
        formats.read(tmp_path)


def test_an_unknown_format_is_answered_with_the_known_ones(tmp_path):
    with pytest.raises(UsageError, match="Did you mean 'word2vec-text'"):
        formats.read(tmp_path, "word2vec-txt")
    with pytest.raises(UsageError, match=r"Known: .*word2vec-binary"):
        formats.write(TABLE, tmp_path / "x", "nonsense")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("table", "wordstill"),
        ("table.wordstill", "wordstill"),
        ("table.TXT", "word2vec-text"),
        ("table.vec", "word2vec-text"),
        ("table.bin", "word2vec-binary"),
        ("table.glove", "glove-text"),
        ("v1.5.glove.txt", "glove-text"),
    ],
)
def test_the_suffix_chooses_the_format_for_writing(file, name):
    assert formats.by_suffix(Path(file)).name == name


def test_an_archive_of_numpy_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", words=np.array(["a"]), vectors=np.ones((1, 3), np.float32))
    known = ", ".join(FORMATS)
    with pytest.raises(FormatError, match=rf"known format of vectors \({known}\); .* a zip archive\. Unpack"):
        formats.read(tmp_path / "x.npz")


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"Unknown extension '.pkl'.*\.bin.*name the format"):
        formats.write(TABLE, tmp_path / "table.pkl")


def test_a_folder_is_never_replaced_by_a_file(tmp_path):
    (tmp_path / "table.txt").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        formats.write(TABLE, tmp_path / "table.txt", overwrite=True)


@pytest.mark.parametrize(("missing", "message"), [("read", "not read"), ("write", "not written")])
def test_a_format_may_go_one_way_only(monkeypatch, tmp_path, missing, message):
    one_way = formats.Format("one-way", (".one",), **{missing: None})
    rows = Registry("format", "wordstill.no-formats", {**FORMATS, "one-way": one_way})
    monkeypatch.setattr(formats, "FORMATS", rows)
    with pytest.raises(UsageError, match=message):
        if missing == "read":
            formats.read(tmp_path / "x.one", "one-way")
        else:
            formats.write(TABLE, tmp_path / "x.one")


def test_the_page_of_formats_says_the_same():
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| `") and line.count("|") == 9
    ]
    assert [row[0].strip("`") for row in rows] == list(FORMATS)
    for known, (_, _, ends, read, write, records, float16, _) in zip(FORMATS.values(), rows):
        assert re.findall("`([^`]+)`", ends) == [suffix for suffix in known.suffixes if suffix]
        assert (read == "yes", write == "yes") == (known.read is not None, known.write is not None)
        assert (records == "yes", float16.startswith("yes")) == (known.records, known.float16)
        assert ("int8" in float16) == (known.write_int8 is not None)


def test_plug_ins_are_tried_after_the_built_in_formats(monkeypatch, tmp_path):
    mine = formats.Format("mine", (".mine",), lambda *_: TABLE, lambda *_: None, lambda path: path.exists())
    rows = Registry("format", "wordstill.formats", FORMATS.built_in, formats.Format, instances=True)
    point = SimpleNamespace(name="mine", value="mine:FORMAT", dist=None, module="mine", load=lambda: mine)
    monkeypatch.setattr("wordstill.core.plugins.find_plugins", lambda group: [point])
    monkeypatch.setattr(formats, "FORMATS", rows)
    (tmp_path / "table").write_bytes(b"\x00mine")
    assert formats.read(tmp_path / "table") is TABLE
    assert formats.by_suffix(tmp_path / "table.mine") is mine
    formats.write(TABLE, tmp_path / "table.txt")
    assert formats.recognize(tmp_path / "table.txt").name == "word2vec-text"
    point.load = pytest.fail
    with pytest.raises(DataError, match="No such file"):
        formats.read(tmp_path / "nowhere")
