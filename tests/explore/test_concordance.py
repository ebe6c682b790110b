"""Sentences: every occurrence is found, as a slow search through the text finds it."""

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.concordance import Concordance
from wordstill.vectors.occurrences import Occurrences


@pytest.fixture(scope="module")
def concordance(corpus, tables):
    return Concordance(corpus, tables["first"])


def slow_count(corpus, word):
    return sum(
        found.text.lower() == word
        for paragraph in corpus
        for sentence in paragraph.sentences
        for found in sentence.words
    )


@pytest.mark.parametrize("word", ["river", "king", "castle", "the", "dog", "ocean"])
def test_counts_are_those_of_a_slow_search(concordance, corpus, word):
    assert concordance.count(word) == slow_count(corpus, word)
    assert concordance.totals()[concordance.vectors.index(word)] == concordance.count(word)


def test_lines_put_the_word_between_what_stands_around_it(concordance):
    lines = concordance.lines("river", 10)
    assert [line.before + line.word + line.after for line in lines] == [
        "The old river runs past the town.",
        "People cross the river by boat.",
    ]
    assert {line.word for line in lines} == {"river"}


def test_a_word_is_shown_as_it_stands_in_the_text(concordance):
    assert {line.word for line in concordance.lines("king", 10)} == {"King"}


def test_pages_share_no_line_and_leave_none_out(concordance):
    pages = [concordance.lines("the", 4, offset) for offset in range(4)]
    shown = [(line.sentence, line.before) for page in pages for line in page]
    assert len(shown) == len(set(shown)) == concordance.count("the")
    assert concordance.lines("the", 4, 99) == []


def test_sentences_with_both_words(concordance):
    (line,) = concordance.together("king", "queen", 5)
    assert line.before + line.word + line.after == "The King and the queen live in a castle."


def test_the_most_alike_sentences_come_first(concordance):
    best = concordance.alike("river", "lake", 3)[0]
    assert "cross the" in best.first.before
    assert "cross the" in best.second.before
    assert (best.first.word, best.second.word) == ("river", "lake")


def uses_of(corpus, words):
    """Every occurrence of some words, with random states."""
    random = np.random.default_rng(0)
    found = {word: [] for word in words}
    sentences = [sentence for paragraph in corpus for sentence in paragraph.sentences]
    for number, sentence in enumerate(sentences):
        for position, word in enumerate(sentence.words):
            if word.text.lower() in found:
                found[word.text.lower()].append((number, position))
    sizes = [len(places) for places in found.values()]
    places = np.array([place for some in found.values() for place in some])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    states = random.normal(size=(len(places), 6)).astype(np.float16)
    arrays = places[:, 0], places[:, 1].astype(np.int32), np.ones(len(places), dtype=np.uint8)
    return Occurrences(words, np.array(sizes), offsets, states, *arrays, layer=2)


def test_pairs_by_states_are_the_nearest_ones_of_a_slow_search(corpus, tables):
    kept = uses_of(corpus, ["king", "castle", "the"])
    vectors = WordVectors(tables["first"].words, tables["first"].matrix, provenance={"corpus": {"hash": corpus.hash}})
    vectors.occurrences = kept
    concordance = Concordance(corpus, vectors)
    best = concordance.alike_by_states("castle", "the", 50)
    one, other = kept.of("castle"), kept.of("the")
    slow = [
        (float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), one.sentences[i], other.sentences[j])
        for i, a in enumerate(one.states)
        for j, b in enumerate(other.states)
        if one.sentences[i] != other.sentences[j]
    ]
    assert best[0].likeness == pytest.approx(max(slow)[0], abs=1e-6)
    assert (best[0].first.sentence, best[0].second.sentence) == max(slow)[1:]
    assert [pair.likeness for pair in best] == sorted((pair.likeness for pair in best), reverse=True)
    assert all(pair.first.word == "castle" and pair.second.word.lower() == "the" for pair in best)
    assert best[0].first in concordance.lines("castle", 50)
    assert concordance.alike_by_states("castle", "ocean", 5) is None
    vectors.provenance["corpus"]["hash"] = "another text"
    assert Concordance(corpus, vectors).alike_by_states("castle", "the", 5) is None


def test_words_of_a_sentence_lie_where_they_say(concordance, corpus):
    for sentence in range(len(corpus.sentences) - 1):
        text, spans = concordance.words_of_sentence(sentence)
        assert [text[start:end].lower() for _, start, end in spans] == [
            concordance.vectors.words[row] for row, _, _ in spans
        ]
