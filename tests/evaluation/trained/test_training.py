from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from wordstill.core.progress import count_bar  # noqa: E402
from wordstill.errors import TrainingError  # noqa: E402
from wordstill.evaluation.trained.config import CnnConfig  # noqa: E402
from wordstill.evaluation.trained.fitting import Choice, Classifier, fit, search_and_retrain, seeded  # noqa: E402


class Rows(int):
    """So many sentences."""

    __len__ = int

    def __add__(self, other):
        return Rows(int(self) + int(other))


class Counting(Classifier):
    """Learns nothing; its weight counts the epochs, and its worth is told by a table."""

    device = torch.device("cpu")
    clip = 1.0
    config = CnnConfig(epochs=(2, 3, 4), learning_rates=(0.1, 0.3), seeds=3)

    def __init__(self, worth=None, loss: float = 1.0) -> None:
        self.worth, self.loss, self.fits = worth or {}, loss, []

    def scores(self, model, part, places):
        raise AssertionError("its worth is told by a table")

    def new_model(self):
        self.fits.append(torch.rand(1).item())
        return nn.Linear(1, 1, bias=False)

    def optimizer(self, model, learning_rate):
        self.learning_rate, self.epochs = learning_rate, 0
        return torch.optim.SGD(model.parameters(), lr=learning_rate)

    def losses(self, model, part, random):
        self.epochs += 1
        self.drawn = random.integers(0, 1000)
        yield model.weight.sum() * 0 + self.loss, part

    def accuracy(self, model, part):
        return self.worth.get((self.learning_rate, self.epochs), 0.0)

    def predict(self, model, part):
        return np.array([self.epochs, part])


def test_the_best_settings_are_retrained_on_both_parts_with_every_seed():
    trainer = Counting({(0.3, 2): 0.7, (0.1, 4): 0.9, (0.1, 3): 0.9, (0.1, 1): 1.0})
    predicted, choice = search_and_retrain(trainer, tuple(map(Rows, (60, 20, 5))), 7, "try")
    assert choice == Choice(0.1, 3, 0.9)
    assert [row.tolist() for row in predicted] == [[3, 5]] * 3
    assert len(trainer.fits) == 2 + 3
    # Both searches and the first retraining begin with the first seed, the others with the next.
    assert trainer.fits[0] == trainer.fits[1] == trainer.fits[2]
    assert len(set(trainer.fits)) == 3


def test_the_bar_counts_every_sentence():
    seen = []

    class Bar:
        total = 0.0

        def update(self, n):
            seen.append(n)

    fit(Counting(), 10, Choice(0.1, 4, 0.0), 0, Bar())
    assert seen == [10] * 4


def test_training_can_be_stopped():
    trainer = Counting()
    with count_bar("try", 10, "sentences", show=False) as bar:
        fit(trainer, 10, Choice(0.1, 9, 0.0), 0, bar, lambda epoch, model: epoch < 3)
    assert trainer.epochs == 3


def test_a_loss_that_is_not_finite_is_refused():
    with (
        count_bar("try", 10, "sentences", show=False) as bar,
        pytest.raises(TrainingError, match=r"not finite at the learning rate 0\.1"),
    ):
        fit(Counting(loss=float("nan")), 10, Choice(0.1, 1, 0.0), 0, bar)


def test_what_is_drawn_outside_stays_as_it_was():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with seeded(1, torch.device("cpu")):
        first = torch.rand(2)
    assert torch.equal(torch.rand(2), expected)
    with seeded(1, torch.device("cpu")):
        assert torch.equal(torch.rand(2), first)
