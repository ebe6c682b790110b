from __future__ import annotations

import json

import numpy as np
import pytest

spacy = pytest.importorskip("spacy", reason="spaCy is not installed")

from spacy.vectors import Vectors  # noqa: E402
from spacy.vocab import Vocab  # noqa: E402

from wordstill import formats  # noqa: E402
from wordstill.errors import FormatError  # noqa: E402
from wordstill.formats.floret import FloretTable  # noqa: E402
from wordstill.vectors.sentences import SentenceConfig, SentenceEncoder  # noqa: E402
from wordstill.vectors.table import WordVectors  # noqa: E402

WORDS = ["the", "queen", "new york", "NOUN", "nsubj", "👩‍💻", "e\u0301", "ORTH"]
MATRIX = np.random.default_rng(5).standard_normal((8, 5)).astype(np.float32)


@pytest.fixture
def vectors():
    return WordVectors(WORDS, MATRIX, counts=np.arange(8), provenance={"teacher": "t"})


def test_spacy_reads_what_we_write(vectors, tmp_path):
    vectors.save(tmp_path / "x.spacy")
    nlp = spacy.load(tmp_path / "x.spacy")
    for word in WORDS:
        if word != "👩‍💻":
            np.testing.assert_array_equal(nlp.vocab[word].vector, vectors[word])
            assert nlp.vocab[word].has_vector
    assert not nlp.vocab["unknown"].has_vector
    found, _, scores = nlp.vocab.vectors.most_similar(vectors["the"][None], n=2)
    expected = vectors.most_similar(vectors["the"], topn=2)
    assert [nlp.vocab.strings[key].lower() for key in found[0]] == [word.lower() for word, _ in expected]
    np.testing.assert_allclose(scores[0], [score for _, score in expected], atol=1e-4)
    again = formats.read(tmp_path / "x.spacy")
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.matrix, MATRIX)


LOWER = ["the", "queen", ".", ",", "don't", "new york", "york", "los_angeles"]
CASED = ["the", "The", "queen", ",", "New York", "york", "don't", "…"]
SENTENCES = [
    "The Queen, the queen!",
    "DON'T — “don't”; Don't…",
    "the well-known new York: NEW_YORK? york's",
    "In Los Angeles, los angeles and los_angeles.",
    "The",
]


@pytest.mark.parametrize("words", [LOWER, CASED], ids=["lower", "cased"])
def test_sentences_have_our_vectors(tmp_path, words):
    lengths = np.geomspace(0.1, 10, len(words))[:, None]
    table = WordVectors(words, (MATRIX * lengths).astype(np.float32))
    table.save(tmp_path / "x.spacy")
    nlp = spacy.load(tmp_path / "x.spacy")
    expected = SentenceEncoder(table, SentenceConfig("mean")).encode(SENTENCES)
    for doc, vector in zip(nlp.pipe(SENTENCES), expected):
        if vector.any():
            found = [token.vector for token in doc if token.has_vector]
            np.testing.assert_allclose(np.mean(found, axis=0), vector, atol=1e-5)
            np.testing.assert_allclose(doc.vector * len(doc) / len(found), vector, atol=1e-5)
    assert formats.read(tmp_path / "x.spacy").words == table.words


def test_the_vectors_in_a_pipeline_of_ones_own(tmp_path):
    table = WordVectors(LOWER, MATRIX)
    table.save(tmp_path / "x.spacy")
    alone = Vectors().from_disk(tmp_path / "x.spacy" / "vocab", exclude=["strings"])
    np.testing.assert_array_equal(alone.data, MATRIX)
    nlp = spacy.blank("en")
    nlp.vocab.from_disk(tmp_path / "x.spacy" / "vocab")
    np.testing.assert_array_equal(nlp("The Queen")[1].vector, table["queen"])
    nlp.to_disk(tmp_path / "pipeline")
    again = formats.read(tmp_path / "pipeline")
    assert set(again.words) == {*LOWER, "los angeles", "new_york"} - {".", ","}


def test_we_read_what_spacy_writes(tmp_path):
    vocab = Vocab(strings=["no vector"])
    for word, vector in zip(WORDS, MATRIX):
        vocab.set_vector(word, vector)
    vocab.to_disk(tmp_path / "x")
    again = formats.read(tmp_path / "x")
    assert set(again.words) == set(WORDS)
    for word, vector in zip(WORDS, MATRIX):
        np.testing.assert_array_equal(again[word], vector)


def test_pruned_vectors_share_rows(tmp_path):
    vocab = Vocab()
    for word, vector in zip(WORDS, MATRIX):
        vocab.set_vector(word, vector)
    vocab.prune_vectors(3)
    vocab.to_disk(tmp_path / "x")
    again = formats.read(tmp_path / "x")
    assert set(again.words) == set(WORDS)
    for word in WORDS:
        np.testing.assert_array_equal(again[word], vocab[word].vector)


def test_floret_tables_go_both_ways(tmp_path):
    table = FloretTable(MATRIX, 2, 3, 2, 2166136261)
    WordVectors([], np.empty((0, 5), np.float32), subwords=table).save(tmp_path / "x.spacy")
    vocab = Vocab().from_disk(tmp_path / "x.spacy" / "vocab")
    again = formats.read(tmp_path / "x.spacy")
    assert len(again) == 0
    for word in ("queens", "日本", "x"):
        np.testing.assert_allclose(vocab[word].vector, table.vector(word), rtol=1e-5)
        np.testing.assert_array_equal(again.subwords.vector(word), table.vector(word))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("key2row", b"\xc1", "not MessagePack"),
        ("key2row", b"\x93\x01\x02\x03", "holds a list"),
        ("key2row", b"\x81\x01\x64", "key 1 has the row 100, expected 0 to 7"),
        ("key2row", b"\x81\xa1a\x01", "key 'a'"),
        ("strings.json", b"[1]", "not a list of strings"),
        ("strings.json", b"{", "not JSON"),
        ("strings.json", b'["the"]', "lacks a word that is in key2row"),
        ("vectors", b"\x93NUMPY", "not an array of numpy"),
        ("vectors", b"", "not an array of numpy"),
        ("vectors.cfg", b'{"mode": "floret", "minn": -1}', "'minn' is -1"),
        ("vectors.cfg", b"[]", "JSON list"),
        ("wordstill.json", b'{"counts": [1], "spacy": {"words": 8, "hidden": {"5": "x"}}}', "not a list of 8"),
        (
            "wordstill.json",
            b'{"counts": [1,2,3,4,5,6,7,-8], "spacy": {"words": 8, "hidden": {"5": "x"}}}',
            "not a whole number",
        ),
        ("wordstill.json", b'{"provenance": 3}', "'provenance' is 3"),
        ("wordstill.json", b'{"spacy": 3}', "'spacy' is 3, expected"),
        ("wordstill.json", b'{"spacy": {"words": 8, "hidden": {"9": "."}}}', "'spacy' is"),
    ],
)
def test_damage(vectors, tmp_path, file, content, message):
    vectors.save(tmp_path / "x.spacy")
    (tmp_path / "x.spacy" / "vocab" / file).write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        formats.read(tmp_path / "x.spacy")
    assert str(tmp_path / "x.spacy") in str(caught.value)


def test_arrays_of_objects_are_never_read(vectors, tmp_path):
    vectors.save(tmp_path / "x.spacy")
    with (tmp_path / "x.spacy" / "vocab" / "vectors").open("wb") as handle:
        np.save(handle, np.array([[print]], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="Python objects, which are never loaded"):
        formats.read(tmp_path / "x.spacy")


def test_the_record_is_ours_and_readable(vectors, tmp_path):
    vectors.save(tmp_path / "x.spacy")
    record = json.loads((tmp_path / "x.spacy" / "vocab" / "wordstill.json").read_text())
    ours = {"words": 8, "hidden": {"5": "👩‍💻"}}
    assert record == {"counts": list(range(8)), "provenance": {"teacher": "t"}, "spacy": ours}
