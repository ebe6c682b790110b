"""A trial takes what is fastest, remembers it, and falls back to float32 where it cannot."""

from __future__ import annotations

import pytest
import torch

from wordstill.teacher import Teacher, TeacherConfig, precision
from wordstill.teacher.precision import Choice, SortedLinear, TrialMemory, fastest, run_trial

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


def test_a_user_without_a_home_gets_float32(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    # As for a number that no account has, in a container.
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    memory = TrialMemory("one")
    assert memory.recall() is None
    with pytest.warns(UserWarning, match=r"runs in float32, .* \(Not a directory\)\. Set XDG_CACHE_HOME"):
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
    """What a trial of each candidate finds."""
    seconds = {"float32": 2.0, "bfloat16": 1.0, "tiles": 0.5}
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)
    monkeypatch.setattr(
        precision, "run_trial", lambda candidates, *_: Choice.after({name: seconds[name] for name in candidates})
    )
    return seconds


def test_what_a_trial_chose_is_taken_and_never_tried_again(seconds, tiny_model, tmp_path):
    def found(recorded=None):
        memory = TrialMemory("one", tmp_path)
        return fastest(tiny_model("bert-uncased"), PROBE, DEPTH, "tiny", memory, recorded, make=without_tiles)

    def without_tiles(name, model, *_):
        return None if name == "tiles" else model.to(getattr(torch, name))

    assert found()[0].dtype is torch.bfloat16
    seconds["float32"] = 0.1
    again, choice = found()
    assert again.dtype is torch.bfloat16
    assert "float32 2000 ms, bfloat16 1000 ms" in choice.reason
    assert found("float32")[0].dtype is torch.float32


def test_a_teacher_large_enough_is_tried(seconds, tiny_model, tiny_tokenizer, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(precision, "candidate", lambda name, model, *_: model if name == "float32" else None)

    def teacher(subwords):
        model = tiny_model("bert-uncased")
        model.resize_token_embeddings(subwords)
        return Teacher(model, tiny_tokenizer("bert-uncased"), TeacherConfig("x", "cpu"))

    assert teacher(32_000).choice.reason == "nothing faster works here"
    assert teacher(2_000).choice.reason == "usual on a cpu"


def test_a_model_whose_states_would_change_stays_in_float32(seconds, tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr(precision, "agreement", lambda *_: 0.5)
    with pytest.warns(UserWarning, match=r"tiny stays in float32, .* mean cosine of only 0\.5"):
        model, choice = fastest(tiny_model("bert-uncased"), PROBE, DEPTH, "tiny", TrialMemory("one", tmp_path))
    assert (model.dtype, choice.name) == (torch.float32, "float32")
    assert any(isinstance(module, SortedLinear) for module in model.modules())
