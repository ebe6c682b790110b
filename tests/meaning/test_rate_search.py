from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.meaning.distiller import DistillerConfig, Distillers, divergence
from wordstill.meaning.distiller_training import SMOOTHING, TrainConfig, find_rate, train

QUICK = TrainConfig(
    batch=32,
    learning_rate=2e-3,
    warm_up=10,
    max_epochs=3,
    distiller=DistillerConfig(heads=4, scaling="none", dropout=0.0),
)


class InMemory:
    def __init__(self, states):
        self.states, self.shape, self.nbytes = states, tuple(states.shape[2:]), states.nbytes

    def __len__(self):
        return len(self.states)

    def rows(self, numbers):
        return self.states[numbers]


@pytest.fixture(scope="module")
def triples(toy_states):
    return InMemory(toy_states(300))


def test_a_good_rate_is_found(triples):
    found = find_rate(triples, QUICK, steps=120, high=10.0)
    assert list(found.rates) == sorted(found.rates) and len(found.rates) == len(found.losses)
    # At the beginning nothing moves, and at the end it diverges.
    assert min(found.losses) < 0.7 * found.losses[0]
    assert 1e-5 < found.best < 1
    chosen, tiny = (
        train(triples, replace(QUICK, learning_rate=rate, warm_up=0)).best
        for rate in (found.best / 10, found.best / 1e4)
    )
    assert chosen < tiny


def test_losses_are_smoothed_with_their_bias_corrected(triples):
    """At a rate of next to nothing all losses are about the same, also the first."""
    found = find_rate(triples, QUICK, low=1e-12, high=1.1e-12, steps=20)
    assert np.ptp(found.losses) < 0.3 * found.losses[0]
    assert 0 < SMOOTHING < 1


def test_what_cannot_be_tested(triples):
    with pytest.raises(UsageError, match="0 < low < high"):
        find_rate(triples, low=1.0, high=0.1)
    with pytest.raises(UsageError, match="at least 20 triples, got 3"):
        find_rate(InMemory(triples.states[:3]))


class TestVariational:
    def test_the_divergence_is_that_of_torch(self):
        mean, log_variance = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        normal = torch.distributions.Normal(mean, (log_variance / 2).exp())
        expected = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).mean()
        assert divergence(mean, log_variance).item() == pytest.approx(expected.item())

    def test_vectors_are_drawn_in_training_only(self):
        torch.manual_seed(0)
        made = Distillers(2, 16, DistillerConfig(heads=4, dropout=0.0, variational=0.1))
        states = torch.randn(6, 2, 16)
        made.train()
        assert not torch.equal(made.meaning(states), made.meaning(states))
        made.eval()
        assert torch.equal(made.meaning(states), made.meaning(states))
        draws = torch.stack([made.train().meaning(states) for _ in range(800)])
        mean = made.eval().meaning(states)
        spread = (made.meaning.log_variance(mean) / 2).exp()
        torch.testing.assert_close(draws.mean(dim=0), mean, atol=0.25, rtol=0)
        torch.testing.assert_close(draws.std(dim=0), spread, atol=0.25, rtol=0)

    def test_it_learns_and_the_divergence_counts(self, triples):
        weak, strong = (
            train(triples, replace(QUICK, distiller=replace(QUICK.distiller, variational=weight)))
            for weight in (1e-3, 10.0)
        )
        assert weak.history[-1][1] < weak.history[0][1]
        sizes = []
        for trained in (weak, strong):
            trained.distillers.meaning(triples.states[:, 0].float())
            sizes.append(float(trained.distillers.meaning.divergence))
        assert sizes[1] < sizes[0]
