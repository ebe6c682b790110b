"""Scores on the page."""

import os

import pytest

from wordstill.errors import UsageError
from wordstill.explore.library import Library
from wordstill.explore.score_answers import ScoreAnswers


def test_scores_come_with_the_rows_of_papers(library):
    found = ScoreAnswers(library).scores()
    assert found.titles == {"wordsim353": "WordSim-353"}
    assert found.published
    assert all(set(row.scores) == {"wordsim353"} for row in found.published)


def test_without_an_evaluation_the_reply_says_how_to_make_one(tables):
    bare = ScoreAnswers(Library({"first": tables["first"]}, method="pca"))
    assert "wordstill evaluate" in (bare.scores().note or "")


def test_a_path_is_no_data_set(library, tmp_path):
    (tmp_path / "secret.txt").write_text("secret words here\n")
    for path in (str(tmp_path / "secret.txt"), "../secret.txt"):
        with pytest.raises(UsageError, match="Unknown data set"):
            ScoreAnswers(library).errors(path)


@pytest.mark.skipif("WORDSTILL_DATA" not in os.environ, reason="needs evaluation data: WORDSTILL_DATA")
def test_wrong_answers_are_wrong(library, tables):
    found = ScoreAnswers(library).errors("google", "first")
    assert found.note is None
    for one in found.answers:
        assert one.given != one.expected
        assert one.given == tables["first"].analogy(one.a, one.b, one.c, topn=1)[0][0]
    assert ScoreAnswers(library).errors("wordsim353", "first").pairs
