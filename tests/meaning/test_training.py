from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.meaning.distiller import DistillerConfig
from wordstill.meaning.distiller_training import TrainConfig, train

SHAPE = DistillerConfig(heads=4, feedforward=2, dropout=0.1, scaling="none")
QUICK = TrainConfig(batch=32, learning_rate=2e-3, warm_up=10, max_epochs=4, distiller=SHAPE)


class InMemory:
    def __init__(self, states):
        self.states = states
        self.shape = tuple(states.shape[2:])
        self.nbytes = states.nbytes
        self.stop_after = None

    def __len__(self):
        return len(self.states)

    def rows(self, numbers):
        if self.stop_after is not None:
            self.stop_after -= 1
            if self.stop_after == 0:
                signal.raise_signal(signal.SIGINT)
        return self.states[numbers]


@pytest.fixture(scope="module")
def triples(toy_states):
    return InMemory(toy_states(400))


@pytest.fixture(scope="module")
def whole(triples):
    """A training that nothing disturbs."""
    return train(triples, QUICK)


def weights(trained):
    return torch.cat([weight.flatten() for weight in trained.distillers.state_dict().values()])


LONGER = replace(QUICK, max_epochs=12, learning_rate=3e-3, checks_per_epoch=1, patience=100)


def test_negatives_keep_the_meaning_out_of_the_context(toy_states):
    states = InMemory(toy_states(500))
    trained = train(states, LONGER)
    found = trained.diagnosis
    assert trained.best < 0.5 * trained.history[0][1]
    assert found.meaning_positive > found.meaning_negative + 0.3
    assert found.context_negative > found.context_positive + 0.3
    assert not found.degenerate
    ablation = train(states, replace(LONGER, negatives=False)).diagnosis
    assert ablation.context_negative < found.context_negative - 0.1


def test_without_negatives_both_distillers_learn_the_same(toy_states):
    """Positives as near to their originals as round-trip translations are: the loss is then symmetric."""
    states = toy_states(500)
    noise = torch.randn(states[:, 0].shape, generator=torch.Generator().manual_seed(0))
    states[:, 1] = states[:, 0] + 0.05 * noise
    ablation = train(InMemory(states), replace(LONGER, negatives=False)).diagnosis
    assert ablation.meaning_negative == pytest.approx(ablation.context_negative, abs=0.1)
    assert ablation.degenerate
    assert not train(InMemory(states), LONGER).diagnosis.degenerate


def test_the_same_seed_gives_the_same_bits(triples, whole):
    again = train(triples, QUICK)
    assert torch.equal(weights(whole), weights(again))
    assert whole.history == again.history
    assert not torch.equal(weights(whole), weights(train(triples, replace(QUICK, seed=1))))


def test_the_callers_random_numbers_are_left_alone(triples):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(triples, replace(QUICK, max_epochs=1))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("after", [3, 17, 40])
def test_a_stopped_training_goes_on_with_the_same_bits(triples, whole, tmp_path, after):
    stopped = InMemory(triples.states)
    stopped.stop_after = after
    file = tmp_path / "training.safetensors"
    with pytest.raises(Interrupted, match=r"Stopped while training: \d+ of 48 steps done and saved"):
        train(stopped, QUICK, checkpoint=file)
    assert file.exists()
    resumed = train(triples, QUICK, checkpoint=file)
    assert resumed.history == whole.history
    assert torch.equal(weights(resumed), weights(whole))


def test_a_training_resumed_at_its_last_step_takes_no_other(triples, tmp_path):
    """D13"""
    config, file = replace(QUICK, max_epochs=50, patience=3, min_delta=10.0), tmp_path / "training.safetensors"
    once = train(triples, config, checkpoint=file, every=0.0)
    again = train(triples, config, checkpoint=file)
    assert again.history == once.history
    assert torch.equal(weights(again), weights(once))


def test_a_checkpoint_of_other_settings_is_refused(triples, tmp_path):
    file = tmp_path / "training.safetensors"
    train(triples, replace(QUICK, max_epochs=1), checkpoint=file, every=0.0)
    with pytest.raises(DataError, match=r"other settings: config\.batch was 32, now 16"):
        train(triples, replace(QUICK, max_epochs=1, batch=16), checkpoint=file)


def test_a_damaged_checkpoint_is_refused(triples, tmp_path):
    file = tmp_path / "training.safetensors"
    file.write_bytes(b"nothing")
    with pytest.raises(DataError, match="is damaged"):
        train(triples, QUICK, checkpoint=file)


def test_training_stops_when_the_loss_no_longer_falls_and_keeps_the_best(triples):
    config = replace(QUICK, max_epochs=50, patience=3, min_delta=10.0)
    trained = train(triples, config)
    assert len(trained.history) == 1 + 3
    assert trained.best == trained.history[0][1]


def test_the_learning_rate_warms_up(triples, monkeypatch):
    rates = []
    step = torch.optim.AdamW.step

    def recorded(self, *arguments, **more):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments, **more)

    monkeypatch.setattr(torch.optim.AdamW, "step", recorded)
    train(triples, replace(QUICK, max_epochs=2, warm_up=4, learning_rate=1.0e-3))
    assert np.allclose(rates[:6], [2.5e-4, 5e-4, 7.5e-4, 1e-3, 1e-3, 1e-3])


def test_too_few_triples(toy_states):
    with pytest.raises(UsageError, match="at least 20 triples, got 10"):
        train(InMemory(toy_states(10)), QUICK)


def test_a_loss_that_is_not_finite_is_no_result(toy_states):
    broken = toy_states(100)
    broken[3] = float("nan")
    with pytest.raises(DataError, match="validation loss is nan"):
        train(InMemory(broken), QUICK)


def test_every_triple_is_seen_once_in_an_epoch_and_none_of_the_validation(triples):
    seen = []

    class Recorded(InMemory):
        def rows(self, numbers):
            if isinstance(numbers, np.ndarray):
                seen.append(numbers)
            return super().rows(numbers)

    recorded = Recorded(triples.states)
    train(recorded, replace(QUICK, max_epochs=1, checks_per_epoch=1))
    trained_on = np.concatenate(seen[:12])
    assert len(trained_on) == len(set(trained_on.tolist())) == 360
    assert not set(trained_on.tolist()) & set(seen[12].tolist())


def test_no_longer_than_asked_for(triples):
    trained = train(triples, QUICK, seconds=0.0)
    assert [step for step, _ in trained.history] == [1]
    assert np.isfinite(trained.best)


@pytest.mark.parametrize("scaling", ["scaled", "standardised"])
def test_layers_of_any_size_count_alike(toy_states, scaling):
    states = toy_states(400)
    states[:, :, 1] = 0.01 * states[:, :, 1] + 0.5
    trained = train(InMemory(states), replace(QUICK, distiller=replace(SHAPE, scaling=scaling)))
    found = trained.distillers.scaled(states[:, 0])
    sizes = found.square().mean(dim=(0, 2)).sqrt()
    torch.testing.assert_close(sizes, torch.ones(2), rtol=0.1, atol=0.0)
    means = found.mean(dim=0).norm(dim=1)
    assert (means < 1.0).all() == (scaling == "standardised")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU, which is what records steps")
def test_a_gpu_takes_the_same_steps(triples):
    plain = replace(QUICK, distiller=replace(SHAPE, dropout=0.0))
    here, there = (train(triples, plain, device=device) for device in ("cpu", "cuda"))
    assert [value for _, value in there.history] == pytest.approx([value for _, value in here.history], rel=0.01)
