"""Scores on the page."""

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
