from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.evaluation.data.context_sets import ContextPair, WordInContext
from wordstill.evaluation.tasks.in_context import word_cosines
from wordstill.meaning.context_encoder import StateEncoder, WithTables
from wordstill.meaning.distiller import layer_mean
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors

TEXT = "the river by the old house and the river"


@pytest.fixture(scope="module")
def encoder(tiny_teacher):
    reader = StateReader(tiny_teacher("bert-uncased"))
    return StateEncoder(reader, {"raw": layer_mean, "first": lambda states: states[:, 0]})


def test_the_place_decides_and_not_the_string(encoder):
    """The same word twice in one text: a match by string would give a cosine of 1."""
    first, second = (WordInContext(TEXT, start, start + 5) for start in (4, 35))
    assert first.word == second.word == "river"
    pairs = word_cosines(encoder, [ContextPair(first, second, 1.0, "river")])
    assert pairs.cosines["raw"][0] < 0.999
    states, _ = encoder.reader.states([first, second])
    expected = torch.nn.functional.cosine_similarity(*states.mean(dim=1), dim=0)
    assert pairs.cosines["raw"][0] == pytest.approx(float(expected), abs=1e-5)


def test_words_that_the_tokenizer_drops_are_not_found(encoder):
    vectors, found = encoder.occurrences([WordInContext("a \u200b b", 2, 3), WordInContext(TEXT, 4, 9)])
    assert found.tolist() == [False, True]
    assert not vectors["raw"][0].any() and np.linalg.norm(vectors["first"][1]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("unit", ["words", "subwords"])
def test_a_sentence_is_the_mean_of_its_units(encoder, unit):
    texts = [TEXT, "the house", TEXT]
    vectors, found = encoder.sentences(texts, unit)
    assert found.all() and set(vectors) == {"raw", "first"}
    np.testing.assert_array_equal(vectors["raw"][0], vectors["raw"][2])
    states = [states for _, states in encoder.reader.read_units(["the house"], unit)]
    mean = layer_mean(torch.cat(states)).mean(dim=0)
    np.testing.assert_allclose(vectors["raw"][1], mean / mean.norm(), atol=1e-5)


def test_representations_may_be_wider_than_states(encoder):
    wide = StateEncoder(encoder.reader, {"wide": lambda states: states[:, :2].flatten(1), "first": lambda s: s[:, 0]})
    width = encoder.reader.shape[1]
    vectors, _ = wide.occurrences([WordInContext(TEXT, 4, 9)])
    assert {name: one.shape for name, one in vectors.items()} == {"wide": (1, 2 * width), "first": (1, width)}
    sentences, _ = wide.sentences([TEXT], "words")
    assert sentences["wide"].shape == (1, 2 * width)
    assert wide.sentences([], "words")[0]["wide"].shape[0] == 0


def test_words_of_texts(encoder):
    words, vectors, offsets = encoder.words(["the \u200b house", "old"])
    assert (words, offsets.tolist()) == ([["the", "house"], ["old"]], [0, 2, 3])
    assert vectors["raw"].shape == (3, encoder.reader.shape[1])


class TestStaticTables:
    @pytest.fixture(scope="class")
    def table(self):
        words = ["the", "river", "house", "By"]
        return WordVectors(words, np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32))

    @pytest.fixture(scope="class")
    def both(self, encoder, table):
        return WithTables(encoder, {"static": table})

    def test_a_word_is_the_same_in_every_sentence(self, both, encoder, table):
        places = [WordInContext(TEXT, 4, 9), WordInContext("A River", 2, 7), WordInContext(TEXT, 17, 20)]
        vectors, found = both.occurrences(places)
        assert both.names == ("raw", "first", "static") and found.all()
        unit = table["river"] / np.linalg.norm(table["river"])
        np.testing.assert_allclose(vectors["static"], [unit, unit, np.zeros(3)], atol=1e-6)
        np.testing.assert_array_equal(vectors["raw"], encoder.occurrences(places)[0]["raw"])

    def test_sentences_and_words(self, both, table):
        vectors, _ = both.sentences(["the old house", "nothing known"], "subwords")
        mean = table["the"] + table["house"]
        np.testing.assert_allclose(vectors["static"], [mean / np.linalg.norm(mean), np.zeros(3)], atol=1e-6)
        words, vectors, _ = both.words(["the river", "old"])
        assert words == [["the", "river"], ["old"]]
        np.testing.assert_allclose(np.linalg.norm(vectors["static"], axis=1), [1, 1, 0], atol=1e-6)

    def test_paraphrases_are_scored(self, both):
        """A static table cannot tell texts of the same words apart."""
        vectors, _ = both.sentences(["the river house", "the house river"], "words")
        assert vectors["static"][0] @ vectors["static"][1] == pytest.approx(1, abs=1e-6)
