from __future__ import annotations

import doctest

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wordstill.core import ragged
from wordstill.core.ragged import offsets_of, owners, ranges
from wordstill.teacher import layers, tokenizer
from wordstill.teacher.gathering import owners_of, running_sum, runs

RUNS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=12)


@given(RUNS)
def test_runs_against_loops(runs):
    starts = np.array([start for start, _ in runs], dtype=np.int64)
    lengths = np.array([length for _, length in runs], dtype=np.int64)
    assert offsets_of(lengths).tolist() == [int(lengths[:number].sum()) for number in range(len(runs) + 1)]
    assert ranges(starts, lengths).tolist() == [
        number for start, length in runs for number in range(start, start + length)
    ]
    assert owners(lengths).tolist() == [
        owner for owner, (_, length) in enumerate(runs) for _ in range(length)
    ]


@given(RUNS)
def test_tensors_give_the_same(pairs):
    starts = np.array([start for start, _ in pairs], dtype=np.int64)
    lengths = np.array([length for _, length in pairs], dtype=np.int64)
    total = int(lengths.sum())
    owner, elements = runs(torch.from_numpy(starts), torch.from_numpy(lengths), total)
    assert running_sum(torch.from_numpy(lengths)).tolist() == offsets_of(lengths).tolist()
    assert owners_of(torch.from_numpy(lengths), total).tolist() == owner.tolist() == owners(lengths).tolist()
    assert elements.tolist() == ranges(starts, lengths).tolist()


def test_offsets_of_small_integers_do_not_overflow():
    assert offsets_of(np.full(3, 2**31 - 1, dtype=np.int32)).tolist()[-1] == 3 * (2**31 - 1)
    assert offsets_of(np.full(3, 2**32 - 1, dtype=np.uint32)).dtype == np.int64


@pytest.mark.parametrize("module", [ragged, tokenizer, layers], ids=lambda module: module.__name__)
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
