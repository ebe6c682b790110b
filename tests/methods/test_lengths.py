"""Lengths of rows: what a word counts in a sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wordstill.methods import METHODS
from wordstill.methods.base import NORMED_FREQUENCY, PLAIN_FREQUENCY

OWN = ("still", "sentence")
"""Methods with weights of their own, tested where they are."""


def run(text, name: str, length: str):
    method = text.build(name)
    method.run = replace(method.run, length=length)
    for step in text.steps(method):
        step(method)
    return method.finish()


@pytest.mark.parametrize("name", METHODS)
def test_lengths_change_no_cosine(text, name):
    if METHODS[name].learns:
        name += ":subsample=0"
    raw, unit, weighted = (run(text, name, length) for length in ("raw", "unit", "sentence"))
    np.testing.assert_allclose(np.linalg.norm(unit.matrix, axis=1), 1, atol=1e-5)
    for other in (unit, weighted):
        assert other.words == raw.words
        np.testing.assert_allclose(other.unit, raw.unit, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in OWN])
def test_common_words_count_less(text, name):
    spec = f"{name}:subsample=0" if METHODS[name].learns else name
    raw, weighted = run(text, spec, "raw"), run(text, spec, "sentence")
    counts = weighted.counts.astype(np.float64)
    frequency = counts / text.vocabulary.counts.sum()
    half = NORMED_FREQUENCY if METHODS[name].normed else PLAIN_FREQUENCY
    expected = half / (half + frequency)
    if METHODS[name].normed:
        expected *= np.linalg.norm(raw.matrix, axis=1)
    np.testing.assert_allclose(np.linalg.norm(weighted.matrix, axis=1), expected, rtol=1e-4)


def test_a_row_of_zeros_stays_one(hand_made, hand_made_run):
    method = METHODS["ase"](METHODS["ase"].config_type(layer=0), replace(hand_made_run([2, 1], width=2), length="unit"))
    method.observe(hand_made([[0, 1], [0]], np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])))
    np.testing.assert_allclose(method.finish().matrix, [[0, 0], [0.6, 0.8]], atol=1e-6)
