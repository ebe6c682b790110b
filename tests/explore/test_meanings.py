"""Senses and groups on the page agree with what analysis finds."""

import pytest

from wordstill.analysis.change import change, neighbors_in
from wordstill.errors import UsageError
from wordstill.explore.library import Library
from wordstill.explore.meanings import Meanings


@pytest.fixture(scope="module")
def meanings(library):
    return Meanings(library)


def test_a_word_of_two_senses_comes_with_its_sentences(meanings):
    found = meanings.senses("Castle", "first")
    assert (found.word, found.kept, found.total, len(found.senses)) == ("castle", 24, 48, 2)
    assert [sense.share for sense in found.senses] == [0.5, 0.5]
    use = found.senses[0].uses[0]
    assert (use.before, use.word, use.after) == ("A dog chased the cat around the ", "castle", ".")
    assert len(meanings.senses("cow", "first").senses) == 1


def test_places_of_uses_are_not_looked_up_in_another_text(tables):
    found = Meanings(Library({"first": tables["first"]}, method="pca")).senses("castle")
    assert [sense.uses for sense in found.senses] == [[], []]


def test_what_senses_and_groups_lack_is_said(meanings):
    assert "--occurrences" in meanings.senses("castle", "second").note
    assert "No occurrences of 'river'" in meanings.senses("river", "first").note
    assert "--group" in meanings.timeline("castle", "second").note
    with pytest.raises(UsageError, match="no groups"):
        meanings.changed(table="second")


def test_a_word_in_each_group(meanings, tables):
    found = meanings.timeline("king", "first")
    assert [(one.group, one.count) for one in found.groups] == [("rivers", 40), ("kings", 360)]
    sizes = tables["first"].folds.sizes.reshape(2, -1).sum(axis=1)
    assert [one.per_million for one in found.groups] == pytest.approx([40e6 / sizes[0], 360e6 / sizes[1]], abs=0.01)
    first, last = found.groups
    assert first.distance is None
    assert last.low < last.distance < last.high
    assert [near.word for near in last.neighbors] == [
        word for word, _ in neighbors_in(tables["first"], "king", "kings", len(last.neighbors))
    ]


def test_words_that_changed_are_those_of_the_analysis(meanings, tables):
    found = meanings.changed(table="first", topn=5)
    expected = change(tables["first"], "rivers", "kings", permutations=99)
    assert (found.before, found.after, found.compared) == ("rivers", "kings", len(expected.words))
    assert [one.word for one in found.words] == [one.word for one in expected.words[:5]]
    assert "too small for a p-value" in found.note
