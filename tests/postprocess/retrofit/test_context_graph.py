from __future__ import annotations

import math

import numpy as np
import pytest

from wordstill.postprocess.retrofit.retrofitting import log_kernel, log_normalizer


@pytest.mark.parametrize("nu", [0.5, 1, 10, 100, 200, 300])
def test_normaliser_is_the_equation_where_gamma_does_not_overflow(nu):
    ratio = math.gamma((nu + 1) / 2) / (math.sqrt(nu * math.pi) * math.gamma(nu / 2))
    assert math.exp(log_normalizer(nu)) == pytest.approx(2 * math.pi * ratio**2, rel=1e-9)


@pytest.mark.parametrize("nu", [342, 344, 400, 1e4, 1e6])
def test_normaliser_beyond_the_range_of_gamma(nu):
    assert math.exp(log_normalizer(nu)) == pytest.approx(1 - 1 / (2 * nu), rel=1e-5)


def test_kernel_is_the_equation_and_nearly_a_gaussian():
    squared = np.linspace(0, 2.4, 9)
    printed = np.exp(log_normalizer(100)) * (1 + squared / (2 * 100)) ** -101
    np.testing.assert_allclose(np.exp(log_kernel(squared, 100, 2)), printed, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_kernel(squared, 100)), np.exp(-squared), rtol=0.012)


def test_far_words_do_not_overflow():
    assert np.isfinite(log_kernel(np.array([0, 1e10]), 100)).all()
