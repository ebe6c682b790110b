"""What the page on senses says follows from the records."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments.pages import senses as page
from experiments.quality.senses import interval, right
from wordstill.evaluation.tasks.in_context import PairCosines


def test_the_table_shows_scores_gains_and_cost(tmp_path, monkeypatch):
    row = {
        "label": "average, strength 0.7", "scws": 71.2, "scws_gain": 1.5, "scws_interval": [0.5, 2.4], "wic": 52.0,
        "wic_gain": -6.0, "wic_interval": [-9.0, -3.0], "pairs": {"scws": 1002, "wic": 1400},
    }  # fmt: skip
    facts = {"title": "T", "hardware": "H", "commit": "C", "seed": 0, "command": "python"}
    scores = facts | {"words": 10, "occurrences": 99, "chosen": "strength 0.7", "development": {"strength 0.7": 70}}
    rows = [row | {"label": "raw"}, row | {"label": "table"}, row, row | {"label": "deviation, strength 0.7"}]
    used = {"cpu_seconds": 100.0, "megabytes": 1000}
    cost = facts | {"plain": used, "kept": used, "seconds_ratio": 1.0, "memory_ratio": 1.05}
    (tmp_path / "senses").mkdir()
    (tmp_path / "senses" / "x.json").write_text(json.dumps(scores | {"rows": rows}))
    (tmp_path / "senses" / "x.cost.json").write_text(json.dumps(cost))
    chosen = "deviation, strength 0.7"
    for_wic = {"chosen_wic": chosen, "pairs_wic": 3000, "development_wic": {"raw": 61.0, chosen: 64.2}}
    (tmp_path / "senses" / "y.json").write_text(json.dumps(scores | for_wic | {"rows": rows}))
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    shown = page.page()
    assert f"{chosen} on 3,000 pairs of WiC's development and training parts (64.2; the raw states 61.0)" in shown
    assert "| senses: average, strength 0.7 | 71.2 | +1.5 [+0.5, +2.4] | 52.0 | -6.0 [-9.0, -3.0] |" in shown
    assert "| the table, one vector per word | 71.2 |  | 52.0 |" in shown
    assert "| senses: deviation, strength 0.7 |  |  | 52.0 |" in shown
    assert "1.00 times the CPU time" in shown and "1.05 times the peak memory" in shown


def test_thresholds_are_of_the_development_part():
    gold, found = np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4, dtype=bool)
    dev = PairCosines({"x": np.array([0.9, 0.1, 0.8, 0.2])}, gold, found)
    test = PairCosines({"x": np.array([0.6, 0.4, 0.3, 0.2])}, gold, found)
    assert right({"wic-dev": dev, "wic-test": test}, "x").tolist() == [1, 1, 0, 1]
    assert interval(np.arange(1001.0)) == [25.0, 975.0]
