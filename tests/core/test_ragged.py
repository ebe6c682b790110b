from __future__ import annotations

import doctest

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wordstill.core import ragged
from wordstill.core.ragged import find_sorted, offsets_of, owners, ranges
from wordstill.teacher import layers, tokenizer
from wordstill.teacher.gathering import HOST, DeviceArrays

RUNS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=12)


@given(RUNS)
def test_runs_against_loops(runs):
    starts = np.array([start for start, _ in runs], dtype=np.int64)
    lengths = np.array([length for _, length in runs], dtype=np.int64)
    assert offsets_of(lengths).tolist() == [int(lengths[:number].sum()) for number in range(len(runs) + 1)]
    assert ranges(starts, lengths).tolist() == [
        number for start, length in runs for number in range(start, start + length)
    ]
    assert owners(lengths).tolist() == [owner for owner, (_, length) in enumerate(runs) for _ in range(length)]


@given(st.sets(st.integers(-9, 9)), st.lists(st.integers(-12, 12)))
def test_keys_against_a_dictionary(keys, wanted):
    places = {key: place for place, key in enumerate(sorted(keys))}
    found, known = find_sorted(np.array(sorted(keys), dtype=np.int64), np.array(wanted, dtype=np.int64))
    assert found.tolist() == [places.get(value, 0) for value in wanted]
    assert known.tolist() == [value in places for value in wanted]


@pytest.mark.parametrize("arrays", [HOST, DeviceArrays(torch.device("cpu"))], ids=["numpy", "torch"])
@given(pairs=RUNS)
def test_both_kinds_of_arrays_give_the_same(arrays, pairs):
    starts = np.array([start for start, _ in pairs], dtype=np.int64)
    lengths = np.array([length for _, length in pairs], dtype=np.int64)
    total = int(lengths.sum())
    there, sizes = arrays.send(starts, lengths)
    assert arrays.offsets(sizes).tolist() == offsets_of(lengths).tolist()
    assert arrays.owners(sizes, total).tolist() == owners(lengths).tolist()
    assert arrays.ranges(there, sizes, total).tolist() == ranges(starts, lengths).tolist()


def test_offsets_of_small_integers_do_not_overflow():
    assert offsets_of(np.full(3, 2**31 - 1, dtype=np.int32)).tolist()[-1] == 3 * (2**31 - 1)
    assert offsets_of(np.full(3, 2**32 - 1, dtype=np.uint32)).dtype == np.int64


@pytest.mark.parametrize("module", [ragged, tokenizer, layers], ids=lambda module: module.__name__)
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
