"""Which models are measured in fp8: a result has those of its own run only."""

import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments.speed import fp8

RANDOM, EMBEDDED = "BERT-base, random weights", "all-MiniLM-L6-v2"


@pytest.mark.parametrize("options, titles", [
    ((), [RANDOM, EMBEDDED]),
    (("--model", "all-MiniLM-L6-v2"), [EMBEDDED]),
    (("--model", "BERT-base"), [RANDOM]),
    (("--model", "all-MiniLM-L6-v2", "--model", "BERT-base"), [EMBEDDED, RANDOM]),
    (("--model", "BERT-base", "--model", "BERT-base"), [RANDOM]),
])  # fmt: skip
def test_only_the_models_that_were_named(options, titles, short_text, monkeypatch):
    cosines = {
        pair: {"least": 0.99, "mean": 1.0}
        for pair in ("bfloat16 to float32", "fp8 to float32", "fp8 to bfloat16")
    }
    model = {
        "precision": {"fp8": "fp8"},
        "compiled": True,
        "rates": {"bfloat16": [2.0], "fp8": [3.0]},
        "vectors": 5,
        "cosines": cosines,
    }
    made, saved = [], []
    monkeypatch.setattr(fp8, "measure", lambda make, text, options: made.append(make.args) or model)
    monkeypatch.setattr(fp8, "save", lambda name, result, commit: saved.append(list(result["models"])))
    monkeypatch.setattr(fp8.torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(sys, "argv", ["fp8", str(short_text), *options])
    fp8.main()
    assert saved == [titles[: number + 1] for number in range(len(titles))]
    assert [fp8.TITLES[name] for (name,) in made] == titles
