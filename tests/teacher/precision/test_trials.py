"""A trial takes what is fastest, remembers it, and falls back to float32 where it cannot."""

from __future__ import annotations

import pytest
import torch

import wordstill.teacher.precision.dtype as dtype
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.precision.dtype import SortedLinear, fastest
from wordstill.teacher.precision.trials import Choice, TrialMemory, run_trial

PROBE, DEPTH = torch.tensor([2, 7, 9, 3]), 3


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({"float32": 1.0}, "float32"),
        ({"float32": 1.0, "bfloat16": 0.5}, "bfloat16"),
        ({"float32": 1.0, "bfloat16": 0.97}, "float32"),
        ({"float32": 1.0, "bfloat16": 0.5, "tiles": 0.2}, "tiles"),
        ({"float32": 1.0, "bfloat16": 4.0}, "float32"),
    ],
)
def test_the_fastest_is_chosen_but_not_for_a_small_gain(seconds, chosen):
    choice = Choice.after(seconds)
    assert choice.name == chosen
    assert all(name in choice.reason for name in seconds if len(seconds) > 1)


def test_a_choice_is_remembered_for_a_model(tmp_path):
    memory = TrialMemory("one", tmp_path)
    choice = Choice("bfloat16", "chosen by a trial", {"float32": 2.0, "bfloat16": 1.0})
    assert memory.recall() is None
    assert memory.keep(choice) == choice == TrialMemory("one", tmp_path).recall()
    assert TrialMemory("other", tmp_path).recall() is None


@pytest.mark.parametrize("content", ["", "{}", '{"choice": {"name": "int3", "reason": ""}}', '{"choice": [1]}', "\0"])
def test_a_damaged_memory_is_as_good_as_none(content, tmp_path):
    memory = TrialMemory("one", tmp_path)
    memory.path.write_text(content)
    assert memory.recall() is None


def test_a_cache_that_cannot_be_written_means_float32(tmp_path):
    (tmp_path / "file").write_text("")
    memory = TrialMemory("one", tmp_path / "file")
    with pytest.warns(UserWarning, match=r"runs in float32, .* cannot be kept in .*file \(.+\)\. Set XDG_CACHE_HOME"):
        assert memory.keep(Choice("bfloat16", "")).name == "float32"


@pytest.mark.parametrize("kind", ["bert-uncased", "t5"])
def test_a_trial_leaves_its_models_as_they_were(kind, tiny_model):
    model = tiny_model(kind)
    with torch.inference_mode():
        before = model(input_ids=PROBE[None]).last_hidden_state
        choice = run_trial({"float32": model, "bfloat16": model}, DEPTH, "tiny", PROBE.numpy())
        after = model(input_ids=PROBE.repeat(2, 1)).last_hidden_state
    assert set(choice.milliseconds) == {"float32", "bfloat16"}
    torch.testing.assert_close(after[0], before[0])


@pytest.fixture
def seconds(monkeypatch):
    """What a trial of each candidate finds; models of any size are tried."""
    seconds = {"float32": 2.0, "bfloat16": 1.0, "tiles": 0.5}
    monkeypatch.setattr(dtype, "TRIED", range(1, 10**9))
    monkeypatch.setattr(dtype, "has_bfloat16", lambda: True)
    monkeypatch.setattr(
        dtype, "run_trial", lambda candidates, *_: Choice.after({name: seconds[name] for name in candidates})
    )
    return seconds


def test_auto_takes_what_a_trial_chose_and_never_tries_again(
    seconds, tiny_model, tiny_tokenizer, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(dtype, "_candidate", lambda name, model, *_: None if name == "tiles" else _in(name, model))

    def teacher(recorded=None):
        return Teacher(tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased"), TeacherConfig("x", "cpu"), recorded)

    assert teacher().precision == "bfloat16"
    seconds["float32"] = 0.1
    again = teacher()
    assert again.precision == "bfloat16"
    assert "float32 2000 ms, bfloat16 1000 ms" in again.choice.reason
    assert teacher("float32").precision == "float32"


def _in(name, model):
    return model.to(torch.bfloat16 if name == "bfloat16" else torch.float32)


def test_a_model_whose_states_would_change_stays_in_float32(seconds, tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr("wordstill.teacher.precision.closeness.agreement", lambda *_: 0.5)
    with pytest.warns(UserWarning, match=r"tiny stays in float32, .* mean cosine of only 0\.5"):
        model, choice = fastest(tiny_model("bert-uncased"), PROBE, DEPTH, "tiny", TrialMemory("one", tmp_path))
    assert (model.dtype, choice.name) == (torch.float32, "float32")
    assert any(isinstance(module, SortedLinear) for module in model.modules())
