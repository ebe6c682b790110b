"""Index arithmetic for arrays of runs of different lengths, and for sorted keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def offsets_of(lengths: NDArray[np.integer]) -> Ints:
    """Where each run starts, and the total at the end.

    >>> offsets_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(starts: NDArray[np.integer], lengths: NDArray[np.integer]) -> Ints:
    """The runs ``start, start + 1, …`` of the given lengths, one after another.

    >>> ranges(np.array([10, 3]), np.array([3, 2])).tolist()
    [10, 11, 12, 3, 4]
    """
    before = offsets_of(lengths)
    total = int(before[-1])
    shift = np.repeat(np.asarray(starts, dtype=np.int64) - before[:-1], lengths)
    return np.arange(total, dtype=np.int64) + shift


def owners(lengths: NDArray[np.integer]) -> Ints:
    """For each element of the runs, the number of its run.

    >>> owners(np.array([2, 0, 1])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)


def find_sorted(keys: NDArray[np.integer], wanted: NDArray[np.integer]) -> tuple[Ints, NDArray[np.bool_]]:
    """The index of each value in ascending distinct keys (0 if it is not there), and whether it is there.

    >>> [each.tolist() for each in find_sorted(np.array([2, 5]), np.array([5, 3, 9]))]
    [[1, 0, 0], [True, False, False]]
    """
    places = np.searchsorted(keys, wanted)
    known = places < len(keys)
    known[known] = keys[places[known]] == wanted[known]
    return np.where(known, places, 0), known
