"""Analogies: a is to b as c is to what, by three rules of the literature."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name
from wordstill.neighbours import best_rows, unit_rows
from wordstill.queries import Items, Scored, as_list, grouped_sums, named, resolve, rows_of_groups, search

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Rule: TypeAlias = Literal["3cosadd", "3cosmul", "3cosavg"]
Question: TypeAlias = tuple[Items, Items, Items]
RULES: tuple[str, ...] = get_args(Rule)
EPSILON = np.float32(1e-6)


def analogies(table: WordVectors, questions: Sequence[Question], topn: int, rule: Rule) -> list[Scored]:
    """The best answers to each question (a, b, c), none of them one of its own words.

    With cosines of unit vectors:

    - ``3cosadd``: the words nearest to b - a + c (Mikolov et al. 2013).
    - ``3cosmul``: those with the largest cos(d, b) cos(d, c) / (cos(d, a) + 1e-6), each cosine moved to
      between 0 and 1 (Levy and Goldberg 2014).
    - ``3cosavg``: a and b may be lists of words that stand in the same relation; the words nearest to
      mean(b) - mean(a) + c (Drozd et al. 2016). Of one pair it is 3cosadd.

    Raises:
        UsageError: The rule is unknown, or a question has not the words that the rule needs.
    """
    if rule not in RULES:
        raise unknown_name("rule for analogies", rule, RULES)
    parts = [tuple(as_list(items) for items in question) for question in questions]
    for number, question in enumerate(parts):
        sizes = [len(items) for items in question]
        if len(sizes) != 3 or min(sizes) < 1 or sizes[-1] != 1 or (rule != "3cosavg" and max(sizes) != 1):
            several = "one word or more, one or more" if rule == "3cosavg" else "one word, one"
            raise UsageError(f"{rule} takes {several} and one; question {number} has {sizes}.")
    sizes = [len(items) for question in parts for items in question]
    resolved = resolve(table, list(chain.from_iterable(chain.from_iterable(parts))))
    asked = rows_of_groups(
        resolved.rows, [sum(sizes[start : start + 3]) for start in range(0, len(sizes), 3)]
    )
    means = grouped_sums(resolved.units(), sizes) / np.array(sizes).reshape(-1, 1)
    a, b, c = means[0::3], means[1::3], means[2::3]
    if rule == "3cosmul":
        return _by_product(table, a, b, c, topn, asked)
    return search(table, b - a + c, topn, asked)


def _by_product(
    table: WordVectors,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    c: NDArray[np.float64],
    topn: int,
    asked: list[list[int]],
) -> list[Scored]:
    unit = table.unit
    less, *more = (unit_rows(part) for part in (a, b, c))

    def closeness(vectors: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        return (vectors @ rows.T + np.float32(1)) * np.float32(0.5)

    def score(some: slice, rows: slice) -> NDArray[np.float32]:
        block = unit[rows]
        product = closeness(more[0][some], block)
        product *= closeness(more[1][some], block)
        product /= closeness(less[some], block) + EPSILON
        return product

    return named(table, best_rows(score, (len(a), len(unit)), topn, asked))
