"""The judge of ``--development``."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from wordstill.cli.development import read_development
from wordstill.errors import DataError, UsageError
from wordstill.evaluation import SimilarityTask
from wordstill.evaluation.data.locate import locate
from wordstill.vectors import WordVectors

PAIRS = "stone\trock\t9\nstone\tsong\t1\nsong\ttune\t8\nrock\ttune\t2\n"


def test_tables_are_scored_on_the_pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    judge = read_development(tmp_path / "pairs.tsv", 3)
    words = ["stone", "rock", "song", "tune"]
    good = WordVectors(words, np.array([[1, 0], [0.9, 0.1], [0, 1], [0.2, 0.8]], dtype=np.float32))
    bad = WordVectors(words, np.array([[1, 0], [0, 1], [0.9, 0.1], [0.2, 0.8]], dtype=np.float32))
    assert judge.patience == 3
    assert judge.judge(good) > 0.7 > judge.judge(bad)


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
    judge = read_development(tmp_path / "pairs.tsv", 1)
    with pytest.raises(DataError, match="cannot judge"):
        judge.judge(WordVectors(["other"], np.ones((1, 2), dtype=np.float32)))


def test_what_judges_is_told(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    judge = read_development(tmp_path / "pairs.tsv")
    digest = hashlib.sha256(PAIRS.encode()).hexdigest()
    assert judge.facts == {"file": "pairs.tsv", "sha256": digest, "patience": 1}


def test_a_vocabulary_without_the_pairs_is_refused_at_once(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    judge = read_development(tmp_path / "pairs.tsv")
    judge.check_words(["song", "tune", "stone", "rock", "other"])
    with pytest.raises(DataError, match=r"cannot judge.*none of the 4 pairs is covered"):
        judge.check_words(["other", "words"])


def test_patience_without_pairs_is_refused():
    assert read_development(None) is None
    with pytest.raises(UsageError, match="--patience is for --development"):
        read_development(None, 2)
