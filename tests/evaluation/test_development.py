"""Development data, which is never a test set."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from wordstill.errors import DataError, UsageError
from wordstill.evaluation import SimilarityTask
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.development import DevelopmentPairs
from wordstill.vectors import WordVectors

PAIRS = "stone\trock\t9\nstone\tsong\t1\nsong\ttune\t8\nrock\ttune\t2\nstone\ttune\t1.5\nrock\tsong\t1.2\n"


def test_tables_are_scored_on_the_pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    judge = DevelopmentPairs(tmp_path / "pairs.tsv")
    words = ["stone", "rock", "song", "tune"]
    good = WordVectors(words, np.array([[1, 0], [0.9, 0.1], [0, 1], [0.2, 0.8]], dtype=np.float32))
    bad = WordVectors(words, np.array([[1, 0], [0, 1], [0.9, 0.1], [0.2, 0.8]], dtype=np.float32))
    assert judge.score(good) > 0.7 > judge.score(bad)


def test_test_sets_are_refused():
    """WordSim-353 lies inside gensim's package."""
    with pytest.raises(UsageError, match=r"is the test set wordsim353.*--development"):
        DevelopmentPairs(locate("wordsim353").path)


@pytest.mark.parametrize(("step", "refused"), [(1, True), (2, False)])
def test_most_pairs_of_a_test_set_are_refused_however_they_are_written(tmp_path, step, refused):
    pairs = SimilarityTask("wordsim353").dataset.content
    rows = list(zip(pairs.second, pairs.first, pairs.gold))[::step]
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{one.upper()}\t{other}\t{gold}\n" for one, other, gold in rows))
    if refused:
        with pytest.raises(UsageError, match=r"has \d+ of the \d+ pairs of the test set wordsim353\."):
            DevelopmentPairs(path)
    else:
        assert DevelopmentPairs(path) is not None


def test_missing_files_and_strange_words_are_refused(tmp_path):
    with pytest.raises(DataError, match="There is no file"):
        DevelopmentPairs(tmp_path / "nothing.tsv")
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    judge = DevelopmentPairs(tmp_path / "pairs.tsv")
    with pytest.raises(DataError, match="cannot judge"):
        judge.score(WordVectors(["other"], np.ones((1, 2), dtype=np.float32)))


def test_the_source_of_the_score_is_recorded(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    judge = DevelopmentPairs(tmp_path / "pairs.tsv")
    digest = hashlib.sha256(PAIRS.encode()).hexdigest()
    assert judge.source == {"file": "pairs.tsv", "sha256": digest}


def test_a_vocabulary_without_the_pairs_is_refused_at_once(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    judge = DevelopmentPairs(tmp_path / "pairs.tsv")
    judge.check_words(["song", "tune", "stone", "rock", "other"])
    with pytest.raises(DataError, match=r"cannot judge.*none of the 6 pairs is covered"):
        judge.check_words(["other", "words"])
