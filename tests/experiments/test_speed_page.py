"""The page about performance: sections for the results that are there, and commands that are written down."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments.pages import speed
from experiments.speed.whole import WIKIPEDIA, Run, wikipedia_rows, wikipedia_seconds

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


def test_seconds_of_a_larger_text_follow_from_two_runs():
    """Every stage is a fixed part and one that grows with words or rows; rows grow as a square root here."""

    def run(words: float, rows: float) -> Run:
        stages = {"loading the teacher": 5.0, "preparing the text": 0.5, "teacher": 2 + words / 1e4, "all else": 0.7}
        stages |= {"finishing": 1 + rows / 1e3, "starting Python": 2.0}
        return Run(round(words), round(rows), sum(stages.values()), stages, words / 1e5, "float32")

    half, whole = run(5e5, 5e3 / 2**0.5), run(1e6, 5e3)
    expected = run(WIKIPEDIA, rows := 5e3 * (WIKIPEDIA / 1e6) ** 0.5)
    assert wikipedia_rows(half, whole) == pytest.approx(rows, rel=1e-2)
    found = wikipedia_seconds(half, whole)
    assert found.pop("preparing the text") == pytest.approx(WIKIPEDIA / 1e5 - 5)
    del expected.stages["preparing the text"]
    assert found == pytest.approx(expected.stages, rel=1e-2)
