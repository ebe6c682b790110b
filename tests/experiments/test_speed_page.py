"""The page about performance: sections for the results that are there, and commands that are written down."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments.pages import speed

README = Path(__file__).parents[2] / "experiments" / "README.md"
MACHINE = {"cpu": "C", "cores": 2, "memory_gb": 3, "python": "3", "packages": {"torch": "2"}}
RESULT = {
    "command": "python -m benchmarks.precision x",
    "commit": "abc",
    "seed": 0,
    "hardware": MACHINE,
    "device": "C",
    "words": 10,
    "vectors": {"ase": 4},
    "precisions": {
        "float32": {"words_per_second": 1.0, "scores": {"ase": {"men": 50.0}}},
        "bfloat16": {
            "words_per_second": 2.0,
            "scores": {"ase": {"men": 50.1}},
            "cosine_to_float32": {"ase": {"least": 0.9999, "mean": 0.99999}},
        },
    },
}


def test_a_section_for_each_result_that_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "SPEED", tmp_path)
    assert "## " not in speed.page()
    (tmp_path / "precision.json").write_text(json.dumps(RESULT))
    page = speed.page()
    assert page.count("## ") == 1
    assert "## What the precision changes\n\nThe effect of the teacher's precision" in page
    assert "| bfloat16 | 2 | 0.99990 | 0.99999 | 0.100 |" in page
    assert "Made by `python -m experiments.speed.precision x` at commit abc" in page


def test_every_benchmark_is_in_the_table_of_commands():
    text = README.read_text(encoding="utf-8")
    for module in speed.BENCHMARKS:
        assert f"| `python -m experiments.speed.{module.BENCHMARK}" in text
