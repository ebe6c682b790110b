"""Questions: answers agree with the table itself."""

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.explore.questions import Questions


@pytest.fixture(scope="module")
def questions(library):
    return Questions(library)


def test_the_odd_one_out_and_analogies_are_those_of_the_table(questions, tables):
    assert questions.odd("river, lake, sea, dog").odd == "dog"
    expected = tables["first"].analogy("man", "woman", "son", topn=3)
    assert [near.word for near in questions.analogy("man", "woman", "son", topn=3).answers] == [w for w, _ in expected]
    with pytest.raises(UsageError, match="three words or more, got 2"):
        questions.odd("river, lake")


def test_poles_lie_at_the_ends_of_their_axis(questions):
    axis = questions.axis("river, lake", "king, queen", "sea, castle")
    assert [near.word for near in axis.words] == ["sea", "castle"]
    assert axis.low_end[0].score < axis.words[0].score < 0 < axis.words[1].score <= axis.high_end[0].score
    with pytest.raises(UsageError, match="same vector"):
        questions.axis("river", "river")


def test_tables_compared(questions):
    found = questions.compare("first", "second", topn=3)
    assert found.shared_words == 40
    assert [one.overlap for one in found.moved] == sorted(one.overlap for one in found.moved)
    with pytest.raises(UsageError, match="twice"):
        questions.compare("first", "first")


def test_arrows_and_what_is_missing(questions):
    found = questions.arrows("man:woman, son:daughter, father:mother, lord:lady")
    assert (found.pairs[0].first, found.pairs[0].second) == ("man", "woman")
    assert found.missing == ["lord", "lady"]
    with pytest.raises(UsageError, match="man:woman,king:queen"):
        questions.arrows("man woman")


def test_arrows_lie_along_the_mean_difference_of_their_pairs(questions, tables):
    pairs = [("man", "woman"), ("son", "daughter"), ("father", "mother")]
    found = questions.arrows(",".join(map(":".join, pairs)))
    rows = np.stack([[tables["first"].unit[tables["first"].index(word)] for word in pair] for pair in pairs])
    difference = rows[:, 1] - rows[:, 0]
    direction = difference.mean(axis=0) / np.linalg.norm(difference.mean(axis=0))
    lengths = [arrow.end[0] - arrow.start[0] for arrow in found.pairs]
    assert lengths == pytest.approx((difference @ direction).tolist(), abs=1e-3)
    assert sum(arrow.start[1] + arrow.end[1] for arrow in found.pairs) == pytest.approx(0, abs=1e-3)
