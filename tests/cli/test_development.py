"""Early stopping by ``--development``."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from wordstill.cli.development import read_development
from wordstill.errors import DataError, UsageError
from wordstill.evaluation import SimilarityTask
from wordstill.evaluation.data.locate import locate
from wordstill.vectors import WordVectors

PAIRS = "stone\trock\t9\nstone\tsong\t1\nsong\ttune\t8\nrock\ttune\t2\nstone\ttune\t1.5\nrock\tsong\t1.2\n"


def test_tables_are_scored_on_the_pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    early_stopping = read_development(tmp_path / "pairs.tsv", 3)
    words = ["stone", "rock", "song", "tune"]
    good = WordVectors(words, np.array([[1, 0], [0.9, 0.1], [0, 1], [0.2, 0.8]], dtype=np.float32))
    bad = WordVectors(words, np.array([[1, 0], [0, 1], [0.9, 0.1], [0.2, 0.8]], dtype=np.float32))
    assert early_stopping.patience == 3
    assert early_stopping.score(good) > 0.7 > early_stopping.score(bad)


def test_test_sets_are_refused():
    """WordSim-353 lies inside gensim's package."""
    with pytest.raises(UsageError, match=r"is the test set wordsim353.*--development"):
        read_development(locate("wordsim353").path, 1)


@pytest.mark.parametrize(("step", "refused"), [(1, True), (2, False)])
def test_most_pairs_of_a_test_set_are_refused_however_they_are_written(tmp_path, step, refused):
    pairs = SimilarityTask("wordsim353").dataset.content
    rows = list(zip(pairs.second, pairs.first, pairs.gold))[::step]
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{one.upper()}\t{other}\t{gold}\n" for one, other, gold in rows))
    if refused:
        with pytest.raises(UsageError, match=r"has \d+ of the \d+ pairs of the test set wordsim353\."):
            read_development(path, 1)
    else:
        assert read_development(path, 1) is not None


def test_missing_files_and_strange_words_are_refused(tmp_path):
    with pytest.raises(DataError, match="There is no file"):
        read_development(tmp_path / "nothing.tsv", 1)
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    early_stopping = read_development(tmp_path / "pairs.tsv", 1)
    with pytest.raises(DataError, match="cannot judge"):
        early_stopping.score(WordVectors(["other"], np.ones((1, 2), dtype=np.float32)))


def test_the_source_of_the_score_is_recorded(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    early_stopping = read_development(tmp_path / "pairs.tsv")
    digest = hashlib.sha256(PAIRS.encode()).hexdigest()
    assert early_stopping.facts == {"file": "pairs.tsv", "sha256": digest, "patience": 1}


def test_a_vocabulary_without_the_pairs_is_refused_at_once(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    early_stopping = read_development(tmp_path / "pairs.tsv")
    early_stopping.check_words(["song", "tune", "stone", "rock", "other"])
    with pytest.raises(DataError, match=r"cannot judge.*none of the 6 pairs is covered"):
        early_stopping.check_words(["other", "words"])


def test_patience_without_pairs_is_refused():
    assert read_development(None) is None
    with pytest.raises(UsageError, match="--patience needs --development"):
        read_development(None, 2)
