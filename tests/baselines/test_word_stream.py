from __future__ import annotations

import numpy as np
import pytest

LINES = ["The river runs. It is wide.", "Rare! The end.", "New York is wide, the river is not.", "the"]


def slow_words(text):
    """Ids, sentences and paragraphs of all words that are in the vocabulary, by plain loops."""
    rows, sentence_number = [], 0
    for number, paragraph in enumerate(text.corpus):
        for sentence in paragraph.sentences:
            for word in sentence.words:
                if word.text in text.vocabulary:
                    rows.append((text.vocabulary.id(word.text), sentence_number, number))
            sentence_number += 1
    return rows


@pytest.mark.parametrize("forms", [1, 4, 7, 1000])
@pytest.mark.parametrize("vocabulary", [{}, {"min_count": 2}, {"words": ("New York", "unheard")}])
def test_stretches_are_the_text(make_text, forms, vocabulary):
    text = make_text(LINES, stretch_forms=forms, **vocabulary)
    stretches = list(text.read())
    found = [
        row
        for stretch in stretches
        for row in zip(stretch.ids.tolist(), stretch.sentence.tolist(), stretch.paragraph.tolist())
    ]
    assert found == slow_words(text)
    assert text.words == len(found)
    assert len(stretches) == text.stretches == (1 if forms == 1000 else len(stretches))
    assert forms != 1 or text.stretches == len(LINES)


def test_sentences_without_words_are_not_there(make_text):
    text = make_text(["River runs. Lonely. River runs river."], min_count=2)
    (stretch,) = text.read()
    bounds = stretch.sentence_bounds()
    # The full stop is a word, so every sentence has one here; without it the second has none.
    assert len(bounds) == 4
    full_stop = text.vocabulary.id(".")
    kept = stretch.ids != full_stop
    shorter = type(stretch)(stretch.ids[kept], stretch.sentence[kept], stretch.paragraph[kept])
    assert np.diff(shorter.sentence_bounds()).tolist() == [2, 3]


def test_another_order(make_text):
    text = make_text(LINES, stretch_forms=1)
    forward = [stretch.ids.tolist() for stretch in text.read()]
    assert [stretch.ids.tolist() for stretch in text.read([2, 0])] == [forward[2], forward[0]]
    assert len(text.stretch(1)) == len(forward[1])


def test_words_of_phrases_alone_are_left_out(make_text):
    text = make_text(LINES, min_count=2, words=("New York",))
    assert not text.occurring[text.vocabulary.id("New York")]
    assert all(stretch.ids.max(initial=0) < len(text.vocabulary) for stretch in text.read())
