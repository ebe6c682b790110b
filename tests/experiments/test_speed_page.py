"""The page about performance: sections for the results that are there, and commands that are written down."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments.pages import speed
from experiments.speed import workers
from experiments.speed.whole import NOTE, STAGE, WIKIPEDIA, Run, wikipedia_rows, wikipedia_seconds
from wordstill.cli.printing import show_profile
from wordstill.core.progress import Profiler

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
    assert "## Effect of the precision\n\nThe effect of the teacher's precision" in page
    assert "| bfloat16 | 2 | 0.99990 | 0.99999 | 0.100 |" in page
    assert "Made by `python -m experiments.speed.precision x` at commit abc" in page


def test_every_benchmark_is_in_the_table_of_commands():
    text = README.read_text(encoding="utf-8")
    for module in speed.BENCHMARKS:
        assert f"| `python -m experiments.speed.{module.BENCHMARK}" in text


def seconds_of_stages(words: float, rows: float) -> dict[str, float]:
    """Every stage is a fixed part, one that grows with the words, and one that grows with the rows."""
    return {
        "loading the teacher": 5.0,
        "preparing the text": 0.5,
        "vocabulary and subwords": 0.2 + rows / 1e4,
        "teacher": 2 + words / 1e4 + rows / 1e3,
        "finishing": 1 + min(words, 1.28e8) / 1e5 + rows / 1e3,
        "all else": 0.7,
        "starting Python": 2.0,
    }


def three_runs(noise: float = 0.0) -> list[Run]:
    """Rows grow as the square root of the words; the last run has more of them."""
    part = round(5e3 / 2)
    sizes = ((1_000_000, 5_000, 1 + noise), (250_000, part, 1 - noise), (250_000, 4 * part, 1 + noise))
    runs = []
    for words, rows, factor in sizes:
        stages = {name: spent * factor for name, spent in seconds_of_stages(words, rows).items()}
        runs.append(Run(words, rows, sum(stages.values()), stages, "float32", {}))
    return runs


def test_seconds_of_a_larger_text_follow_from_three_runs():
    runs, rows = three_runs(), 5e3 * (WIKIPEDIA / 1e6) ** 0.5
    assert wikipedia_rows(runs[1], runs[0]) == pytest.approx(rows)
    found = wikipedia_seconds(runs, (3.0, 7.0))
    expected = seconds_of_stages(WIKIPEDIA, rows)
    # Two seconds for a million words after one, of which loading hides five.
    expected["preparing the text"] = 1.0 + 2 * WIKIPEDIA / 1e6 - 5
    assert found == pytest.approx(expected, rel=1e-6)


def test_noise_does_not_make_a_fixed_part_grow_with_the_text():
    found = wikipedia_seconds(three_runs(noise=0.05), (3.0, 7.0))
    true = seconds_of_stages(WIKIPEDIA, 5e3 * (WIKIPEDIA / 1e6) ** 0.5)
    assert found["teacher"] == pytest.approx(true["teacher"], rel=0.2)
    assert found["finishing"] < 1.5 * true["finishing"]
    # All of it would be a quarter of an hour.
    assert found["all else"] < 120


def test_stages_are_found_in_what_the_command_prints(capsys):
    profiler = Profiler()
    profiler.seconds |= {"loading the teacher": 1.25, "teacher": 62.5, "still.v5": 0.5}
    profiler.notes |= {"precision": "float32, nothing faster works here", "loading": "first batches 0.5 s"}
    show_profile(profiler, 70.0)
    printed = capsys.readouterr().out
    found = {name.strip(): float(spent) for name, spent in STAGE.findall(printed)}
    assert found == {"loading the teacher": 1.25, "teacher": 62.5, "still.v5": 0.5, "all else": 5.75}
    assert dict(NOTE.findall(printed)) == profiler.notes


def test_the_memory_of_a_driver_is_compared_between_numbers_of_workers():
    result = {"words_per_second": {"1": 100.0, "2": 190.0}, "driver_gb": {"1": 1.0, "2": 1.06}, "efficiency": 0.95}
    assert workers.rows(result)[1:] == [("1", "100", "1.000 GB"), ("2", "190", "1.060 GB")]
    speed, memory = workers.remarks(result)
    assert "95.0% of twice the words of one, target 90%: met." in speed
    assert "1.060 times that with one, target at most 1.05: NOT met." in memory
