from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from wordstill import formats
from wordstill.errors import FormatError
from wordstill.formats import artifact
from wordstill.formats.fasttext import NgramTable
from wordstill.formats.floret import FloretTable
from wordstill.vectors import WordVectors

ROWS = np.random.default_rng(5).standard_normal((20, 4)).astype(np.float32)
TABLES = [NgramTable(ROWS, 2, 4), FloretTable(ROWS, 2, 4, 2, 77, "[", "]")]


def save(path, subwords):
    WordVectors(["the", "of"], ROWS[:2], subwords=subwords).save(path, overwrite=True)


@pytest.mark.parametrize("subwords", TABLES, ids=["fasttext", "floret"])
def test_sub_words_come_back_from_our_folder(tmp_path, subwords):
    save(tmp_path / "x", subwords)
    again = artifact.read(tmp_path / "x", verify=True)
    for word in ("then", "münchen", "日本", ""):
        np.testing.assert_array_equal(again.subwords.vector(word), subwords.vector(word))
    np.testing.assert_array_equal(again.with_backoff("subwords")["then"], subwords.vector("then"))
    formats.write(again, tmp_path / "x", overwrite=True)
    np.testing.assert_array_equal(formats.read(tmp_path / "x").subwords.vector("then"), subwords.vector("then"))
    save(tmp_path / "x", None)
    assert formats.read(tmp_path / "x").subwords is None
    assert not (tmp_path / "x" / "subwords.safetensors").exists()


def test_a_changed_number_is_found_and_a_missing_file(tmp_path):
    save(tmp_path / "x", TABLES[0])
    file = tmp_path / "x" / "subwords.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    formats.read(tmp_path / "x")
    with pytest.raises(FormatError, match=r"subwords\.safetensors is damaged or was changed"):
        artifact.read(tmp_path / "x", verify=True)
    file.unlink()
    with pytest.raises(FormatError, match=r"subwords\.safetensors is missing"):
        formats.read(tmp_path / "x")


GOOD = {"minn": 2, "maxn": 4}


@pytest.mark.parametrize(
    ("rows", "kind", "settings"),
    [
        (ROWS[:, :3], "fasttext", GOOD),
        (ROWS[:0], "fasttext", GOOD),
        (ROWS[0], "fasttext", GOOD),
        (ROWS, "other", GOOD),
        (ROWS, "fasttext", {"minn": 2}),
        (ROWS, "fasttext", {"minn": 2, "maxn": 10**9}),
        (ROWS, "fasttext", {"minn": "2", "maxn": 3}),
        (ROWS, "fasttext", {**GOOD, "more": 1}),
        (ROWS, "fasttext", [1]),
    ],
)
def test_damage(tmp_path, rows, kind, settings):
    save(tmp_path / "x", TABLES[0])
    metadata = {"kind": kind, "settings": json.dumps(settings)}
    save_file({"rows": np.ascontiguousarray(rows)}, tmp_path / "x" / "subwords.safetensors", metadata)
    with pytest.raises(FormatError, match=r"subwords\.safetensors"):
        formats.read(tmp_path / "x")
