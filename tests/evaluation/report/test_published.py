from __future__ import annotations

import pytest

from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.protocol import PROTOCOLS
from wordstill.evaluation.report.published import PUBLISHED, best_published, published_for, published_table

OTHERS = {
    "cosimlex-1", "cosimlex-2",
    # Not public, or not found.
    "wsj-pos", "ontonotes4-ner", "esslli-2b",
    # Other measures and parts.
    "wsj-pos:dev", "conll2000:dev",
    *(f"{name}:macro-f1" for name in ("cr", "mr", "mpqa", "subj", "trec", "sst5")),
    *(f"paws-words:{words}-{pairs}" for words in ("common", "different") for pairs in ("n", "p")),
}  # fmt: skip


def test_rows_name_known_sets_and_protocols():
    for row in PUBLISHED:
        assert set(row.scores) <= {*DATASETS, *OTHERS}
        assert row.protocol is None or row.protocol in PROTOCOLS
        assert row.model and row.table > 0
        assert all(5 < value < 100 for value in row.scores.values())
    assert len({(row.paper, row.table, row.model, *row.scores) for row in PUBLISHED}) == len(PUBLISHED)
    assert {name for row in PUBLISHED for name in row.scores} > OTHERS


@pytest.mark.parametrize(
    ("name", "value", "paper"),
    [
        ("rg65", 85.1, "Context-to-Vec"),
        ("wordsim353", 78.9, "Context-to-Vec"),
        ("simlex999", 56.75, "X2Static"),
        ("simverb3500", 47.74, "X2Static"),
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
    assert best.scores[name] == value
    assert best.paper.endswith(f"({paper})")


def test_sets_that_no_paper_reports():
    assert best_published("battig82") is None
    assert published_for(["battig82", "esslli-1a"]) == []


MEANS = {
    ("x2static", 3): {
        "BERT2Static para": 60.31, "RoBERTa2Static para": 62.91, "GPT2Static sent": 60.94, "CBOW": 48.23,
        "Sent2vec": 55.594, "ASE of BERT-12, best overall layer": 54.29,
    },
    ("x2static", 4): {
        "BERT2Static para": 79.9, "GPT2Static sent": 79.4, "CBOW": 74.6,
        "SRoBERTa-base-NLI, frozen": 82.1,
    },
    ("x2static", 6): {
        "ASE of BERT-24, best overall layer": 57.82, "BERT-24 2Static sent": 62.47, "BERT-24 2Static para": 62.78,
        "ASE of RoBERTa-24, best overall layer": 56.80, "RoBERTa-24 2Static sent": 61.41,
        "RoBERTa-24 2Static para": 62.68, "ASE of GPT2-24, best overall layer": 51.55, "GPT2-24 2Static sent": 62.75,
    },
    ("context-to-vec", 2): {"skip-gram": 60.8, "SynGCN": 62.7, "Context-to-Vec, retrofitted": 68.1},
    ("context-to-vec", 3): {"skip-gram": 89.03, "SynGCN": 92.23, "Context-to-Vec": 92.80},
    ("context-to-vec", 4): {"Context-to-Vec": 68.8, "retrofitted by Faruqui et al. 2015": 68.8},
}  # fmt: skip
"""The papers print the mean of a row, which would show a misread score; the last digit may be cut or rounded."""


@pytest.mark.parametrize("table", MEANS)
def test_printed_means_hold(table):
    rows = {row.model: row.scores for row in published_table(*table) if not any("f1" in name for name in row.scores)}
    for model, mean in MEANS[table].items():
        digits = len(str(mean).partition(".")[2])
        assert sum(rows[model].values()) / len(rows[model]) == pytest.approx(mean, abs=1.01 / 10**digits)


def test_macro_f1_means_hold():
    rows = {row.model: row.scores for row in published_table("x2static", 4) if "cr:macro-f1" in row.scores}
    assert len(rows) == 20
    for model, mean in {"GloVe": 66.1, "GPT2Static para": 68.1, "RoBERTa-12 itself, fine-tuned": 82.4}.items():
        assert sum(rows[model].values()) / 6 == pytest.approx(mean, abs=0.06)
