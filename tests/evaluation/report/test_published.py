from __future__ import annotations

import pytest

from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.protocol import PROTOCOLS
from wordstill.evaluation.report.published import PUBLISHED, best_published, published_for


def test_rows_name_known_sets_and_protocols():
    for row in PUBLISHED:
        assert set(row.scores) <= {*DATASETS, "cosimlex-1", "cosimlex-2"}
        assert row.protocol is None or row.protocol in PROTOCOLS
        assert row.model and row.table > 0
        assert all(5 < value < 100 for value in row.scores.values())
    assert len({(row.paper, row.table, row.model) for row in PUBLISHED}) == len(PUBLISHED)


@pytest.mark.parametrize(
    ("name", "value", "paper"),
    [
        ("rg65", 85.1, "Context-to-Vec"),
        ("wordsim353", 78.9, "Context-to-Vec"),
        ("simlex999", 56.75, "X2Static"),
        ("simverb3500", 47.7, "X2Static"),
        ("rareword", 59.39, "X2Static"),
        ("men", 77.9, "Context-to-Vec"),
        ("google", 76.3, "Context-to-Vec"),
        ("msr", 62.2, "BERT + skip-gram"),
        ("semeval2012", 23.4, "BERT + skip-gram"),
        ("sts12", 58.3, "meaning in context"),
        ("sts16", 68.7, "meaning in context"),
    ],
)
def test_the_best_of_each_set(name, value, paper):
    best = best_published(name)
    assert best.value == value
    assert best.row.paper.endswith(f"({paper})")


def test_sets_that_no_paper_reports():
    assert best_published("battig82") is None
    assert published_for(["battig82", "esslli-1a"]) == []


def test_printed_means_hold():
    """The papers print the mean of a row, which would show a misread score."""
    means = {"BERT2Static para": 60.31, "RoBERTa2Static para": 62.91, "GPT2Static sent": 60.94, "CBOW": 48.23}
    table = {row.model: row.scores.values() for row in PUBLISHED if row.table == 3 and "X2Static" in row.paper}
    for model, mean in means.items():
        assert sum(table[model]) / 5 == pytest.approx(mean, abs=0.006)
    table = {row.model: row.scores.values() for row in PUBLISHED if row.table == 4 and "X2Static" in row.paper}
    for model, mean in {"BERT2Static para": 79.9, "GPT2Static sent": 79.4, "CBOW": 74.6}.items():
        assert sum(table[model]) / 6 == pytest.approx(mean, abs=0.06)
