import copy
import json

import pytest

from experiments.pages import meaning_seeds as page

TRAINING = {
    "steps": 1200,
    "seconds": 31.4,
    "ended": "by early stopping",
    "layers": "4-9",
    "validation_loss": 0.51,
    "diagnosis": {"told_apart": 0.87},
}
CONTENT = {
    "teacher": "models/tiny",
    "hardware": "a GPU",
    "commit": "abc",
    "command": "python -m experiments.meaning.seeds triples.jsonl",
    "chosen": {"kind": "meaning", "variant": "narrow"},
    "triples": {"triples": 1000, "positives": {"round-trip": 900, "substituted": 100}},
    "trainings": {"narrow, seed 0": TRAINING},
    "development": {
        "correlations": {"wic": {"raw": 0.25, "meaning (narrow, seed 0)": 0.275}},
        "gains": {"meaning (narrow, seed 0)": {"wic": 2.5}},
        "shares": {"meaning (narrow, seed 0)": 0.75},
    },
    "scores": {
        "raw": {"usim": {"score": 30.0, "seeds": [30.0], "interval": [28.0, 32.0]}},
        "meaning (narrow)": {
            "usim": {"score": 32.0, "seeds": [31, 33], "interval": [30, 34], "gain": 2.0, "gain interval": [0.5, 3.5]},
            "scws": {"score": 60.0, "seeds": [60, 60], "interval": [58, 62], "gain": 1.0, "gain interval": [-1, 3]},
        },
    },
}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    folder = tmp_path / page.FOLDER
    folder.mkdir()
    (folder / "tiny.json").write_text(json.dumps(copy.deepcopy(CONTENT)))
    return folder


def test_a_section(results):
    text = page.page()
    assert "### tiny, 1,000 triples, 2 seeds" in text
    assert "chosen on development data: meaning (narrow). Positives: 900 round-trip, 100 substituted." in text
    assert "| meaning (narrow) | 32.0 | – |" in text
    assert "| meaning (narrow) | **+2.0 (+0.5 to +3.5)** | – | – | – | +1.0 (-1.0 to +3.0) | – |" in text
    assert "| meaning (narrow) | 27.5 (+2.5 σ) | 75% |" in text
    assert "| narrow, seed 0 | 4-9 | 1,200 | 31 | by early stopping | 0.5100 | 87.0 % |" in text


def test_the_triples_come_first(results):
    header = {"mode": "round-trip", "triples": 900, "targets": 1000, "dropped": {"no paraphrase": 100}}
    origin = {"hardware": "a GPU", "commit": "abc1234", "command": "python -m experiments.meaning.measure store"}
    (results / "triples.json").write_text(json.dumps({**header, **origin, "triples per second": 450.0}))
    first, command, triples = page.page().split("\n\n")[:3]
    assert (first, command.strip()) == ("On a GPU, commit abc1234:", origin["command"])
    assert triples.startswith("- Triples (round-trip): 900 of 1,000 targets, 450 per second")
