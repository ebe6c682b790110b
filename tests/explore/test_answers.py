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
