"""Fewer words and numbers; the leading numbers should be the best ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from wordstill.postprocess import Pipeline
from wordstill.postprocess.vocabulary_transforms import trim
from wordstill.vectors import WordVectors

ROWS, DIM = 300, 8


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((ROWS, DIM)) * np.linspace(0.2, 3, DIM)

    return WordVectors([f"w{row}" for row in range(ROWS)], matrix.astype(np.float32), counts=np.arange(ROWS))


def test_a_table_with_the_best_numbers_last_is_warned_of(table):
    with pytest.warns(UserWarning, match="first 3 of 8 numbers hold .*pca:dim=3"):
        assert trim(table, dim=3).dim == 3


def test_the_first_numbers_of_pca_are_a_table_of_pca(table):
    ordered = Pipeline.from_spec("pca").fit_transform(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prefix = trim(ordered, dim=3)
    fewer = Pipeline.from_spec("pca:dim=3").fit_transform(table)
    np.testing.assert_allclose(prefix.matrix, fewer.matrix, rtol=1e-5, atol=1e-5)
    variances = ordered.matrix.var(axis=0)
    assert (np.diff(variances) <= 1e-6).all()


def test_fewer_words_of_compressed_rows_stay_compressed(table):
    packed = Pipeline.from_spec("quantise").fit_transform(table)
    less = trim(packed, top=10)
    assert (less.storage, len(less)) == ("int8", 10)
    assert less.provenance["trimmed"] == [{"from": [ROWS, DIM], "to": [10, DIM]}]
    np.testing.assert_array_equal(less.matrix, packed.matrix[-10:])
