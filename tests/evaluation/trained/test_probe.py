from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from wordstill.evaluation.trained.classification import mean_vectors, probe
from wordstill.evaluation.trained.config import ProbeConfig
from wordstill.evaluation.trained.word_table import Sentences

pytest.importorskip("sklearn")


def test_mean_vectors():
    matrix = np.array([[0, 0], [1, 2], [3, 4]], dtype=np.float32)
    sentences = Sentences.of([[], [1, 2], [2], [], [1, 1, 1, 2], []])
    expected = [[0, 0], [2, 3], [3, 4], [0, 0], [1.5, 2.5], [0, 0]]
    np.testing.assert_allclose(mean_vectors(matrix, sentences), expected)
    assert not mean_vectors(matrix, Sentences.of([[], []])).any()


def test_the_penalty_is_chosen_on_the_development_part():
    random = np.random.default_rng(0)
    features = random.normal(size=(400, 30)).astype(np.float32)
    labels = (features[:, 0] + 0.5 * random.normal(size=400) > 0).astype(np.int64)
    parts = [(features[place], labels[place]) for place in (slice(100), slice(100, 250), slice(250, 400))]
    config = ProbeConfig(strengths=(1e-9, 0.05, 1e6))
    predicted, settings = probe(parts[0], parts[1], parts[2][0], config)
    assert settings == {"strength": 0.05, "converged": True}
    assert (predicted == parts[2][1]).mean() > 0.75
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hurried = probe(parts[0], parts[1], parts[2][0], replace(config, iterations=1))[1]
    assert not hurried["converged"]
