from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.meaning.occurrence import Occurrence
from wordstill.meaning.triple_builder import TripleBuilder, WordCosines, align_target, edit_distance, nearly_the_same
from wordstill.vectors import WordVectors

# Words with the same letter before the digit have the same meaning; the digit is how near: 1 is nearest.
MEANINGS = {
    "promised": (0, 1.0), "assured": (0, 0.8), "vowed": (0, 0.9), "left": (1, 1.0), "nice": (2, 1.0),
    "good": (2, 0.7), "amount": (3, 1.0), "coins": (4, 1.0), "party": (5, 1.0), "art": (6, 1.0),
    "painting": (6, 0.8), "well-known": (7, 1.0), "famous": (7, 0.8), "known": (7, 0.65), "well": (8, 1.0),
    "him": (9, 1.0), "they": (10, 1.0), "the": (11, 1.0), "a": (12, 1.0), "of": (13, 1.0),
}  # fmt: skip


@pytest.fixture(scope="module")
def builder():
    matrix = np.zeros((len(MEANINGS), 40), dtype=np.float32)
    for row, (axis, cosine) in enumerate(MEANINGS.values()):
        matrix[row, axis] = cosine
        matrix[row, 20 + row] = (1 - cosine**2) ** 0.5
    return TripleBuilder(WordCosines(WordVectors(list(MEANINGS), matrix)))


def occurrence_of(text: str, word: str) -> Occurrence:
    start = text.index(f"[{word}]")
    return Occurrence(text.replace("[", "").replace("]", ""), start, start + len(word))


@pytest.mark.parametrize(
    ("sentence", "word", "paraphrase", "expected"),
    [
        # The paper's own example (Table 1).
        (
            "They [promised] him a nice amount of coins", "promised",
            "They assured him a good amount of coins", "They [assured] him a good amount of coins",
        ),
        # "art" stands inside "party", and before it.
        ("The party of [art]", "art", "The party of art", "The party of [art]"),
        ("The party of [art]", "art", "The art of the party", "The [art] of the party"),
        ("The party of [art]", "art", "The party", None),
        # Hyphenated words are one word, on both sides.
        ("The [well-known] party", "well-known", "The well-known party", "The [well-known] party"),
        ("The [well-known] party", "well-known", "The famous party", "The [famous] party"),
        ("The [famous] party", "famous", "A well-known party of coins", "A [well-known] party of coins"),
        # A word that is repeated in the paraphrase: the one in the like place.
        ("The [art] of a party", "art", "art, the art of a party: art", "art, the [art] of a party: art"),
        ("A party of [art]", "art", "art of a party of art", "art of a party of [art]"),
        # A better match that belongs to another word of the sentence is not taken.
        ("They vowed, [promised] art", "promised", "They vowed, assured art", "They vowed, [assured] art"),
        ("They vowed and [promised] coins", "promised", "They vowed coins", None),
        # Below the threshold of 0.6.
        ("They [promised] him coins", "promised", "They left him coins", None),
        # A word without a vector matches itself, and nothing else.
        ("They [zorbed] him coins", "zorbed", "Him they zorbed a coin", "Him they [zorbed] a coin"),
        ("They [zorbed] him coins", "zorbed", "Him they blarged a coin", None),
        ("They [promised] him", "promised", "", None),
    ],
)  # fmt: skip
def test_worked_examples(builder, sentence, word, paraphrase, expected):
    found = builder.matched(occurrence_of(sentence, word), paraphrase)
    assert (None if found is None else found.marked) == expected


def slow_alignment(cosines, target, threshold):
    """Algorithm 4.1 line by line, for matrices without equal cosines."""
    rows, columns = cosines.shape
    aligned = set()
    for i in range(rows):
        if i == target:
            continue
        for j in range(columns):
            if j == max(range(columns), key=lambda c: cosines[i, c]) and i == max(
                range(rows), key=lambda r: cosines[r, j]
            ):
                aligned.add(j)
    for j in sorted(range(columns), key=lambda c: -cosines[target, c]):
        if j not in aligned and cosines[target, j] >= threshold:
            return j
    return None


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10_000), st.floats(0, 1))
def test_the_algorithm_is_that_of_the_paper(rows, columns, seed, threshold):
    cosines = np.random.default_rng(seed).permutation(rows * columns).reshape(rows, columns) / 36.0
    target = seed % rows
    assert align_target(cosines, target, threshold) == slow_alignment(cosines, target, threshold)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("", "", 0), ("a", "", 1), ("promise", "promised", 1), ("kitten", "sitting", 3), ("abc", "abc", 0)],
)
def test_edit_distance(first, second, distance):
    assert edit_distance(first, second) == edit_distance(second, first) == distance


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [("Promise", "promised", True), ("cat", "dog", False), ("assure", "promise", False), ("art", "arts", True)],
)
def test_nearly_the_same(first, second, same):
    assert nearly_the_same(first, second, 3) is same


def test_words_are_looked_up_in_lower_case_too():
    cosines = WordCosines(WordVectors(["bank", "Bank"], np.array([[1, 0], [0, 1]], dtype=np.float32)))
    assert cosines.matrix(["BANK"], ["bank"]).tolist() == [[1.0]]
    assert "BANK" in cosines and "shore" not in cosines
    assert cosines.matrix(["Bank"], ["shore"]).tolist() == [[0.0]]
