from __future__ import annotations

import pytest

from wordstill.evaluation.data.examples import Examples
from wordstill.evaluation.trained.tags import LONGEST_WORD, Surfaces, TagCoder, are_spans


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("O", "B-X"), ("I-X",)], True),
        ([("S-X", "E-X")], True),
        ([("O", "O")], False),
        ([("B-X", "NN")], False),
        ([("NN", "IN", "OBJ")], False),
    ],
)
def test_spans_are_told_by_their_tags(rows, expected):
    assert are_spans(rows) is expected


def test_tags_there_and_back():
    train = Examples((("a", "b", "c"), ("d",)), (("B-X", "I-X", "O"), ("B-Y",)))
    coder = TagCoder.of(train)
    assert coder.tags == ("B-X", "E-X", "O", "S-Y")
    assert coder.decode(coder.numbers(train)) == [("B-X", "E-X", "O"), ("S-Y",)]
    other = Examples((("a",),), (("B-NEW",),))
    assert coder.numbers(other).rows.tolist() == [0]
    assert coder.counts(other.targets, [("B-X",)]).tolist() == [[0, 1, 1]]


def test_counts_of_words():
    coder = TagCoder.of(Examples((("a", "b"),), (("NN", "IN"),)))
    assert coder.counts([("NN", "IN"), ("NEW",)], [("NN", "NN"), ("NN",)]).tolist() == [[1, 2], [0, 1]]


def test_spelling():
    surfaces = Surfaces.of(["ab", "bx", "a" * 99], [4, 5, 6], seen=["ab"])
    assert surfaces.rows.tolist() == [0, 4, 5, 6]
    assert surfaces.characters[:3, :3].tolist() == [[0, 0, 0], [2, 3, 0], [3, 1, 0]]
    assert surfaces.characters.shape == (4, LONGEST_WORD)
    assert surfaces.kinds == 4
