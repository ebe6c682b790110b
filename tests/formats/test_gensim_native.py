from __future__ import annotations

import pickle

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec

from wordstill import formats
from wordstill.errors import FormatError
from wordstill.vectors import WordVectors

WORDS = ["the", "new york", "tab\there", "👩‍💻", "line\nbreak", "", "\0"]
MATRIX = np.random.default_rng(5).standard_normal((7, 5)).astype(np.float32)


@pytest.fixture
def vectors():
    return WordVectors(WORDS, MATRIX, counts=np.arange(7) * 3, provenance={"teacher": "t"})


def keyed(dtype=np.float32):
    table = KeyedVectors(5, dtype=dtype)
    table.add_vectors(WORDS, MATRIX.astype(dtype))
    return table


def test_gensim_reads_what_we_write(vectors, tmp_path):
    vectors.save(tmp_path / "x.kv")
    oracle = KeyedVectors.load(str(tmp_path / "x.kv"))
    assert oracle.index_to_key == WORDS
    np.testing.assert_array_equal(oracle.vectors, MATRIX)
    assert [oracle.get_vecattr(word, "count") for word in WORDS] == vectors.counts.tolist()
    ours = vectors.most_similar("the", topn=4)
    assert [word for word, _ in oracle.most_similar("the", topn=4)] == [word for word, _ in ours]
    oracle.add_vectors(["new"], np.ones((1, 5), np.float32))
    oracle.save(str(tmp_path / "again.kv"))
    again = formats.read(tmp_path / "again.kv")
    assert again.words == (*WORDS, "new")
    assert again.counts.tolist() == [*vectors.counts.tolist(), 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("apart", [[], ["vectors"]])
def test_we_read_what_gensim_writes(tmp_path, dtype, apart):
    keyed(dtype).save(str(tmp_path / "x"), separately=apart)
    again = formats.read(tmp_path / "x")
    assert list(again.words) == WORDS
    assert again.matrix.dtype == dtype
    np.testing.assert_array_equal(again.matrix, MATRIX.astype(dtype))
    assert isinstance(again.matrix.base, np.memmap) == bool(apart)


def test_trained_vectors_with_their_counts(tmp_path):
    sentences = [["king", "queen", "king"], ["river", "bank", "king"]] * 5
    model = Word2Vec(sentences, vector_size=4, min_count=1, workers=1, epochs=1)
    model.wv.save(str(tmp_path / "x"))
    again = formats.read(tmp_path / "x")
    assert list(again.words) == model.wv.index_to_key
    assert again.counts.tolist() == [model.wv.get_vecattr(word, "count") for word in again.words]
    np.testing.assert_array_equal(again.matrix, model.wv.vectors)


def test_large_arrays_lie_beside_and_go_when_they_are_replaced(tmp_path, vectors, monkeypatch):
    save = KeyedVectors.save
    with monkeypatch.context() as patch:
        patch.setattr(KeyedVectors, "save", lambda self, path: save(self, path, separately=["vectors"]))
        vectors.save(tmp_path / "x.kv")
    assert {entry.name for entry in tmp_path.iterdir()} == {"x.kv", "x.kv.vectors.npy"}
    again = formats.read(tmp_path / "x.kv")
    again.save(tmp_path / "x.kv", overwrite=True)
    assert {entry.name for entry in tmp_path.iterdir()} == {"x.kv"}
    np.testing.assert_array_equal(formats.read(tmp_path / "x.kv").matrix, MATRIX)


def test_a_missing_or_cut_side_file(tmp_path):
    keyed().save(str(tmp_path / "x"), separately=["vectors"])
    side = tmp_path / "x.vectors.npy"
    whole = side.read_bytes()
    for length in (0, 5, 60, len(whole) - 1):
        side.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"x\.vectors\.npy"):
            formats.read(tmp_path / "x")
    side.unlink()
    with pytest.raises(FormatError, match=r"x\.vectors\.npy is missing; it belongs to"):
        formats.read(tmp_path / "x")


def test_whole_models_are_refused_with_advice(tmp_path):
    Word2Vec([["a", "b"]] * 5, vector_size=4, min_count=1, workers=1).save(str(tmp_path / "x"))
    with pytest.raises(FormatError, match=r"it names gensim\.models\.word2vec\.Word2Vec.*never executed"):
        formats.read(tmp_path / "x")


def test_every_cut_is_found(tmp_path, vectors):
    vectors.save(tmp_path / "x.kv")
    whole = (tmp_path / "x.kv").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "x.kv").write_bytes(whole[:length])
        with pytest.raises(FormatError):
            formats.read(tmp_path / "x.kv", "gensim")


class Evil:
    """A pickle that would call something, with the name of gensim's table in it."""

    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments, {"gensim.models.keyedvectors": 1}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "value",
    [
        Evil(pytest.fail, "it was called"),
        Evil(eval, "pytest.fail()"),
        Evil(getattr, KeyedVectors, "load"),
        Evil(np.ndarray(0).__reduce__()[0], np.ndarray, (1 << 40,), b"b"),
        [keyed(), Evil(print, "called")],
        {"gensim.models.keyedvectors": bytearray(5)},
    ],
    ids=["call", "eval", "getattr", "large", "hidden", "no table"],
)
def test_nothing_in_a_pickle_is_ever_called(tmp_path, capsys, value, protocol):
    (tmp_path / "x").write_bytes(pickle.dumps(value, protocol))
    with pytest.raises(FormatError):
        formats.read(tmp_path / "x", "gensim")
    assert capsys.readouterr().out == ""


HEAD = b"\x80\x04\x8c\x1agensim.models.keyedvectors0"


@pytest.mark.parametrize(
    "opcodes",
    [
        b"\x96" + (1 << 40).to_bytes(8, "little") + b"abc.",
        b"\x8e" + (1 << 40).to_bytes(8, "little") + b"abc.",
        b"]r\xff\xff\xff\xff.",
        b"\x95" + (1 << 40).to_bytes(8, "little") + b"].",
        b"(" * 100_000 + b".",
        b"\x8b\xff\xff\xff\x7f.",
        b"\x82\x01.",
        b"Ppersistent\n.",
    ],
    ids=["byte array", "bytes", "memo", "frame", "marks", "long", "extension", "persistent"],
)
def test_a_pickle_cannot_ask_for_memory_or_names(tmp_path, opcodes):
    (tmp_path / "x").write_bytes(HEAD + opcodes)
    with pytest.raises(FormatError):
        formats.read(tmp_path / "x")


def test_arrays_of_objects_and_false_shapes_are_refused(tmp_path):
    table = keyed()
    table.expandos["count"] = np.array([None] * 7)
    table.save(str(tmp_path / "x"))
    with pytest.raises(FormatError, match=r"not numbers|not of numbers"):
        formats.read(tmp_path / "x")
    table.expandos["count"] = np.arange(9)
    table.save(str(tmp_path / "x"))
    with pytest.raises(FormatError, match="'count' is not an array of 7"):
        formats.read(tmp_path / "x")
