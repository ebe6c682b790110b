from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.sentences import SentenceConfig, SentenceEncoder

WORDS = ["the", "river", "runs", "old", "town", "boat"]
COUNTS = np.array([1000, 40, 30, 20, 10, 0])
SENTENCES = ["the river runs", "the old town", "boat", "the the boat river", "nothing known", "", "old river town"]


@pytest.fixture
def table():
    matrix = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    return WordVectors(WORDS, matrix, counts=COUNTS)


def slow_means(table, smoothing):
    means = []
    for sentence in SENTENCES:
        known = [word for word in sentence.split() if word in table]
        total = np.zeros(5)
        for word in known:
            share = COUNTS[table.index(word)] / COUNTS.sum()
            total += table[word] * (1.0 if smoothing is None else smoothing / (smoothing + share))
        means.append(total / max(len(known), 1))
    return np.array(means)


def test_the_mean(table):
    encoder = SentenceEncoder(table, SentenceConfig("mean"))
    np.testing.assert_allclose(encoder.encode(SENTENCES), slow_means(table, None), atol=1e-6)
    split = [sentence.split() for sentence in SENTENCES]
    np.testing.assert_array_equal(encoder.encode(split), encoder.encode(SENTENCES))
    in_blocks = [encoder.finish(means) for _, means in encoder.blocks(SENTENCES, size=3)]
    np.testing.assert_array_equal(np.concatenate(in_blocks), encoder.encode(SENTENCES))
    assert encoder.encode([]).shape == (0, 5)


@pytest.mark.parametrize("components", [0, 1, 2])
@pytest.mark.parametrize("smoothing", [1e-3, 0.5])
def test_sif_is_the_slow_one(table, components, smoothing):
    means = slow_means(table, smoothing)
    directions = np.linalg.svd(means)[2][:components]
    expected = means - (means @ directions.T) @ directions
    config = SentenceConfig("sif", smoothing, components)
    encoder = SentenceEncoder(table, config).fit(SENTENCES)
    np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(SENTENCES[3:4]), expected[3:4], atol=1e-5)


def test_frequent_words_count_little(table):
    encoder = SentenceEncoder(table, SentenceConfig(components=0))
    assert table.similarity(encoder.encode(["the river"])[0], "river") > 0.99


def test_unknown_words_are_passed_over_unless_a_back_off_knows_them(table):
    config = SentenceConfig("mean")
    plain = SentenceEncoder(table, config).encode(["zzrivers runs"])
    np.testing.assert_allclose(plain[0], table["runs"], atol=1e-6)
    backed = SentenceEncoder(table.with_backoff("ngrams"), config).encode(["zzrivers runs"])
    expected = (table.with_backoff("ngrams")["zzrivers"] + table["runs"]) / 2
    np.testing.assert_allclose(backed[0], expected, atol=1e-6)


@pytest.mark.parametrize("sentence", ["The river runs.", "“THE RIVER” — runs?!", ["The", "river", "Runs"]])
def test_capitals_and_punctuation(table, sentence):
    found = SentenceEncoder(table, SentenceConfig("mean")).encode([sentence])[0]
    np.testing.assert_allclose(found, table[["the", "river", "runs"]].mean(axis=0), atol=1e-6)


def test_a_word_is_looked_up_as_written_first(table):
    cased = WordVectors(["us", "Us", "old"], table.matrix[:3]).with_backoff("case")
    found = SentenceEncoder(cased, SentenceConfig("mean")).encode(["Us", "US", "Old", "OLD"])
    np.testing.assert_array_equal(found, table.matrix[[1, 0, 2, 2]])


def test_phrases_stay_whole(table):
    phrases = WordVectors(["old town", "old", "river_boat"], table.matrix[:3])
    found = SentenceEncoder(phrases, SentenceConfig("mean")).encode(["The Old Town!", "old river boat"])
    np.testing.assert_allclose(found, [table.matrix[0], table.matrix[1:3].mean(axis=0)], atol=1e-6)


def test_lengths_that_are_sentence_weights_make_the_mean_the_default(table):
    weighed = table.replace(provenance={"lengths": "sentence"})
    assert SentenceEncoder(weighed).config == SentenceConfig("mean")
    np.testing.assert_allclose(SentenceEncoder(weighed).encode(SENTENCES), slow_means(table, None), atol=1e-6)
    assert SentenceEncoder(table.replace(provenance={"lengths": "unit"})).config == SentenceConfig("sif")
    assert SentenceEncoder(weighed, SentenceConfig("sif")).config == SentenceConfig("sif")


def test_the_means_say_how_many_words_they_are_of(table):
    ((_, means),) = SentenceEncoder(table, SentenceConfig("mean")).blocks(["The old pond.", "", "zzz"])
    assert (means.used.tolist(), means.words.tolist()) == ([2, 0, 0], [3, 0, 1])
    assert not means.matrix[1:].any()


def test_a_split_of_ones_own(table):
    encoder = SentenceEncoder(table, SentenceConfig("mean"), split=lambda text: text.split("/"))
    np.testing.assert_allclose(encoder.encode(["old/town"])[0], table[["old", "town"]].mean(axis=0), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weighting": "max"}, "Unknown value of weighting 'max'"),
        ({"smoothing": 0.0}, "smoothing must be above 0"),
        ({"smoothing": float("nan")}, "smoothing must be above 0"),
        ({"components": -1}, "components must be 0 or more"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(UsageError, match=message):
        SentenceConfig(**settings)


def test_what_cannot_be_encoded(table):
    with pytest.raises(UsageError, match="must be fitted first"):
        SentenceEncoder(table).encode(SENTENCES)
    with pytest.raises(UsageError, match="a list of sentences"):
        SentenceEncoder(table, SentenceConfig("mean")).encode("the river")


def test_without_counts_the_rank_is_the_frequency(table):
    config = SentenceConfig(components=0)
    zipf = WordVectors(WORDS, table.matrix, counts=np.array([60, 30, 20, 15, 12, 10]))
    ranked = SentenceEncoder(WordVectors(WORDS, table.matrix), config).encode(SENTENCES)
    np.testing.assert_allclose(ranked, SentenceEncoder(zipf, config).encode(SENTENCES), rtol=1e-6)


def test_counts_of_nothing_give_all_words_the_same_weight(table):
    uncounted = WordVectors(WORDS, table.matrix, counts=np.zeros(6, np.int64))
    same = SentenceEncoder(uncounted, SentenceConfig(components=0)).encode(SENTENCES)
    np.testing.assert_array_equal(same, SentenceEncoder(uncounted, SentenceConfig("mean")).encode(SENTENCES))


def test_a_word_that_only_a_back_off_knows_is_as_rare_as_the_rarest(table):
    counts = np.array([1000, 40, 30, 20, 10, 10])
    counted = WordVectors(WORDS, table.matrix, counts=counts).with_backoff("ngrams")
    found = SentenceEncoder(counted, SentenceConfig(components=0)).encode(["rivers"])[0]
    weight = 1e-3 / (1e-3 + 10 / 1110)
    np.testing.assert_allclose(found, weight * counted["rivers"], rtol=1e-6)


def test_the_fit_removes_no_more_than_there_is(table):
    encoder = SentenceEncoder(table, SentenceConfig(components=2)).fit(["boat"])
    assert np.abs(encoder.encode(["boat"])).max() < 1e-6


def test_sentences_without_any_known_word(table):
    assert not SentenceEncoder(table).fit(["zzz"]).encode(["zzz"]).any()


def test_sentences_are_taken_from_their_source_some_at_a_time(table):
    taken = []
    source = (taken.append(sentence) or sentence for sentence in SENTENCES)
    encoder = SentenceEncoder(table, SentenceConfig("mean"))
    first, _ = next(encoder.blocks(source, size=2))
    assert first == taken == SENTENCES[:2]
    fitted = SentenceEncoder(table).fit(iter(SENTENCES)).encode(SENTENCES)
    np.testing.assert_allclose(fitted, SentenceEncoder(table).fit(SENTENCES).encode(SENTENCES), atol=1e-6)
