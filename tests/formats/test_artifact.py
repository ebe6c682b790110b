from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from wordstill import formats
from wordstill.core.files import sha256_of
from wordstill.core.resume import OWN_CHECKSUM, unsigned
from wordstill.errors import FormatError, UsageError
from wordstill.formats import artifact
from wordstill.vectors import WordVectors
from wordstill.vectors.occurrences import Occurrences

WORDS = ["a", "b c", "line\nbreak", "back\\slash", "\\n", "\r", "", "é"]


@pytest.fixture
def vectors():
    matrix = np.arange(24, dtype=np.float32).reshape(8, 3) - 5
    return WordVectors(WORDS, matrix, counts=np.arange(8) * 10, provenance={"teacher": "t", "seed": np.int64(3)})


@pytest.fixture
def folder(vectors, tmp_path):
    vectors.save(tmp_path / "table")
    return tmp_path / "table"


def test_the_files_are_what_they_are_said_to_be(folder, vectors):
    assert sorted(entry.name for entry in folder.iterdir()) == [
        "README.md",
        "config.json",
        "vectors.safetensors",
        "words.txt",
    ]
    assert (folder / "words.txt").read_bytes() == "a\nb c\nline\\nbreak\nback\\\\slash\n\\\\n\n\\r\n\né\n".encode()
    tensors = load_file(folder / "vectors.safetensors")
    np.testing.assert_array_equal(tensors["vectors"], vectors.matrix)
    np.testing.assert_array_equal(tensors["counts"], vectors.counts)
    assert unsigned(json.loads((folder / "config.json").read_text()), OWN_CHECKSUM) == {
        "format": "wordstill",
        "schema": 1,
        "rows": 8,
        "dim": 3,
        "dtype": "float32",
        "counts": True,
        "provenance": {"teacher": "t", "seed": 3},
        "sha256": {name: sha256_of(folder / name) for name in ("vectors.safetensors", "words.txt")},
    }


def test_opening_maps_the_matrix(folder):
    again = formats.read(folder)
    assert isinstance(again.matrix.base, np.memmap)
    assert again.words == tuple(WORDS)


def test_opening_needs_numpy_only(folder):
    check = (
        "import sys; from wordstill.vectors.table import WordVectors; "
        f"WordVectors.load({str(folder)!r}).most_similar('a'); "
        "heavy = {'torch', 'scipy', 'gensim', 'pyarrow', 'transformers', 'safetensors'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


def test_a_large_table_opens_at_once(tmp_path):
    rows = 400_000
    WordVectors([f"word{row}" for row in range(rows)], np.zeros((rows, 4), np.float16)).save(tmp_path / "big")
    start = time.process_time()
    formats.read(tmp_path / "big")
    assert time.process_time() - start < 1


def test_changed_words_are_told(folder):
    """D14: their checksum was compared and nothing said."""
    text = (folder / "words.txt").read_bytes()
    (folder / "words.txt").write_bytes(text.replace(b"b c", b"b d"))
    with pytest.raises(FormatError, match=r"words\.txt is damaged or was changed.*convert --repair"):
        artifact.read(folder)
    with pytest.warns(UserWarning, match="words other than those recorded"):
        assert formats.read(folder, repair=True).words[1] == "b d"


def test_changed_settings_are_told(folder):
    text = (folder / "config.json").read_bytes()
    (folder / "config.json").write_bytes(text.replace(b'"seed": 3', b'"seed": 2'))
    with pytest.raises(FormatError, match=r"config\.json is damaged or was changed.*convert --repair"):
        formats.read(folder)
    with pytest.warns(UserWarning, match="settings other than those recorded"):
        assert formats.read(folder, repair=True).provenance["seed"] == 2


@pytest.mark.parametrize("dtype", ["f32", "i8"])
def test_changed_numbers_are_told_when_all_are_used(folder, tmp_path, dtype):
    formats.write(artifact.read(folder), tmp_path / "again", dtype=dtype)
    path = tmp_path / "again" / "vectors.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    table = artifact.read(tmp_path / "again")
    for use in (lambda: table.most_similar("a"), table.check_finite, lambda: formats.write(table, tmp_path / "x.txt")):
        with pytest.raises(FormatError, match=r"vectors\.safetensors is damaged or was changed"):
            use()


def test_verify_finds_a_changed_number_and_reading_does_not_look(folder):
    assert artifact.read(folder, verify=True).words == tuple(WORDS)
    tensors = bytearray((folder / "vectors.safetensors").read_bytes())
    tensors[-1] ^= 1
    (folder / "vectors.safetensors").write_bytes(tensors)
    artifact.read(folder)
    with pytest.raises(FormatError, match=r"vectors\.safetensors is damaged or was changed: SHA-256 \w+, expected \w+"):
        artifact.read(folder, verify=True)


def test_the_card_may_be_edited(folder):
    (folder / "README.md").write_text("# Mine")
    artifact.read(folder, verify=True)
    (folder / "README.md").unlink()
    artifact.read(folder, verify=True)


def test_every_cut_of_a_data_file_is_found(folder):
    for name in ("vectors.safetensors", "words.txt"):
        whole = (folder / name).read_bytes()
        for length in range(len(whole)):
            (folder / name).write_bytes(whole[:length])
            with pytest.raises(FormatError, match=name):
                formats.read(folder)
        (folder / name).write_bytes(whole)
    formats.read(folder)


def set_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text()) | changes
    # As earlier versions wrote it.
    del config["checksum"]
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, 'config.json does not say "format": "wordstill"'),
        ({"schema": 3}, "schema 3, this version reads 1 and 2"),
        ({"rows": 9}, r"expected {'vectors': 'float32 \(9, 3\)'"),
        ({"rows": "8"}, "'rows' is '8', expected int"),
        ({"rows": True}, "'rows' is True, expected int"),
        ({"dim": 4}, r"has {.*'float32 \(8, 3\)'}, expected {'vectors': 'float32 \(8, 4\)'"),
        ({"dtype": "float16"}, "float16"),
        ({"counts": False}, r"has {'counts': 'int64 \(8,\)'"),
        ({"provenance": None}, "'provenance' is None, expected dict"),
        ({"sha256": []}, "'sha256' is"),
    ],
)
def test_settings_that_do_not_fit(folder, changes, message):
    set_config(folder, **changes)
    with pytest.raises(FormatError, match=message):
        formats.read(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"null", b"[" * 100_000])
def test_settings_that_are_not_json(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(FormatError, match=r"config\.json"):
        formats.read(folder)


@pytest.mark.parametrize("name", ["config.json", "vectors.safetensors", "words.txt"])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    with pytest.raises(FormatError, match=f"{name} is missing"):
        formats.read(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\nc\n", "has 3 words, expected 8"),
        (b"a\nb\nc\nd\ne\nf\ng\nh", ":8: the last line has no end"),
        (b"a\nb\nc\nd\ne\nf\ng\na\n", ":8: the word 'a' is there already, on line 1"),
        (b"a\nb\nc\nd\ne\nf\ng\n\\x\n", r":8: '\\\\x' is not an escape"),
        (b"a\nb\nc\nd\ne\nf\ng\n\\\n", r":8: '\\\\' is not an escape"),
        (b"a\nb\nc\nd\ne\nf\ng\n\xff\n", ":8: not UTF-8 at byte 14"),
    ],
)
def test_words_that_do_not_fit(folder, content, message):
    (folder / "words.txt").write_bytes(content)
    with pytest.raises(FormatError, match=rf"words\.txt:?.*{message}"):
        formats.read(folder)


def test_other_types_of_numbers_are_refused(folder):
    tensors = load_file(folder / "vectors.safetensors")
    save_file(tensors | {"vectors": tensors["vectors"].astype(np.float64)}, folder / "vectors.safetensors")
    set_config(folder, dtype="float64")
    with pytest.raises(FormatError, match="float32, float16, int8"):
        formats.read(folder)


def test_counts_that_cannot_be(folder):
    tensors = load_file(folder / "vectors.safetensors")
    save_file(tensors | {"counts": tensors["counts"] - 1}, folder / "vectors.safetensors")
    with pytest.raises(FormatError, match=r"table.*The count of row 0 is -1"):
        formats.read(folder)


def test_a_folder_with_other_files_is_not_replaced(folder, vectors):
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"holds other files \(thesis\.tex\)"):
        vectors.save(folder, overwrite=True)
    assert (folder / "thesis.tex").exists()


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, "\ud800"])
def test_provenance_that_json_cannot_hold(tmp_path, value):
    vectors = WordVectors(["a"], np.ones((1, 2), np.float32), provenance={"x": value})
    with pytest.raises(UsageError, match="The provenance cannot be written as JSON"):
        vectors.save(tmp_path / "table")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def kept() -> Occurrences:
    states = np.arange(12, dtype=np.float16).reshape(4, 3)
    places = (
        np.array([0, 5, 1 << 40, 9]),
        np.array([0, 1, 2, 3], dtype=np.int32),
        np.array([2, 2, 2, 1], dtype=np.uint8),
    )
    return Occurrences(["b c", "é"], np.array([40, 1]), np.array([0, 3, 4]), states, *places, layer=6)


def test_occurrences_go_with_the_table(vectors, kept, tmp_path):
    vectors.occurrences = kept
    vectors.save(tmp_path / "table")
    again = formats.read(tmp_path / "table").occurrences
    assert isinstance(again.states, np.memmap)
    assert (again.words, again.layer) == (kept.words, 6)
    for name, array in kept.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
    uses = again.of("b c")
    assert (len(uses), uses.total, uses.sentences.tolist(), uses.sizes.tolist()) == (3, 40, [0, 5, 1 << 40], [2, 2, 2])
    with pytest.raises(UsageError, match=r"No occurrence of 'b' was kept; 2 words have some.*--occurrences-of"):
        again.of("b")
    vectors.occurrences = None
    vectors.save(tmp_path / "table", overwrite=True)
    assert formats.read(tmp_path / "table").occurrences is None
    assert not (tmp_path / "table" / "occurrences.safetensors").exists()


def test_damaged_occurrences_are_found_when_they_are_used(vectors, kept, tmp_path):
    vectors.occurrences = kept
    vectors.save(tmp_path / "table")
    path = tmp_path / "table" / "occurrences.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    opened = formats.read(tmp_path / "table")
    opened.check_finite()
    with pytest.raises(FormatError, match=r"occurrences\.safetensors is damaged or was changed"):
        opened.occurrences.of("b c")
    path.write_bytes(whole.replace(b'"layer":"6"', b'"layer":"x"'))
    with pytest.raises(FormatError, match="The layer is 'x'"):
        formats.read(tmp_path / "table")
    save_file({"states": np.zeros((2, 3), dtype=np.float16)}, path, {"layer": "1"})
    with pytest.raises(FormatError, match="Occurrences have the arrays"):
        formats.read(tmp_path / "table")
    path.unlink()
    with pytest.raises(FormatError, match=r"occurrences\.safetensors is missing"):
        formats.read(tmp_path / "table")
