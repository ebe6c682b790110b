"""Random choices of learners against shares worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from wordstill.methods.learning.objectives import NegativeSampler

HOST = torch.device("cpu")
DRAWS = 40_000


class Thinned:
    """Two words, seen 64 and 16 times; every fourth occurrence of the first and all of the second stay."""

    counts = np.array([64, 16], dtype=np.int64)

    def __len__(self) -> int:
        return 2

    def keep_probability(self, t: float) -> np.ndarray:
        return np.array([0.25, 1.0]) if t else np.ones(2)


def noise(power: float, source: str, subsample: float = 1e-5) -> NegativeSampler:
    return NegativeSampler(Thinned(), power, source, subsample, HOST)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("power", "source", "share"),
    [
        (1.0, "counts", 64 / 80),
        (0.5, "counts", 8 / 12),
        (0.0, "counts", 1 / 2),
        (1.0, "subsampled", 16 / 32),
        (2.0, "subsampled", 1 / 2),
    ],
)
def test_words_are_drawn_by_the_power_of_their_counts(power, source, share):
    drawn = noise(power, source).draw((DRAWS,), torch.Generator().manual_seed(0))
    assert float((drawn == 0).double().mean()) == pytest.approx(share, abs=0.01)


def test_frequent_targets_are_thinned_out():
    kept = noise(1.0, "counts").kept(np.tile([0, 1], DRAWS), np.random.default_rng(0))
    assert kept[0::2].mean() == pytest.approx(0.25, abs=0.01)
    assert kept[1::2].all()
    assert noise(1.0, "counts").expected_positives.tolist() == [16.0, 16.0]
    assert noise(1.0, "counts", 0.0).expected_positives.tolist() == [64.0, 16.0]


@pytest.mark.parametrize(
    ("power", "source", "expected"),
    [
        # Both words are a positive equally often, 1 in 2.
        (1.0, "subsampled", [0.5 / (10 * 0.5), 0.5 / (10 * 0.5)]),
        (1.0, "counts", [0.5 / (10 * 0.8), 0.5 / (10 * 0.2)]),
        (0.5, "counts", [0.5 / (10 * 8 / 12), 0.5 / (10 * 4 / 12)]),
    ],
)
def test_the_offset_is_the_score_of_a_word_of_which_nothing_is_known(power, source, expected):
    """The logarithm of positives for each of ten negatives: there the logistic loss has its least value."""
    offsets = noise(power, source).offsets(10)
    assert offsets.tolist() == pytest.approx([math.log(odds) for odds in expected], abs=1e-6)
