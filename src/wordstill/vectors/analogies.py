"""Analogies (a is to b as c is to what) by three rules from the literature.

`analogies` ranks the words of a table for each question. `solve` finds only the best one, for many questions about
few words: scores depend only on cosines with a, b and c, so one product gives the cosines of all candidates with
every distinct word of the questions. Each question then costs an addition and an argmax instead of a product with
the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name
from wordstill.vectors.queries import Items, Scored, as_list, grouped_sums, named, resolve, rows_of_groups, search
from wordstill.vectors.search import SCORE_BYTES, best_rows, unit_rows

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors

Rule: TypeAlias = Literal["3cosadd", "3cosmul", "3cosavg"]
Question: TypeAlias = tuple[Items, Items, Items]
RULES: tuple[str, ...] = get_args(Rule)
Single: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.int64]

Numbers = TypeVar("Numbers", NDArray[np.float32], NDArray[np.float64])

EPSILON = 1e-6
NEVER = np.float32(-np.inf)
BLOCK_BYTES = 48 << 20
GROUP_BYTES = 1 << 20
SMALLEST_BLOCK = 1024


def analogies(
    table: WordVectors,
    questions: Sequence[Question],
    topn: int = 10,
    rule: Rule = "3cosadd",
    *,
    score_bytes: int = SCORE_BYTES,
) -> list[Scored]:
    """The best answers to each question (a, b, c), excluding its own words.

    Cosines are of unit vectors:

    - ``3cosadd``: the words nearest to b - a + c (Mikolov et al. 2013).
    - ``3cosmul``: the words d with the largest cos(d, b) cos(d, c) / (cos(d, a) + 1e-6), where cosines are shifted
      to the range 0 to 1 (Levy and Goldberg 2014).
    - ``3cosavg``: the words nearest to mean(b) - mean(a) + c, where a and b may be lists of words in the same
      relation (Drozd et al. 2016). For a single pair it equals 3cosadd.
    """
    if rule not in RULES:
        raise unknown_name("rule for analogies", rule, RULES)
    parts = [tuple(as_list(items) for items in question) for question in questions]
    for number, question in enumerate(parts):
        sizes = [len(items) for items in question]
        if len(sizes) != 3 or min(sizes) < 1 or sizes[-1] != 1 or (rule != "3cosavg" and max(sizes) != 1):
            several = "one word or more, one or more" if rule == "3cosavg" else "one word, one"
            raise UsageError(f"{rule} needs {several} and one; question {number} has {sizes}.")
    sizes = [len(items) for question in parts for items in question]
    resolved = resolve(table, list(chain.from_iterable(chain.from_iterable(parts))))
    asked = rows_of_groups(resolved.rows, [sum(sizes[start : start + 3]) for start in range(0, len(sizes), 3)])
    means = grouped_sums(resolved.units(), sizes) / np.array(sizes).reshape(-1, 1)
    a, b, c = means[0::3], means[1::3], means[2::3]
    if rule != "3cosmul":
        # The sum of cosines with b, -a and c is the product with b - a + c.
        return search(table, _complete(_relation(a, b, rule), c, rule), topn, asked, score_bytes=score_bytes)
    unit, units = table.unit, [unit_rows(part) for part in (a, b, c)]

    def score(some: slice, rows: slice) -> Single:
        block = unit[rows].T
        first, second, third = (_cosines(part[some] @ block, rule) for part in units)
        return _complete(_relation(first, second, rule), third, rule)

    return named(table, best_rows(score, (len(a), len(unit)), topn, asked, score_bytes=score_bytes))


def solve(
    candidates: Single,
    words: Single,
    questions: Rows,
    banned: Sequence[Sequence[int]],
    rule: Rule = "3cosadd",
    *,
    block: int | None = None,
    group_bytes: int = GROUP_BYTES,
) -> Rows:
    """The best candidate for each question.

    Args:
        candidates: Unit rows to choose from, (candidates, dim).
        words: Unit vectors of the distinct words of the questions, (words, dim); for 3cosavg also means of unit
            vectors.
        questions: Indices of the words a, b and c of each question, (questions, 3).
        banned: For each word, the candidates that cannot answer a question containing it.
        rule: As for `analogies`.
        block: Candidates scored at a time; None takes as many as fit into 48 MiB, but at least 1,024.
        group_bytes: Memory for the scores of questions with the same a and b.

    Returns:
        Row indices of candidates, (questions,); in a tie, the first.
    """
    best = np.full(len(questions), NEVER)
    rows = np.zeros(len(questions), dtype=np.int64)
    groups = _groups(questions)
    width = block or max(SMALLEST_BLOCK, BLOCK_BYTES // (4 * max(1, len(words))))
    for start in range(0, len(candidates), width):
        some = candidates[start : start + width]
        cosines = _cosines(words @ some.T, rule)  # (words, candidates of the block)
        inside = _inside(banned, start, start + len(some))
        for numbers, found, score in _answers(cosines, questions, groups, inside, rule, group_bytes):
            better = score > best[numbers]
            best[numbers[better]] = score[better]
            rows[numbers[better]] = found[better] + start
    return rows


def _cosines(cosines: Single, rule: Rule) -> Single:
    """Cosines, shifted to the range 0 to 1 for 3cosmul."""
    return (cosines + np.float32(1)) / np.float32(2) if rule == "3cosmul" else cosines


def _relation(first: Numbers, second: Numbers, rule: Rule) -> Numbers:
    """The part of the score that depends on a and b, from cosines or, unless the rule is 3cosmul, from vectors."""
    relation: Numbers = second - first if rule != "3cosmul" else second / (first + EPSILON)
    return relation


def _complete(relation: Numbers, third: Numbers, rule: Rule) -> Numbers:
    """The score, computed from the relation and c in place of c."""
    if rule == "3cosmul":
        third *= relation
    else:
        third += relation
    return third


def _groups(questions: Rows) -> list[Rows]:
    """Indices of questions, grouped by their first two words."""
    order = np.lexsort((questions[:, 1], questions[:, 0]))
    keys = questions[order, :2].tolist()
    return [
        np.array([order[place] for place in places], dtype=np.int64)
        for _, places in groupby(range(len(order)), key=lambda place: keys[place])
    ]


def _inside(banned: Sequence[Sequence[int]], start: int, end: int) -> dict[int, list[int]]:
    """The banned candidates of each word within a block, relative to its start."""
    found = {}
    for word, rows in enumerate(banned):
        here = [row - start for row in rows if start <= row < end]
        if here:
            found[word] = here
    return found


def _answers(
    cosines: Single, questions: Rows, groups: list[Rows], inside: dict[int, list[int]], rule: Rule, group_bytes: int
) -> Iterator[tuple[Rows, Rows, Single]]:
    """Indices of questions, the best candidate in a block for each, and its score."""
    size = max(1, group_bytes // (4 * cosines.shape[1]))
    for group in groups:
        first, second = questions[group[0], :2].tolist()
        relation = _relation(cosines[first], cosines[second], rule)
        relation[[*inside.get(first, ()), *inside.get(second, ())]] = NEVER
        for start in range(0, len(group), size):
            numbers = group[start : start + size]
            thirds = questions[numbers, 2]
            scores = _complete(relation, cosines[thirds], rule)
            for place, third in enumerate(thirds.tolist()):
                if third in inside:
                    scores[place, inside[third]] = NEVER
            found = scores.argmax(axis=1)
            yield numbers, found, scores[np.arange(len(found)), found]
