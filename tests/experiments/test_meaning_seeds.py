"""Distillers of several seeds: from triples to gains with intervals, with tiny models."""

import json
import sys

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from experiments.meaning import seeds
from experiments.meaning.development import Judged
from tests.experiments.test_meaning import run, world  # noqa: F401
from wordstill.evaluation import Evaluation, Protocol, Score
from wordstill.evaluation.data.catalog import YEARS
from wordstill.evaluation.score import Coverage, ItemScores
from wordstill.evaluation.statistics import Interval
from wordstill.meaning import MeaningEncoder

GOLD = np.random.default_rng(0).normal(size=100)


def predicted(name):
    """Meanings of the chosen variant are better than all else."""
    noise = np.random.default_rng(len(name)).normal(size=100)
    return GOLD + (0.5 if name.startswith("meaning (narrow, seed") else 2.0) * noise


def evaluate(encoder, tasks, *, limit):
    rules, interval = Protocol("default"), Interval(0.0, 0.0)

    def score(name, task):
        items = ItemScores("spearman", predicted(name), GOLD)
        shown = 100 * items.value()
        return Score("toy", task, "spearman", shown, interval, Coverage(100, 100), 100, rules, "test", "0", items=items)

    return Evaluation({name: {task: score(name, task) for task in tasks} for name in encoder.names}, rules, 0)


@pytest.mark.filterwarnings("ignore:The distillers found a degenerate solution")
def test_from_triples_to_gains(world, tmp_path, monkeypatch):  # noqa: F811
    common = ("--masked", world / "masked", "--vectors", world / "vectors", "--work", tmp_path / "work")
    build = ("--device", "cpu", "--dtype", "float32", "--similarity", 0.3, "--probability", 0, "--commit", "abc")
    run(monkeypatch, world / "store", *common, *build, "--out", tmp_path / "x.json", "--stop-after-triples")

    monkeypatch.setattr(seeds, "development", lambda reader, representations, sentences: {
        "wic": Judged(GOLD, {name: predicted(name) for name in representations})
    })  # fmt: skip
    monkeypatch.setattr(seeds, "evaluate_in_context", evaluate)
    monkeypatch.setattr(seeds.LiuTransform, "fit_texts", lambda reader, texts, vectors: lambda states: states.mean(1))
    out, work = tmp_path / "seeds.json", tmp_path / "seeds"
    arguments = [
        *("seeds.py", tmp_path / "work" / "triples.jsonl", "--teacher", world / "masked", "--work", work, "--out", out),
        *("--vectors", world / "vectors", "--store", world / "store", "--seeds", 2, "--device", "cpu"),
        *("--dtype", "float32", "--variant", "narrow:scaling=whitened,layers=1-2,max_epochs=1", "--seconds", 1),
        *("--task", "usim", "--commit", "abc", *(part for year in YEARS for part in ("--task", year))),
    ]
    monkeypatch.setattr(sys, "argv", list(map(str, arguments)))
    seeds.main()
    found = json.loads(out.read_text())
    assert found["chosen"] == {"kind": "meaning", "variant": "narrow"}
    assert found["teacher"] == found["triples"]["masked_model"]["name"] == "masked"
    assert len(found["trainings"]) == 8
    assert found["trainings"]["narrow, without negatives, seed 1"]["settings"]["negatives"] is False
    scores = found["scores"]
    assert {"raw", "raw-whitened", seeds.LIU, seeds.STATIC, "context (paper, without negatives)"} <= scores.keys()
    assert not any("seed" in name for name in scores)
    best = scores["meaning (narrow)"]
    assert best["usim"]["gain"] == pytest.approx(best["usim"]["score"] - scores["raw"]["usim"]["score"], abs=0.02)
    assert len(best["usim"]["seeds"]) == 2
    low, high = best["sts-mean"]["gain interval"]
    assert 0 < low < best["sts-mean"]["gain"] < high
    low, high = scores["context (paper)"]["usim"]["gain interval"]
    assert low < 0 < high
    encoder = MeaningEncoder.load(work / "encoders" / "narrow-1", teacher=world / "masked", device="cpu")
    assert encoder.layers == "1,2"

    before = {path: path.stat().st_mtime_ns for path in work.glob("narrow-*")}
    seeds.main()
    assert {path: path.stat().st_mtime_ns for path in work.glob("narrow-*")} == before
    assert json.loads(out.read_text())["scores"] == scores


def test_a_cosine_of_vectors_end_to_end_is_the_mean_of_both():
    states = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0))
    parts = (lambda some: 5 * some[:, 0], lambda some: some[:, 2])
    found = seeds.together(*parts)(states)
    cosines = [torch.nn.functional.cosine_similarity(*part(states), dim=0) for part in parts]
    assert torch.nn.functional.cosine_similarity(*found, dim=0) == pytest.approx(float(sum(cosines)) / 2, abs=1e-6)
