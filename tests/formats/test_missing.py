"""Packages that only some formats need."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from wordstill import formats
from wordstill.errors import MissingExtra
from wordstill.vectors import WordVectors

NEEDS = {
    "table.kv": ("gensim", "train"),
    "table.parquet": ("pyarrow", "distill"),
    "table.spacy": ("spacy", "spacy"),
    "table.txt.zst": ("zstandard", "distill"),
}


@pytest.fixture
def vectors():
    return WordVectors(["a", "b"], np.eye(2, dtype=np.float32))


@pytest.mark.parametrize("file", NEEDS)
@pytest.mark.parametrize("way", ["read", "write"])
def test_what_is_missing_is_named(tmp_path, monkeypatch, vectors, file, way):
    package, extra = NEEDS[file]
    if way == "read":
        pytest.importorskip(package, reason=f"{package} is not installed")
        vectors.save(tmp_path / file)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    if (file, way) == ("table.kv", "read"):
        assert formats.read(tmp_path / file).words == ("a", "b")
        return
    with pytest.raises(MissingExtra, match=rf"needs the package '{package}'.*wordstill\[{extra}\]"):
        formats.read(tmp_path / file) if way == "read" else vectors.save(tmp_path / file)
    assert [entry.name for entry in tmp_path.iterdir()] == ([file] if way == "read" else [])


def test_a_bar_needs_tqdm(tmp_path, monkeypatch, vectors):
    vectors.save(tmp_path / "x.txt")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tqdm"] + ["tqdm"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(MissingExtra, match="'tqdm'"):
        formats.read(tmp_path / "x.txt", progress=True)
