"""Rows of n-grams: the solution of a plain ridge regression, and the same vectors in every tool that reads them."""

from __future__ import annotations

import numpy as np
import pytest
from gensim.models.fasttext import load_facebook_vectors

from wordstill import formats
from wordstill.errors import FormatError, UsageError
from wordstill.postprocess import Pipeline
from wordstill.postprocess.subword_rows import Columns, Entries, fitted_rows, reliability
from wordstill.vectors import WordVectors
from wordstill.vectors.char_ngrams import NgramVectors, ngram_rows

STEMS, ENDS = ["walk", "talk", "münch", "play", "read", "jump", "日本", "look"], ["", "s", "ing", "er", "ers"]
WORDS = [stem + end for stem in STEMS for end in ENDS]
UNSEEN = ["walked", "replay", "münchens", "日", "xq", "plays-", "looker's"]
DIM = 9


def make_table(shift: float = 0.0, *, counts: bool = True) -> WordVectors:
    generator = np.random.default_rng(0)
    parts = {part: generator.standard_normal(DIM) for part in (*STEMS, *ENDS)}
    matrix = np.array([3 * parts[stem] + parts[end] + shift for stem in STEMS for end in ENDS], np.float32)
    # Not in the order of frequency, and one word was never seen.
    return WordVectors(WORDS, matrix, counts=(np.arange(len(WORDS)) * 7) % 40 if counts else None)


@pytest.fixture(params=[0.0, 2.0], ids=["centered", "with a mean"])
def table(request):
    return make_table(request.param)


@pytest.fixture
def fitted(table):
    return Pipeline.from_spec("subwords:buckets=5000").fit_transform(table)


def test_the_rows_are_those_of_a_plain_ridge_regression():
    table = make_table()
    counts, unit, ridge = table.counts, table.unit.astype(np.float64), 0.3
    entries = Entries(*ngram_rows(WORDS, 2, 4, 700))
    columns = Columns.of(entries, len(WORDS))
    importance = np.bincount(entries.owners) * reliability(counts, 3.0)
    got = fitted_rows(columns, table.unit, np.zeros(DIM, np.float32), importance, ridge, 500)
    dense = np.zeros((len(WORDS), 700))
    for bucket, owner in zip(*entries):
        dense[owner, bucket] += 1 / np.sum(entries.owners == owner)
    having = np.bincount(entries.buckets, minlength=700)
    used = np.flatnonzero(having)
    rarity = np.log((1 + len(WORDS)) / having[used])
    mean_square = np.average(rarity**2, weights=having[used])
    system = dense[:, used].T @ (importance[:, None] * dense[:, used]) + np.diag(ridge * mean_square / rarity**2)
    expected = np.linalg.solve(system, dense[:, used].T @ (importance[:, None] * unit))
    np.testing.assert_array_equal(columns.keys, used)
    assert len(got) < len(used), "n-grams of the same words are one unknown"
    np.testing.assert_allclose(got[columns.places], expected, atol=2e-3)


def test_a_spelling_points_where_its_stem_does(table, fitted):
    assert [word for word, _ in fitted.most_similar("walked", topn=3) if word.startswith("walk")]
    lengths = np.linalg.norm(fitted.subwords.vectors(UNSEEN), axis=1)
    assert (lengths < 1.2 * np.linalg.norm(table.matrix, axis=1).max()).all()
    np.testing.assert_array_equal(fitted.matrix, table.matrix)


def test_many_words_are_as_each_alone(fitted):
    many = [*UNSEEN, *WORDS] * 2
    together = fitted.subwords.vectors(many)
    np.testing.assert_allclose(together, [fitted.subwords.vector(word) for word in many], rtol=1e-5, atol=1e-6)


def test_lookups_ask_the_rows_and_sets_of_words_do_not(table, fitted):
    np.testing.assert_array_equal(fitted["walked"], fitted.subwords.vector("walked"))
    assert "walked" not in fitted
    assert fitted.find(["walked"]) == [None], "a sentence skips unknown words unless a back-off is named"
    for strict in (lambda: table["walked"], lambda: fitted.with_backoff()["walked"], lambda: fitted.index("walked")):
        with pytest.raises(UsageError, match="walked"):
            strict()


def test_an_artifact_keeps_them(tmp_path, fitted):
    fitted.save(tmp_path / "x")
    again = formats.read(tmp_path / "x")
    assert isinstance(again.subwords, NgramVectors)
    np.testing.assert_array_equal(again.subwords.vectors(UNSEEN), fitted.subwords.vectors(UNSEEN))


def test_fasttexts_readers_give_the_same_vectors(tmp_path, fitted):
    path = tmp_path / "model.bin"
    fitted.save(path, "fasttext-binary")
    theirs, ours = load_facebook_vectors(str(path)), formats.read(path)
    assert theirs.index_to_key == WORDS
    for word in (*WORDS, *UNSEEN):
        np.testing.assert_allclose(theirs[word], fitted[word], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours[word], fitted[word], rtol=1e-4, atol=1e-5)
    assert ours.counts.tolist() == [max(1, count) for count in fitted.counts]
    ours.save(tmp_path / "again.bin", "fasttext-binary")
    np.testing.assert_allclose(formats.read(tmp_path / "again.bin")["walked"], fitted["walked"], rtol=1e-4, atol=1e-5)


def test_unknown_words_have_no_capitals_in_a_table_of_lower_case_words():
    lower = make_table().replace(provenance={"vocabulary": {"key": "lower"}})
    fitted = Pipeline.from_spec("subwords:buckets=5000").fit_transform(lower)
    np.testing.assert_array_equal(fitted["UNTALKED"], fitted["untalked"])
    cased = Pipeline.from_spec("subwords:buckets=5000").fit_transform(make_table())
    assert not np.array_equal(cased["UNTALKED"], cased["untalked"])


def test_a_table_without_subwords_is_a_fasttext_model_too(tmp_path):
    table = make_table(counts=False)
    table.save(tmp_path / "model.bin", "fasttext-binary")
    np.testing.assert_allclose(load_facebook_vectors(str(tmp_path / "model.bin"))["walks"], table["walks"], atol=1e-6)


def test_florets_rows_are_read_by_spacy(tmp_path, table):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from spacy.training.initialize import convert_vectors

    floret = Pipeline.from_spec("subwords:kind=floret,buckets=3000,ridge=0.01,steps=100").fit_transform(table)
    with pytest.raises(UsageError, match="not hashed as fastText does"):
        floret.save(tmp_path / "model.bin", "fasttext-binary")
    floret.save(tmp_path / "x.floret")
    nlp = spacy.blank("en")
    convert_vectors(nlp, tmp_path / "x.floret", truncate=-1, prune=-1, mode="floret")
    for word in UNSEEN:
        np.testing.assert_allclose(nlp.vocab[word].vector, floret[word], rtol=1e-4, atol=1e-5)
    for word in WORDS:
        assert floret.similarity(nlp.vocab[word].vector, word) > 0.98


def test_settings_and_words_that_cannot_be(tmp_path, fitted):
    with pytest.raises(UsageError, match="minn must be at most maxn, 4; got 5"):
        Pipeline.from_spec("subwords:minn=5,maxn=4").fit(make_table())
    with pytest.raises(UsageError, match="no word of the table has any"):
        Pipeline.from_spec("subwords:minn=9,maxn=9").fit(WordVectors(["a", "b"], np.eye(2, dtype=np.float32)))
    table = fitted.replace(words=("a\0b", *WORDS[1:]))
    with pytest.raises(UsageError, match="zero byte"):
        table.save(tmp_path / "x.bin", "fasttext-binary")
    broken = {"rows": np.ones((2, 3), np.float32), "origin": np.zeros(3, np.float32), "minn": 2, "maxn": 3}
    with pytest.raises(UsageError, match="damaged"):
        NgramVectors(keys=np.array([4, 4], np.int32), places=np.array([0, 1], np.int32), buckets=9, **broken)
    fitted.save(tmp_path / "x")
    damaged = (tmp_path / "x" / "subwords.safetensors").read_bytes().replace(b'"buckets\\": 5000', b'"buckets\\": 0001')
    (tmp_path / "x" / "subwords.safetensors").write_bytes(damaged)
    with pytest.raises(FormatError, match=r"subwords\.safetensors"):
        formats.read(tmp_path / "x")
