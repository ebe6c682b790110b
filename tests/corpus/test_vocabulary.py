from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig, prepare
from wordstill.corpus.segment import WordSegmenter
from wordstill.errors import DataError, UsageError

TEXT = "The cat and the dog. The cat sat.\nthe New York cat, in New York!\nA new york dog.\n"


def words_of(corpus: Corpus) -> list[list[str]]:
    return [[word.text for word in sentence.words] for paragraph in corpus for sentence in paragraph.sentences]


def test_keys_counts_and_surfaces(make_corpus) -> None:
    vocabulary = Vocabulary.build(make_corpus(TEXT), VocabularyConfig(min_count=2))
    assert dict(zip(vocabulary.keys, vocabulary.counts.tolist())) == {
        "the": 4, "cat": 3, ".": 3, "new": 3, "york": 3, "dog": 2,
    }  # fmt: skip
    assert vocabulary.keys == ["the", ".", "cat", "new", "york", "dog"]
    assert vocabulary.surfaces == ["The", ".", "cat", "New", "York", "dog"]


def test_case_can_be_kept(make_corpus) -> None:
    vocabulary = Vocabulary.build(make_corpus(TEXT), VocabularyConfig(min_count=2, key="none"))
    assert vocabulary.keys == [".", "cat", "New", "The", "York", "dog", "the"]
    assert vocabulary.surfaces == vocabulary.keys


def test_composed_and_decomposed_spellings_share_a_key(make_corpus) -> None:
    composed, decomposed = "Café", unicodedata.normalize("NFD", "Café")
    corpus = make_corpus(f"{composed} {decomposed} {decomposed}")
    for key in ("lower", "none"):
        vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1, key=key))
        assert (len(vocabulary), vocabulary.counts.tolist(), vocabulary.surfaces) == (1, [3], [decomposed])
        assert composed in vocabulary
        assert decomposed in vocabulary


def test_keys_do_not_depend_on_the_words_beside_them(make_corpus) -> None:
    spelled = ["ΟΔΟΣ", "ΟΔΟΣΑ", "Σ", "İstanbul", "STRASSE", "Åse", "e\u0301t", "\u0301e", "\u1100", "\u1161", "ǅ"]
    vocabulary = Vocabulary.build(make_corpus(" ".join(spelled)), VocabularyConfig(min_count=1))
    for word in vocabulary.surfaces:
        assert vocabulary.keys[vocabulary.surfaces.index(word)] == unicodedata.normalize("NFC", word.lower())


def test_wanted_words_and_phrases(make_corpus) -> None:
    corpus = make_corpus(TEXT)
    wanted = ("zebra", "sat", "New  York", "the cat", "The", "cat sat", "in Old York", "ZEBRA", " ")
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=2, words=wanted))
    assert vocabulary.keys == [
        "the", ".", "cat", "new", "new york", "york", "dog", "the cat", "zebra", "sat", "cat sat",
        "in old york",
    ]  # fmt: skip
    assert vocabulary.counts.tolist() == [4, 3, 3, 3, 3, 3, 2, 2, 0, 1, 1, 0]
    assert vocabulary.surfaces[4] == "New York"
    assert vocabulary.surfaces[7:] == ["The cat", "zebra", "sat", "cat sat", "in Old York"]
    assert vocabulary.id("NEW york") == 4
    assert "old" not in vocabulary
    with pytest.raises(KeyError):
        vocabulary.id("old")


def test_word_ids_of_several_corpora_are_not_mixed_up(make_corpus) -> None:
    one, other = make_corpus("the cat sat. the cat."), make_corpus("a cat. the dog.")
    vocabulary = Vocabulary.build(one, VocabularyConfig(min_count=1))
    apart = {number: vocabulary.word_ids(corpus).tolist() for number, corpus in enumerate((one, other))}
    assert apart[0] != apart[1]
    for number, corpus in ((0, one), (0, one), (1, other), (0, one)):
        assert vocabulary.word_ids(corpus).tolist() == apart[number]


def test_word_ids_with_components_of_phrases(make_corpus) -> None:
    corpus = make_corpus(TEXT)
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=3, words=("a new york", "dog")))
    ids = vocabulary.word_ids(corpus)
    assert ids.dtype == np.int32
    assert len(ids) == len(corpus.forms.word_starts)
    slots, sentence_of_word = corpus.word_slots(0, len(corpus.sentences) - 1)
    expected = [word.lower() for sentence in words_of(corpus) for word in sentence]
    component = len(vocabulary)
    for word, number in zip(expected, ids[slots].tolist()):
        if word == "a":
            assert number == component
        else:
            assert number == (vocabulary.id(word) if word in vocabulary else -1)
    phrases, start, end = vocabulary.phrases.find(ids[slots], sentence_of_word)
    assert phrases.tolist() == [vocabulary.id("a new york")]
    assert expected[start[0] : end[0]] == ["a", "new", "york"]


def test_the_most_frequent_only(make_corpus) -> None:
    corpus = make_corpus(TEXT)
    config = VocabularyConfig(min_count=1, max_size=2, words=("dog", "the"))
    assert Vocabulary.build(corpus, config).keys == ["the", ".", "dog"]


MIXED = ["The", "the", "THE", "cat", "Cat,", "dog.", "dog", "don't", "u.s.", "ß", "SS", "好的", "é", "e\u0301"]
SENTENCES = st.lists(st.lists(st.sampled_from(MIXED), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SENTENCES, st.integers(1, 4), st.sampled_from(["lower", "none"]), st.booleans())
def test_counts_as_by_going_through_the_text(
    tmp_path: Path, sentences: list[list[str]], least: int, rule: str, kept: bool
) -> None:
    file = tmp_path / "text.txt"
    file.write_text("\n".join(map(" ".join, sentences)), encoding="utf-8")
    corpus = prepare([file], tmp_path / "store", PrepareConfig(sentences_per_line=True), workers=1, overwrite=True)
    if not kept:
        (corpus.path / "words.safetensors").unlink()

    def key(word: str) -> str:
        return unicodedata.normalize("NFC", word.lower() if rule == "lower" else word)

    phrase = ["The", "cat"]
    found = words_of(corpus)
    counts = Counter(key(word) for sentence in found for word in sentence)
    spellings = Counter(word for sentence in found for word in sentence)
    pairs = [pair for sentence in found for pair in pairwise(sentence)]
    phrase_count = sum([key(one), key(two)] == [key(word) for word in phrase] for one, two in pairs)
    counts[" ".join(map(key, phrase))] = phrase_count
    config = VocabularyConfig(min_count=least, key=rule, words=("The cat",))
    vocabulary = Vocabulary.build(corpus, config)
    expected = sorted((item for item in counts.items() if item[1] >= least), key=lambda item: (-item[1], item[0]))
    if phrase_count < least:
        expected.append((" ".join(map(key, phrase)), phrase_count))
    assert list(zip(vocabulary.keys, vocabulary.counts.tolist())) == expected
    for word, surface in zip(vocabulary.keys, vocabulary.surfaces):
        if " " not in word:
            variants = [spelling for spelling in spellings if key(spelling) == word]
            assert surface == min(variants, key=lambda spelling: (-spellings[spelling], spelling.encode()))


def test_keep_probability_and_noise(make_corpus) -> None:
    corpus = make_corpus("a " * 90 + "b " * 10)
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1, words=("c", "a b")))
    assert vocabulary.keys == ["a", "b", "a b", "c"]
    t = 0.01
    f = np.array([0.9, 0.1])
    np.testing.assert_allclose(vocabulary.keep_probability(t)[:2], np.sqrt(t / f) + t / f)
    assert vocabulary.keep_probability(t)[2:].tolist() == [1, 1]
    assert vocabulary.keep_probability(0).tolist() == [1, 1, 1, 1]
    noise = vocabulary.noise_distribution(0.75)
    weights = np.array([90, 10, 1, 0]) ** 0.75
    np.testing.assert_allclose(noise, weights / weights.sum())


def test_an_empty_vocabulary_says_why(make_corpus) -> None:
    corpus = make_corpus(TEXT)
    with pytest.raises(DataError, match=r"No word of .* occurs 9 times: of 12 distinct.*'the', occurs 4.*min_count"):
        Vocabulary.build(corpus, VocabularyConfig(min_count=9))
    assert Vocabulary.build(corpus, VocabularyConfig(min_count=9, words=("cat",))).counts.tolist() == [3]


@pytest.mark.parametrize("wrong", [{"min_count": 0}, {"max_size": 0}, {"key": "upper"}])
def test_wrong_settings(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        VocabularyConfig(**wrong)


class Letters:
    name = "letters"

    def spans(self, form: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place, letter in enumerate(form) if letter != " "]


def test_another_segmenter(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abba cab")
    corpus = prepare([tmp_path / "a.txt"], tmp_path / "store", segmenter=Letters())
    with pytest.raises(UsageError, match=r"segmenter 'letters', got 'words.v1'"):
        Vocabulary.build(corpus, segmenter=WordSegmenter())
    with pytest.raises(UsageError, match=r"segmenter 'letters', which is not built in"):
        Vocabulary.build(corpus)
    config = VocabularyConfig(min_count=1, words=("ba",))
    vocabulary = Vocabulary.build(corpus, config, segmenter=Letters())
    assert dict(zip(vocabulary.keys, vocabulary.counts.tolist())) == {"a": 3, "b": 3, "b a": 1, "c": 1}


def test_word_lists(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffone\r\n\n two  words \nΩ".encode())
    assert Vocabulary.read_word_list(path) == ("one", "two words", "Ω")
    for content in (b"\n \n", b"\xff"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"words\.txt"):
            Vocabulary.read_word_list(path)
    with pytest.raises(DataError, match="missing"):
        Vocabulary.read_word_list(tmp_path / "missing")
