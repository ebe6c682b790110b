from __future__ import annotations

import numpy as np
import pytest
from gensim.models import FastText, Word2Vec

from wordstill.baselines import Training
from wordstill.baselines.word2vec import (
    MAX_SENTENCE_WORDS,
    Cbow,
    CbowConfig,
    Fasttext,
    FasttextConfig,
    GensimSentences,
    Skipgram,
    SkipgramConfig,
)
from wordstill.errors import UsageError


def sentences_of(text) -> list[list[str]]:
    return [
        [word.text.lower() for word in sentence.words if word.text in text.vocabulary]
        for paragraph in text.corpus
        for sentence in paragraph.sentences
    ]


def gensim_sentences(text) -> list[list[str]]:
    return list(GensimSentences(text))


def test_sentences_are_those_of_the_store(make_text, planted):
    text = make_text(["The King runs. Rare!", "the king RUNS to the sea."], stretch_forms=1, min_count=2)
    assert gensim_sentences(text) == [["the", "king", "runs", "."], ["the", "king", "runs", "the", "."]]
    assert gensim_sentences(planted) == sentences_of(planted)


def test_long_sentences_are_cut_into_pieces_and_nothing_is_lost(make_text):
    text = make_text(["a b " * (MAX_SENTENCE_WORDS // 2) + "c d"])
    assert [len(sentence) for sentence in gensim_sentences(text)] == [MAX_SENTENCE_WORDS, 2]


CASES = {
    "skipgram": (Skipgram, SkipgramConfig(dim=8, epochs=2, subsample=0.01), Word2Vec, {"sg": 1}),
    "cbow": (Cbow, CbowConfig(dim=8, epochs=2, subsample=0.01), Word2Vec, {"sg": 0}),
    "fasttext": (
        Fasttext,
        FasttextConfig(dim=8, epochs=2, subsample=0.01, buckets=100),
        FastText,
        {"sg": 1, "bucket": 100},
    ),
    "cbow of n-grams": (
        Fasttext,
        FasttextConfig(dim=8, epochs=2, subsample=0.01, buckets=100, objective="cbow"),
        FastText,
        {"sg": 0, "bucket": 100},
    ),
}


@pytest.mark.parametrize(("baseline", "config", "model", "settings"), CASES.values(), ids=CASES)
def test_the_result_is_that_of_gensim_on_the_same_lists(planted, baseline, config, model, settings):
    found = baseline(config, Training(seed=3)).fit(planted)
    sentences = sentences_of(planted)
    oracle = model(
        vector_size=8, window=5, negative=5, sample=0.01, alpha=config.rate, min_count=1, workers=1, seed=3,
        sorted_vocab=0, **settings,
    )  # fmt: skip
    # Words in our order: gensim draws the first vectors by row.
    counts = dict(zip(planted.vocabulary.keys, planted.vocabulary.counts.tolist()))
    oracle.build_vocab_from_freq(counts)
    oracle.min_alpha = min(1e-4, config.rate / 250)
    oracle.train(sentences, total_words=planted.words, epochs=2)
    np.testing.assert_array_equal(found.vectors, oracle.wv[planted.vocabulary.keys])


@pytest.mark.parametrize("keep", ["tool", "printed"])
def test_frequent_words_are_thinned_out_as_the_tool_does_or_as_printed(planted, keep):
    model = Skipgram(SkipgramConfig(dim=4, subsample=0.01, keep=keep), Training()).model(planted)
    kept = dict(zip(model.wv.index_to_key, model.wv.expandos["sample_int"] / (2**32 - 1)))
    for key, count in zip(planted.vocabulary.keys, planted.vocabulary.counts.tolist()):
        share = 0.01 * planted.words / count
        expected = share**0.5 if keep == "printed" else share**0.5 + share
        assert kept[key] == pytest.approx(min(1.0, expected), rel=1e-6)


@pytest.mark.parametrize("baseline", [Skipgram, Fasttext])
def test_the_other_table_is_that_of_contexts(planted, topics_apart, baseline):
    from wordstill import WordVectors

    settings = {"buckets": 100} if baseline is Fasttext else {}
    tables = []
    for side in ("words", "contexts"):
        config = baseline.config_type(dim=10, epochs=6, subsample=0, side=side, **settings)
        tables.append(baseline(config, Training(seed=3)).fit(planted))
    words, contexts = tables
    assert words.vectors.shape == contexts.vectors.shape
    assert not np.allclose(words.vectors, contexts.vectors)
    # What a word predicts best are its neighbors in the table of contexts, which are of its own topic.
    assert topics_apart(WordVectors(planted.vocabulary.keys, contexts.vectors)) > 0.5


def test_several_workers(planted, topics_apart):
    found = Skipgram(SkipgramConfig(dim=10, epochs=6, subsample=0), Training(workers=2)).fit(planted)
    from wordstill import WordVectors

    assert topics_apart(WordVectors(planted.vocabulary.keys, found.vectors)) > 0.5


def test_the_loss_is_shown(planted, bars, capsys, monkeypatch):
    monkeypatch.setattr("wordstill.baselines.base.SECONDS_BETWEEN_REPORTS", 0.0)
    Skipgram(SkipgramConfig(dim=10, epochs=2, subsample=0), Training(progress=True)).fit(planted)
    shown = capsys.readouterr().err
    assert "27.0k/27.0k" in shown and "loss " in shown


def test_fasttext_spells_words_it_has_not_seen(make_text):
    text = make_text(["rivers and riverside run"] * 30, words=("riverbank", "q"))
    found = Fasttext(FasttextConfig(dim=6, epochs=1, buckets=1000), Training()).fit(text)
    assert found.seen[text.vocabulary.id("riverbank")]
    # With its marks this one has three characters, so it is an n-gram itself.
    assert found.seen[text.vocabulary.id("q")]


def test_ngrams_must_have_a_range():
    with pytest.raises(UsageError, match="longest must be from 5 to 100; got 4"):
        FasttextConfig(shortest=5, longest=4)
