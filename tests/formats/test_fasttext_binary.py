from __future__ import annotations

import struct

import numpy as np
import pytest
from gensim.models import FastText
from gensim.models.fasttext import load_facebook_vectors, save_facebook_model
from hypothesis import given, settings
from hypothesis import strategies as st

from wordstill import formats
from wordstill.errors import DataError, FormatError
from wordstill.formats.fasttext import NgramTable, ngram_rows

WORDS = ["king", "queen", "river", "münchen", "日本", "walking", "walked", "a", "🙂x"]
OTHERS = ["kings", "x", "münch", "日", "🙂🙂", "unwalkable", "<", ""]


@pytest.fixture(params=[(1, 4), (3, 6), (2, 2), (0, 0)], ids=str)
def trained(request, tmp_path):
    """A small model, saved as fastText does, and as gensim reads it back."""
    minn, maxn = request.param
    sentences = [[WORDS[(7 * row + place) % 9] for place in range(9)] for row in range(20)]
    model = FastText(sentences, vector_size=6, min_count=1, min_n=minn, max_n=maxn, bucket=50, epochs=1, workers=1)
    save_facebook_model(model, str(tmp_path / "model.bin"))
    return tmp_path / "model.bin", load_facebook_vectors(str(tmp_path / "model.bin"))


def test_words_and_counts_are_gensims(trained):
    path, oracle = trained
    vectors = formats.read(path)
    assert list(vectors.words) == oracle.index_to_key
    assert vectors.counts.tolist() == [oracle.get_vecattr(word, "count") for word in vectors.words]
    np.testing.assert_allclose(vectors.matrix, oracle.vectors, atol=1e-7)
    assert vectors.provenance["fasttext"]["dim"] == 6


def test_words_outside_the_table_are_gensims(trained):
    path, oracle = trained
    vectors = formats.read(path)
    for word in OTHERS:
        expected = np.zeros(6) if not oracle.max_n else oracle[word]
        np.testing.assert_allclose(vectors.subwords.vector(word), expected, atol=1e-7)
    if oracle.max_n:
        backed = vectors.with_backoff("subwords")
        np.testing.assert_allclose(backed["kings"], oracle["kings"], atol=1e-7)
        found = backed.most_similar(backed["kings"], topn=3)
        assert [word for word, _ in found] == [word for word, _ in oracle.similar_by_vector(oracle["kings"], 3)]


def slow_rows(word, minn, maxn, buckets):
    """As the paper says it: every n-gram of the marked word, hashed byte by byte."""
    marked = f"<{word}>"
    rows = []
    for start in range(len(marked)):
        for end in range(start + 1, len(marked) + 1):
            if minn <= end - start <= maxn and not (end - start == 1 and (start == 0 or end == len(marked))):
                value = 2166136261
                for byte in marked[start:end].encode():
                    signed = byte - 256 if byte > 127 else byte
                    value = ((value ^ signed % (1 << 32)) * 16777619) % (1 << 32)
                rows.append(value % buckets)
    return sorted(rows)


@settings(max_examples=100, deadline=None)
@given(
    words=st.lists(st.text(max_size=9).filter(str.isprintable), min_size=1, max_size=6),
    minn=st.integers(0, 4),
    maxn=st.integers(0, 6),
)
def test_rows_of_many_words_are_those_of_each(words, minn, maxn):
    rows, owners = ngram_rows(words, minn, maxn, 97)
    assert (np.diff(owners) >= 0).all()
    for place, word in enumerate(words):
        assert sorted(rows[owners == place].tolist()) == slow_rows(word, minn, maxn, 97)


def model_bytes(words, matrix, *, minn=2, maxn=3, buckets=10, labels=(), version=12, quantised=False, model=2):
    """A model of random n-gram rows."""
    rows = np.concatenate([matrix, np.random.default_rng(1).standard_normal((buckets, matrix.shape[1]))])
    entries = [(word, 0) for word in words] + [(label, 1) for label in labels]
    dim = matrix.shape[1]
    output = struct.pack("<?2q", False, 1, dim) + bytes(4 * dim)
    return (
        struct.pack("<ii", 793712314, version)
        + struct.pack("<12id", dim, 5, 5, 1, 5, 1, 2, model, buckets, minn, maxn, 100, 1e-4)
        + struct.pack("<3i2q", len(entries), len(words), len(labels), 99, -1)
        + b"".join((w if isinstance(w, bytes) else w.encode()) + struct.pack("<bqb", 0, 3, k) for w, k in entries)
        + struct.pack("<?2q", quantised, *rows.shape)
        + rows.astype("<f4").tobytes()
        + output
    )


MATRIX = np.random.default_rng(0).standard_normal((3, 4))


def read(tmp_path, content, **options):
    (tmp_path / "x.bin").write_bytes(content)
    return formats.read(tmp_path / "x.bin", **options)


def test_the_end_of_a_sentence_has_no_letters(tmp_path):
    vectors = read(tmp_path, model_bytes(["the", "</s>", "of"], MATRIX))
    np.testing.assert_array_equal(vectors["</s>"], MATRIX[1].astype(np.float32))
    assert not np.allclose(vectors["of"], MATRIX[2])


def test_labels_are_not_words(tmp_path):
    assert read(tmp_path, model_bytes(["a", "b"], MATRIX[:2], labels=["__label__x"])).words == ("a", "b")


def test_old_supervised_models_have_no_ngrams(tmp_path):
    content = model_bytes(["a", "b", "c"], MATRIX, buckets=0, version=11, model=3)
    np.testing.assert_array_equal(read(tmp_path, content).matrix, MATRIX.astype(np.float32))


def test_every_cut_is_found(tmp_path):
    whole = model_bytes(["the", "of", "é"], MATRIX)
    for length in range(4, len(whole)):
        with pytest.raises(FormatError, match=r"x\.bin: at byte \d+"):
            read(tmp_path, whole[:length])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (model_bytes(["a", "b", "c"], MATRIX) + b"x", "1 bytes follow the end"),
        (model_bytes(["a", "b", "c"], MATRIX, version=13), "version 13, expected one of 11, 12"),
        (model_bytes(["a", "b", "c"], MATRIX, quantised=True), "quantised, which is not read"),
        (model_bytes(["a", "b"], MATRIX), "13 rows for 2 words and 10 buckets"),
        (model_bytes(["a", b"\xff\xfe", "c"], MATRIX), r"the word b'\\xff\\xfe' before is not UTF-8"),
        (model_bytes(["a", "b", "a"], MATRIX), "the word 'a' is there twice"),
        (model_bytes(["a", "b", "c"], MATRIX * np.nan), "finite"),
    ],
)
def test_damage(tmp_path, content, message):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, content)


def test_bad_bytes_in_words_can_be_repaired(tmp_path):
    with pytest.warns(UserWarning, match="Repaired, bytes of words that are not UTF-8"):
        vectors = read(tmp_path, model_bytes(["a", b"\xff", "c"], MATRIX), repair=True)
    assert vectors.words == ("a", "\\xff", "c")


def test_floret_models_are_told_apart_from_damage(tmp_path):
    whole = bytearray(model_bytes(["a", "b", "c"], MATRIX))
    whole[8 + 40 : 8 + 40] = struct.pack("<2i", 2, 1)
    with pytest.raises(FormatError, match="made by floret"):
        read(tmp_path, bytes(whole))


def test_nan_in_an_ngram_is_not_passed_on():
    with pytest.raises(DataError, match="An n-gram of 'x' has NaN"):
        NgramTable(np.full((5, 3), np.nan, np.float32), 2, 3).vector("x")
