from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import pytest
import torch

from wordstill.teacher import Teacher, TeacherConfig, precision
from wordstill.teacher.layers import agreement

# Products in bfloat16 can kill a process (see `device`), so they are made in one of their own.
COMPARISON = """
import json, sys
import numpy as np
import torch
from wordstill.teacher import BatchConfig, Teacher, WordListBatches, device

results = {}
for folder in sys.argv[1:]:
    half = Teacher.from_pretrained(folder, device="cpu", dtype="bfloat16")
    full = Teacher.from_pretrained(folder, device="cpu", dtype="float32")
    device.amx_announced = device.survives_bfloat16 = lambda: True
    device.amx_forbidden = lambda: False
    device.cpu_multiplies_bfloat16.cache_clear()
    auto = Teacher.from_pretrained(folder, device="cpu")
    words = ["still", "river", "the old house by the river", "1923", "newspapers"]
    batches = WordListBatches(words, np.arange(5), full.tokenizer, BatchConfig(512, full.limit))
    [(_, batch)] = batches.since((0, 0))
    one, two, three = (t.encode(batch, (0, 1, 2, 3)) for t in (full, half, auto))
    cosines = [
        float(torch.nn.functional.cosine_similarity(one.words(layer), two.words(layer)).min())
        for layer in range(4)
    ]
    results[folder] = {
        "dtypes": [str(t.dtype) for t in (full, half, auto)],
        "hidden": str(two.hidden[3].dtype), "words": str(two.words(3).dtype), "cosine": min(cosines),
        "auto": bool(torch.equal(three.words(3), two.words(3))), "same": full.fingerprint == half.fingerprint,
    }
print(json.dumps(results))
"""


def test_bfloat16_stays_close_to_float32(tiny_model, tiny_tokenizer, tmp_path):
    folders = [str(tmp_path / kind) for kind in ("bert-uncased", "llama3")]
    for kind, folder in zip(("bert-uncased", "llama3"), folders):
        tiny_model(kind).save_pretrained(folder)
        tiny_tokenizer(kind).save_pretrained(folder)
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, "-c", COMPARISON, *folders],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "would kill this process" in run.stderr:
        pytest.skip("products in bfloat16 kill this processor")
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout.splitlines()[-1])
    for folder in folders:
        result = results[folder]
        assert result["dtypes"] == ["torch.float32", "torch.bfloat16", "torch.bfloat16"]
        assert (result["hidden"], result["words"]) == ("torch.bfloat16", "torch.float32")
        assert 0.999 < result["cosine"] < 1
        assert result["auto"]
        assert result["same"]


@pytest.fixture
def bfloat16_by_default(monkeypatch):
    monkeypatch.setattr(precision, "choose_precision", lambda wanted, device: torch.bfloat16)


@pytest.mark.parametrize("cosine", [0.5, 0.9899, float("nan")])
def test_a_model_that_bfloat16_changes_stays_in_float32(
    cosine, bfloat16_by_default, tiny_model, tiny_tokenizer, monkeypatch
):
    monkeypatch.setattr(precision, "agreement", lambda *arguments: cosine)
    model = tiny_model("bert-uncased")
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with pytest.warns(
        UserWarning, match=r"delicate stays in float32, .* mean cosine of only (0\.\d+|nan) .* Set dtype bfloat16"
    ) as caught:
        careful = Teacher(model, tiny_tokenizer("bert-uncased"), TeacherConfig("delicate", "cpu"))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert careful.dtype == torch.float32
    assert all(torch.equal(weight, before[name]) for name, weight in careful.model.state_dict().items())


def test_a_model_that_bears_bfloat16_gets_it(bfloat16_by_default, tiny_model, tiny_tokenizer, monkeypatch):
    seen = []
    monkeypatch.setattr(precision, "agreement", lambda *arguments: seen.append(arguments) or 0.995)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = Teacher(tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased"), TeacherConfig("x", "cpu"))
    assert quick.dtype == torch.bfloat16
    [(full, changed, subwords, depth)] = seen
    assert (full.dtype, changed.dtype, depth) == (torch.float32, torch.bfloat16, 3)
    assert subwords[0] == quick.tokenizer.prefix[0]
    assert subwords[-1] == quick.tokenizer.suffix[0]


def test_a_precision_that_was_asked_for_is_not_questioned(bfloat16_by_default, tiny_model, tiny_tokenizer, monkeypatch):
    monkeypatch.setattr(precision, "agreement", lambda *arguments: pytest.fail("it was asked for"))
    config = TeacherConfig("x", "cpu", "bfloat16")
    assert Teacher(tiny_model("gpt2"), tiny_tokenizer("gpt2"), config).dtype == torch.bfloat16


def test_a_short_limit_is_kept(bfloat16_by_default, tiny_model, tiny_tokenizer, monkeypatch):
    seen = []
    monkeypatch.setattr(precision, "agreement", lambda *arguments: seen.append(arguments) or 1.0)
    config = TeacherConfig("x", "cpu", max_length=8)
    Teacher(tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased"), config)
    assert len(seen[0][2]) == 8


def test_agreement_is_the_mean_cosine_of_the_last_states(tiny_model):
    subwords = torch.tensor([2, 7, 9, 3])
    model, changed = tiny_model("bert-uncased"), tiny_model("bert-uncased")
    assert agreement(model, model, subwords, 3) == pytest.approx(1)
    changed.encoder.layer[2].output.LayerNorm.bias.data += torch.linspace(-3, 1, 32)
    with torch.no_grad():
        one, other = (m(input_ids=subwords[None]).last_hidden_state[0] for m in (model, changed))
    expected = sum(float(a @ b / a.norm() / b.norm()) for a, b in zip(one, other)) / 4
    assert agreement(model, changed, subwords, 3) == pytest.approx(expected, abs=1e-6)
    assert expected < 0.99
