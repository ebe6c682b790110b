from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from wordstill.corpus import PrepareConfig, prepare
from wordstill.corpus.segment import word_spans
from wordstill.errors import DataError, UsageError
from wordstill.meaning.targets import TargetConfig, corpus_targets, round_robin, sentence_targets

NOUNS = ["river", "house", "still", "party", "bridge", "garden"]
SENTENCES = [
    f"The {first} and the {second} of number {number} stand, as we know, beside the old {third}-like wall."
    for number, (first, second, third) in enumerate(
        (NOUNS[i % 6], NOUNS[(i + 1 + i // 6) % 6], NOUNS[i % 5]) for i in range(60)
    )
]
CONFIG = TargetConfig(min_words=10, max_words=30, vocabulary=40, skipped=0.1)


def words_of(text):
    return [text[start:end].lower() for start, end in word_spans(text)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    text = "\n".join([*SENTENCES, "Too short a house.", "The river " * 40 + "."])
    (folder / "text.txt").write_text(text, encoding="utf-8")
    return prepare([folder / "text.txt"], folder / "store", PrepareConfig(), workers=1)


def test_targets_in_a_corpus(corpus):
    occurrences = corpus_targets(corpus, 1000, CONFIG)
    assert len(occurrences) == len({occurrence.text for occurrence in occurrences}) == 60
    assert {occurrence.text for occurrence in occurrences} == set(SENTENCES)
    counts = Counter(occurrence.word.lower() for occurrence in occurrences)
    assert "the" not in counts and "-" not in counts
    assert all(
        occurrence.word.isalpha() and words_of(occurrence.text).count(occurrence.word.lower()) == 1
        for occurrence in occurrences
    )
    assert max(counts.values()) - min(counts.values()) <= 10
    assert occurrences == corpus_targets(corpus, 1000, CONFIG)
    assert occurrences[:20] == corpus_targets(corpus, 20, CONFIG)


def test_targets_in_sentences_are_those_of_the_corpus_rules():
    chosen = sentence_targets([*SENTENCES, "Short.", ""], 30, CONFIG)
    assert len(chosen) == 30
    for row, occurrence in chosen:
        assert occurrence.text == SENTENCES[row]
        assert occurrence.word.isalpha()


def test_a_word_that_comes_twice_is_no_target():
    text = "The bank by the bank has a river and it is here so we go there often now."
    chosen = [
        occurrence.word
        for seed in range(20)
        for _, occurrence in sentence_targets([text], 1, TargetConfig(10, 30, seed=seed))
    ]
    assert "bank" not in chosen
    assert "river" in chosen


def test_no_word_comes_again_before_all_others_have_come():
    candidates = np.array([(sentence, 0, word) for word in range(5) for sentence in range(word * 10, word * 10 + 10)])
    taken = round_robin(candidates, 20, seed=3)
    assert [len(set(taken[start : start + 5, 2].tolist())) for start in range(0, 20, 5)] == [5] * 4
    assert len(set(taken[:, 0].tolist())) == 20


def test_a_text_without_targets(corpus):
    with pytest.raises(DataError, match="has 45 to 50 words"):
        corpus_targets(corpus, 10, TargetConfig(min_words=45, max_words=50, vocabulary=2, skipped=0.9))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_words": 9, "max_words": 3}, "max_words must be 9 or more; got 3"),
        ({"vocabulary": 0}, "vocabulary must be 1 or more; got 0"),
        ({"skipped": 1.0}, "skipped must be 0 or more and below 1; got 1.0"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(UsageError, match=message):
        TargetConfig(**settings)
