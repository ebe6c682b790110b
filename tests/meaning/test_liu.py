from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.errors import DataError
from wordstill.meaning.liu import OCCURRENCES, LiuTransform
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors


def slow_fit(contextual, static):
    """Procrustes by scipy, then the normal equations."""
    from scipy.linalg import orthogonal_procrustes

    here = contextual / np.linalg.norm(contextual, axis=1, keepdims=True)
    there = static / np.linalg.norm(static, axis=1, keepdims=True)
    turn, _ = orthogonal_procrustes(there, here)
    middle = (here + there @ turn) / 2
    return np.linalg.inv(here.T @ here) @ here.T @ middle


def test_the_map_is_that_of_scipy():
    generator = np.random.default_rng(0)
    contextual, static = generator.normal(size=(2, 50, 8))
    fitted = LiuTransform.fit(torch.from_numpy(contextual), torch.from_numpy(static))
    np.testing.assert_allclose(fitted.matrix, slow_fit(contextual, static), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [5, 8, 12])
def test_static_vectors_that_are_turned_contextual_ones_change_nothing(width):
    generator = np.random.default_rng(0)
    contextual = generator.normal(size=(50, 8))
    contextual[:, width:] = 0
    turn, _ = np.linalg.qr(generator.normal(size=(max(width, 8), max(width, 8))))
    static = (np.pad(contextual, ((0, 0), (0, max(0, width - 8)))) @ turn)[:, : max(width, 8)]
    fitted = LiuTransform.fit(torch.from_numpy(contextual), torch.from_numpy(static))
    states = torch.from_numpy(contextual).float()[:, None]
    unit = torch.nn.functional.normalize(states[:, 0], dim=1)
    torch.testing.assert_close(fitted(states), unit, rtol=1e-3, atol=1e-3)


def test_only_the_first_occurrences_count(tiny_teacher, monkeypatch):
    reader, read = StateReader(tiny_teacher("bert-uncased")), []
    real = StateReader.read
    monkeypatch.setattr(StateReader, "read", lambda self, *asked: read.append(asked) or real(self, *asked))
    table = WordVectors(["river", "bank"], np.eye(2, dtype=np.float32))
    with pytest.raises(DataError, match="Only 2 words have both"):
        LiuTransform.fit_texts(reader, ["River bank river"] * 80, table)
    ((_, places),) = read
    assert len(places) == OCCURRENCES + 80


def test_fitting_on_texts(tiny_teacher):
    reader = StateReader(tiny_teacher("bert-uncased"))
    words = [first + second for first in "bcdfgl" for second in ("an", "er", "ing", "ou", "al", "it", "on")]
    table = WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 6)).astype(np.float32))
    fitted = LiuTransform.fit_texts(reader, [" ".join(words[i : i + 9]) for i in range(40)], table)
    assert fitted(torch.randn(3, *reader.shape)).shape == (3, reader.shape[1])
    with pytest.raises(DataError, match="Only 2 words have both"):
        LiuTransform.fit_texts(reader, ["ban bing"], table)
