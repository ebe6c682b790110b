"""Answers: what the page is told agrees with the table itself."""

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.errors import DataError, UsageError
from wordstill.explore.answers import Answers
from wordstill.explore.library import Library, find_scores, read_scores
from wordstill.vectors.oov import UnknownWord


@pytest.fixture(scope="module")
def answers(library):
    return Answers(library)


def test_neighbors_are_those_of_the_table_in_any_case(answers, tables):
    found = answers.neighbors("RIVER", "first", topn=5)
    assert found.word == "river"
    expected = tables["first"].most_similar("river", topn=5)
    assert [near.word for near in found.neighbors] == [word for word, _ in expected]
    assert found.neighbors[0].score == pytest.approx(expected[0][1], abs=1e-4)
    assert found.rank == 1
    assert found.count == 400


def test_how_sure_neighbors_are(answers, tables):
    found = answers.sure("RIVER", "first", topn=5)
    assert [near.word for near in found.neighbors] == [
        word for word, _ in tables["first"].most_similar("river", topn=5)
    ]
    assert all(near.low < near.score < near.high and 0 <= near.share <= 1 for near in found.neighbors)
    assert found.note is None
    without = answers.sure("river", "second")
    assert without.neighbors == [] and "--folds" in without.note


def test_words_are_typical_of_the_group_that_uses_them_most(answers, tables):
    found = answers.groups("first")
    assert found.groups == ["rivers", "kings"]
    group = dict(zip(tables["first"].words, found.words))
    assert (group["river"], group["king"], group["dog"]) == (0, 1, -1)
    assert set(answers.groups("second").words) == {-1}


def test_a_word_in_every_table(answers):
    report = answers.word("dog", topn=4)
    assert set(report.tables) == {"first", "second"}
    both = [near.word for table in report.tables.values() for near in table.neighbors]
    assert report.shared == {word: both.count(word) for word in both}
    with pytest.raises(UnknownWord):
        answers.word("xylophone")


def test_search_gives_the_word_then_beginnings_then_parts(answers):
    assert [near.word for near in answers.search("cat", "first").words] == ["cat", "cats"]
    assert [near.word for near in answers.search("ROWN").words] == ["crown"]
    assert answers.search("quean").words[0].word == "queen"
    assert answers.search("   ").words == []


def test_the_map_has_an_entry_for_each_word(answers, tables):
    found = answers.map("first")
    assert found.words == list(tables["first"].words)
    assert len(found.x) == len(found.y) == len(found.counts) == 40
    assert answers.map("first", places_only=1).words == []


def test_bad_libraries_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no table"):
        Library({})
    with pytest.raises(DataError, match="has no words"):
        Library({"empty": WordVectors([], np.empty((0, 3), dtype=np.float32))})
    (tmp_path / "evaluation.json").write_text("[]")
    assert find_scores([tmp_path / "vectors" / "still"]) == tmp_path / "evaluation.json"
    with pytest.raises(DataError, match="is not an evaluation"):
        read_scores(tmp_path / "evaluation.json")


def test_without_text_the_reply_says_what_sentences_need(tables):
    bare = Answers(Library({"first": tables["first"]}, method="pca"))
    assert "--text STORE" in (bare.sentences("river").note or "")


def test_the_page_opens_with_the_table_of_the_default_method(tables):
    library = Library({"ase": tables["first"], "still": tables["second"]}, method="pca")
    assert [card.name for card in Answers(library).tables().tables] == ["still", "ase"]
    assert library.table("").name == "still"


def test_examples_are_words_of_the_table(answers, tables):
    examples = answers.tables().examples
    assert examples
    assert set(examples) <= {word for word in tables["first"].words if word.isalpha()}


def test_the_odd_one_out_and_analogies_are_those_of_the_table(answers, tables):
    assert answers.odd("river, lake, sea, dog").odd == "dog"
    expected = tables["first"].analogy("man", "woman", "son", topn=3)
    assert [near.word for near in answers.analogy("man", "woman", "son", topn=3).answers] == [w for w, _ in expected]
    with pytest.raises(UsageError, match="three words or more, got 2"):
        answers.odd("river, lake")


def test_poles_lie_at_the_ends_of_their_axis(answers):
    axis = answers.axis("river, lake", "king, queen", "sea, castle")
    assert [near.word for near in axis.words] == ["sea", "castle"]
    assert axis.low_end[0].score < axis.words[0].score < 0 < axis.words[1].score <= axis.high_end[0].score
    with pytest.raises(UsageError, match="same vector"):
        answers.axis("river", "river")


def test_tables_compared(answers):
    found = answers.compare("first", "second", topn=3)
    assert found.shared_words == 40
    assert [one.overlap for one in found.moved] == sorted(one.overlap for one in found.moved)
    with pytest.raises(UsageError, match="twice"):
        answers.compare("first", "first")


def test_arrows_and_what_is_missing(answers):
    found = answers.arrows("man:woman, son:daughter, father:mother, lord:lady")
    assert (found.pairs[0].first, found.pairs[0].second) == ("man", "woman")
    assert found.missing == ["lord", "lady"]
    with pytest.raises(UsageError, match="man:woman,king:queen"):
        answers.arrows("man woman")


def test_arrows_lie_along_the_mean_difference_of_their_pairs(answers, tables):
    pairs = [("man", "woman"), ("son", "daughter"), ("father", "mother")]
    found = answers.arrows(",".join(map(":".join, pairs)))
    rows = np.stack([[tables["first"].unit[tables["first"].index(word)] for word in pair] for pair in pairs])
    difference = rows[:, 1] - rows[:, 0]
    direction = difference.mean(axis=0) / np.linalg.norm(difference.mean(axis=0))
    lengths = [arrow.end[0] - arrow.start[0] for arrow in found.pairs]
    assert lengths == pytest.approx((difference @ direction).tolist(), abs=1e-3)
    assert sum(arrow.start[1] + arrow.end[1] for arrow in found.pairs) == pytest.approx(0, abs=1e-3)
