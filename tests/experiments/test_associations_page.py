"""What the page on association tests says follows from the record."""

import json

import pytest

pytest.importorskip("torch")

from experiments.pages import associations as page
from experiments.quality.associations import agreement, row
from wordstill.analysis.association import Association
from wordstill.evaluation.statistics import Interval


def result(effect, published, **more):
    sizes = {"x": (3, 4), "y": (4, 4), "a": (5, 5), "b": (5, 6)}
    about = {"published": published, "sizes": sizes, "effect": effect}
    return Association("glove", "weat-1", "weat", ("x", "y"), ("a", "b"), **about, **more)


def test_agreement_counts_signs_and_sizes():
    results = [result(1.2, 1.5), result(0.2, 1.5), result(-0.1, 0.2), result(None, 1.0, problem="too few")]
    assert agreement(results) == {"tests": 3, "same_sign": 2, "near": 2}


def test_the_table_shows_effects_coverage_and_certainty(tmp_path, monkeypatch):
    sure = result(1.2, 1.5, p_value=0.01, interval=Interval(0.5, 1.6), words={"w": 0.5})
    content = {
        "title": "T", "hardware": "H", "commit": "C", "seed": 0, "command": "python", "rows": [row(sure)],
        "tables": {"glove": {"words": 1000, "dim": 100, "teacher": None, "text_words": None}},
        "agreement": {"glove": agreement([sure])},
    }  # fmt: skip
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    (tmp_path / "associations").mkdir()
    (tmp_path / "associations" / "x.json").write_text(json.dumps(content))
    shown = page.page()
    assert "| weat-1 | x, y | a, b | 1.50 | 1.20\\* (17/19) |" in shown
    assert "the paper's direction in 1 of 1 tests, within 0.4 of its effect size in 1." in shown
    assert "words" not in content["rows"][0]
