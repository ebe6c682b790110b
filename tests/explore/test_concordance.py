"""Sentences: every occurrence is found, as a slow search through the text finds it."""

import pytest

from wordstill.explore.concordance import Concordance


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


def test_words_of_a_sentence_lie_where_they_say(concordance, corpus):
    for sentence in range(len(corpus.sentences) - 1):
        text, spans = concordance.words_of_sentence(sentence)
        assert [text[start:end].lower() for _, start, end in spans] == [
            concordance.vectors.words[row] for row, _, _ in spans
        ]
