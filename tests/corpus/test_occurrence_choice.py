from __future__ import annotations

import numpy as np
import pytest

from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig
from wordstill.corpus.dealing import choose_occurrences, place_code, place_hashes, places

TEXT = "The cat and the dog. The cat sat in New York.\nthe New York cat, in New York!\nA new york dog. The end.\n" * 40


def all_places(corpus: Corpus, word: str) -> list[tuple[int, int, int]]:
    """Sentence, position and size of every occurrence, found word by word."""
    parts, found, number = word.split(), [], 0
    for paragraph in corpus:
        for sentence in paragraph.sentences:
            words = [each.text.lower() for each in sentence.words]
            starts = range(len(words) - len(parts) + 1)
            found += [(number, at, len(parts)) for at in starts if words[at : at + len(parts)] == parts]
            number += 1
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    from wordstill.corpus import prepare

    folder = tmp_path_factory.mktemp("choice")
    (folder / "text.txt").write_text(TEXT)
    return prepare(folder / "text.txt", folder / "store", workers=1)


@pytest.fixture(scope="module")
def vocabulary(corpus) -> Vocabulary:
    return Vocabulary.build(corpus, VocabularyConfig(min_count=1, words=("New York",)))


@pytest.mark.parametrize("sizes", [{}, {"scan_forms": 50, "most_waiting": 60}])
@pytest.mark.parametrize("number", [1, 7, 1000])
def test_the_smallest_hashes_of_each_word_are_kept(corpus, vocabulary, number, sizes):
    words = ["new york", "the", "sat", "end"]
    ids = np.array([vocabulary.id(word) for word in words])
    chosen = choose_occurrences(corpus, vocabulary, ids, number, seed=3, **sizes)
    assert [vocabulary.keys[word] for word in chosen.words] == sorted(words, key=vocabulary.id)
    for row, word in enumerate(chosen.words):
        every = np.array([place_code(*place) for place in all_places(corpus, vocabulary.keys[word])])
        smallest = every[np.argsort(place_hashes(every, 3))[:number]]
        kept = chosen.codes[chosen.offsets[row] : chosen.offsets[row + 1]]
        assert kept.tolist() == sorted(smallest.tolist())
        assert len(kept) == min(number, vocabulary.counts[word])


def test_another_seed_keeps_others(corpus, vocabulary):
    ids = np.array([vocabulary.id("the")])
    first, second = (choose_occurrences(corpus, vocabulary, ids, 10, seed).codes for seed in (0, 1))
    assert set(first.tolist()) != set(second.tolist())


def test_places_and_codes_are_the_same():
    given = np.array([0, 7, 3 << 30]), np.array([0, 65_535, 2]), np.array([1, 255, 3])
    codes = place_code(*given)
    assert [part.tolist() for part in places(codes)] == [part.tolist() for part in given]
    assert (np.diff(codes) > 0).all()


def test_hashes_are_even():
    hashes = place_hashes(np.arange(100_000) << 8, 0)
    assert len(np.unique(hashes)) == 100_000
    shares = np.bincount((hashes >> np.uint64(60)).astype(int), minlength=16) / 100_000
    assert np.abs(shares - 1 / 16).max() < 0.005
