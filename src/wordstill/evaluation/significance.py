"""Permutations of two groups, and p-values that allow for there being several tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

BLOCK = 4096


def splits(items: int, first: int, most: int, random: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Blocks of ways to choose the items of a first group: each once if there are few, else ``most`` random ones.

    Yields:
        Whether each item is in the first group (ways of the block, items).
    """
    if all_are_made(items, first, most):
        ways = combinations(range(items), first)
        while block := list(islice(ways, BLOCK)):
            yield _marked(np.array(block, dtype=np.int64).reshape(len(block), first), items)
        return
    for start in range(0, most, BLOCK):
        keys = random.random((min(BLOCK, most - start), items))
        yield _marked(np.argpartition(keys, first - 1, axis=1)[:, :first], items)


def all_are_made(items: int, first: int, most: int) -> bool:
    """Whether `splits` gives every way once, the given one among them, so that a p-value is exact."""
    return math.comb(items, first) <= most


def p_values(reached: ArrayLike, made: int, *, exact: bool) -> NDArray[np.float64]:
    """How probable the given split's values are, reached by so many of the splits that were made.

    The given split counts as one of them; where all are made, it is among them.
    """
    given = 0 if exact else 1
    found: NDArray[np.float64] = (np.asarray(reached) + given) / (made + given)
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values that allow for there being several tests (Holm 1979), in the same order."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def false_discovery_rates(p_values: Sequence[float]) -> list[float]:
    """Of the tests with so small a p-value, the share without an effect (Benjamini and Hochberg 1995)."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    rates, smallest = [1.0] * len(p_values), 1.0
    for rank, place in reversed(list(enumerate(order, 1))):
        smallest = min(smallest, p_values[place] * len(p_values) / rank)
        rates[place] = smallest
    return rates


def _marked(chosen: NDArray[np.int64], items: int) -> NDArray[np.bool_]:
    marked = np.zeros((len(chosen), items), dtype=np.bool_)
    np.put_along_axis(marked, chosen, True, axis=1)
    return marked
