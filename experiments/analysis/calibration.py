"""Calibration of p-values and intervals on random parts of one text, between which nothing has changed.

Example: python -m experiments.analysis.calibration enwiki-a.txt.xz --name enwiki-a --title "English Wikipedia"

A table is distilled with 120 small folds of documents. For each of many splits, these are divided at random into two
halves of 10 or 20 folds each, or into a fifth and the rest. Between such parts, p should be below 0.05 for 5 % of the
words, and the 95 % interval of a cosine, or of an association between random lists of words, should contain the value
in the other half in 95 % of the cases. The interval of a difference of associations between two quarters should contain
the difference between the other two. `regress` is run on random fields of documents and of folds: p should be below
0.05 in 5 % of the cases, and the interval of the length should contain 0 in at least 95 % of them.
The result is results/analysis/calibration-NAME.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.analysis.documents import documents, study_parser
from experiments.analysis.random_fields import regressions
from experiments.record import command_line, current_commit, machine, write_json
from wordstill import distill
from wordstill.analysis.association import STATISTICS, Association, associations, difference
from wordstill.analysis.change import change
from wordstill.analysis.context_vectors import read_documents
from wordstill.analysis.resampling import LEAST_FOLDS, cosine_interval, jackknife_error, leave_one_out, merged
from wordstill.analysis.word_lists import AssociationTest, WordList
from wordstill.distillation import DistillConfig
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import Folds, with_folds
from wordstill.vectors.search import unit

MODULE = "experiments.analysis.calibration"
FINE = 120
BOUNDS = (0, 20, 50, 1 << 60)
"""Bins of frequencies, in the half where the word is rarer."""
ALPHA = 0.05
TEXT = "text.jsonl"
HALVES = {"10": (10, 10), "20": (20, 20)}
UNEQUAL = (6, 24)
"""Folds of a fifth of the text and of the rest."""
QUARTERS = (10, 10, 10, 10)
LISTS, LIST_WORDS = 10, 8
"""Random associations for each split, and words of each of their lists."""
NEIGHBORS = (0, 4, 9)
"""Which neighbors of a word make pairs with it, besides a random word."""


def main() -> None:
    """Distil, split, and write the result."""
    options = arguments()
    table = distilled(options)
    facts: dict[str, Any] = {
        "title": options.title,
        "command": command_line(MODULE, sys.argv[1:]),
        "commit": options.commit or current_commit(),
        "seed": options.seed,
        "machine": machine(),
        "words": int(with_folds(table).sizes.sum()),
        "splits": options.splits,
        "folds": {},
    }
    rng = np.random.default_rng(options.seed)
    for name, sizes in HALVES.items():
        facts["folds"][name] = {
            "p": p_values(table, sizes, options.splits, rng),
            "intervals": intervals(table, sizes[0], options.splits, options.queries, rng),
        }
        print(name, json.dumps(facts["folds"][name]), flush=True)
    studies: dict[str, Callable[[], dict[str, Any]]] = {
        "unequal": lambda: p_values(table, UNEQUAL, options.splits, rng),
        "associations": lambda: association_intervals(table, options.splits, rng),
        "regress": lambda: regressions(table, read_documents(options.work / TEXT), options.draws, options.seed),
    }
    for name, study in studies.items():
        facts[name] = study()
        print(name, json.dumps(facts[name]), flush=True)
        write_json(options.out / f"calibration-{options.name}.json", facts)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = study_parser(MODULE, __doc__, "calibration")
    parser.add_argument("--splits", type=int, default=40, help="random halves")
    parser.add_argument("--queries", type=int, default=200, help="words whose cosines with others are looked at")
    parser.add_argument("--draws", type=int, default=300, help="random fields for `regress`")
    return parser.parse_args()


def distilled(options: argparse.Namespace) -> WordVectors:
    """The table of the text, made if it does not exist."""
    out = options.work / "still"
    if not out.exists():
        options.work.mkdir(parents=True, exist_ok=True)
        rows = [json.dumps({"text": text}) for text in documents(options.text, options.words)]
        (options.work / TEXT).write_text("\n".join(rows), encoding="utf-8")
        distill(options.work / TEXT, out, config=DistillConfig(folds=FINE), progress=True)
    return WordVectors.load(out)


def parts(
    folds: Folds, sizes: Sequence[int], splits: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """For each split and each part, of so many folds, the fold of each fine one; -1 for those of other parts."""
    each = len(folds) // sum(sizes)
    for _ in range(splits):
        order = rng.permutation(len(folds))[: each * sum(sizes)].reshape(sum(sizes), each)
        found = []
        for own in np.split(order, np.cumsum(sizes)[:-1]):
            joined = np.full(len(folds), -1)
            joined[own] = np.arange(len(own))[:, None]
            found.append(joined)
        yield tuple(found)


def p_values(table: WordVectors, sizes: tuple[int, int], splits: int, rng: np.random.Generator) -> dict[str, Any]:
    """How many words have p < 0.05 between two parts, in all and by frequency, and what was found to have moved."""
    p, counts, apart, shares, discoveries = [], [], [], [], 0
    for one, two in parts(with_folds(table), sizes, splits, rng):
        joined = np.where(one >= 0, one, sizes[0] + two)
        split = copy.copy(table)
        split.folds = merged(with_folds(table), joined, np.repeat([0, 1], sizes))
        found = change(split, "0", "1", permutations=999, seed=int(rng.integers(1 << 30)))
        p += [float(each.p) for each in found.words if each.p is not None]
        counts += [min(each.counts) for each in found.words]
        apart += [each.distance.value for each in found.words]
        shares.append(float(np.mean([each.p < ALPHA for each in found.words if each.p is not None])))
        discoveries += sum(each.q is not None and each.q < ALPHA for each in found.words)
    return {
        "compared": len(p),
        "below_0.05": float(np.mean(np.array(p) < ALPHA)),
        "below_0.05_by_frequency": _by_frequency(np.array(p) < ALPHA, np.array(counts)),
        "below_0.05_by_split": [min(shares), max(shares)],
        "q_below_0.05": discoveries,
        "median_distance_by_frequency": _by_frequency(np.array(apart), np.array(counts), np.median),
    }


def _by_frequency(values: NDArray[Any], counts: NDArray[Any], of: Any = np.mean) -> dict[str, float]:
    chosen = {
        f"{low} to {high - 1}" if high < BOUNDS[-1] else f"{low} and more": (counts >= low) & (counts < high)
        for low, high in pairwise(BOUNDS)
    }
    return {name: float(of(values[inside])) for name, inside in chosen.items() if inside.any()}


def intervals(table: WordVectors, size: int, splits: int, queries: int, rng: np.random.Generator) -> dict[str, Any]:
    """How often the interval of a cosine from one half holds the cosine in the other."""
    pairs = _pairs(table, queries, rng)
    held, counts, near = [], [], []
    for halves in parts(with_folds(table), (size, size), splits, rng):
        one, two = (merged(with_folds(table), half, np.zeros(size, int)) for half in halves)
        for first, second, is_near in pairs:
            value, error, occupied, count = _cosine(one, first, second)
            other, *_, other_count = _cosine(two, first, second)
            if occupied < LEAST_FOLDS or not np.isfinite([value, error, other]).all():
                continue
            there = cosine_interval(value, error, occupied - 1)
            held.append(there.low <= other <= there.high)
            counts.append(min(count, other_count))
            near.append(is_near)
    return {
        "intervals": len(held),
        "held": float(np.mean(held)),
        "held_by_frequency": _by_frequency(np.array(held), np.array(counts)),
        "held_near": float(np.mean(np.array(held)[near])),
        "held_random": float(np.mean(np.array(held)[~np.array(near)])),
    }


def association_intervals(table: WordVectors, splits: int, rng: np.random.Generator) -> dict[str, Any]:
    """How often the interval of an association, or of its difference between parts, holds the value elsewhere."""
    found: dict[str, Any] = {name: {"effects": [], "differences": [], "zero_in_difference": []} for name in STATISTICS}
    for one in parts(with_folds(table), QUARTERS, splits, rng):
        quarters = [_part(table, fold, QUARTERS[0]) for fold in one]
        halves = [_part(table, np.where(a >= 0, a, np.where(b >= 0, b + 10, -1)), 20) for a, b in (one[:2], one[2:])]
        shared = set.intersection(*(set(quarter.words) for quarter in quarters))
        for _ in range(LISTS):
            test = _random_test(sorted(shared), rng)
            for name, counted in found.items():
                _count(counted, *(_effects(tables, test, name) for tables in (halves, quarters)))
    return {
        name: {kind: {"intervals": len(held), "held": float(np.mean(held))} for kind, held in counted.items()}
        for name, counted in found.items()
    }


def _part(table: WordVectors, fold_of_fold: NDArray[np.int64], size: int) -> WordVectors:
    """The table of a part of the text, with its folds."""
    split = copy.copy(table)
    split.folds = merged(with_folds(table), fold_of_fold, np.zeros(size, int))
    return split.group("0")


def _random_test(words: Sequence[str], rng: np.random.Generator) -> AssociationTest:
    drawn = rng.choice(len(words), 4 * LIST_WORDS, replace=False).reshape(4, LIST_WORDS)
    x, y, a, b = (WordList(name, tuple(words[place] for place in row)) for name, row in zip("XYAB", drawn.tolist()))
    return AssociationTest("random", (x, y), (a, b))


def _effects(tables: Sequence[WordVectors], test: AssociationTest, statistic: str) -> list[Association]:
    """The effects of a test in some tables, of the first list of targets."""
    named = {str(number): each for number, each in enumerate(tables)}
    found = {each.table: each for each in reversed(associations(named, [test], statistic, permutations=1))}
    return [found[name] for name in named]


def _count(found: dict[str, Any], halves: Sequence[Association], quarters: Sequence[Association]) -> None:
    """Note whether intervals of a half and of a difference of quarters hold what is elsewhere."""
    if halves[0].text is not None and halves[1].effect is not None:
        found["effects"].append(halves[0].text.low <= halves[1].effect <= halves[0].text.high)
    first, second = quarters[2:] if None not in (quarters[2].effect, quarters[3].effect) else (None, None)
    there = difference(*quarters[:2])
    if there is not None and first is not None and second is not None:
        other = float(second.effect or 0.0) - float(first.effect or 0.0)
        found["differences"].append(there.low <= other <= there.high)
        found["zero_in_difference"].append(there.low <= 0 <= there.high)


def _pairs(table: WordVectors, queries: int, rng: np.random.Generator) -> list[tuple[int, int, bool]]:
    tracked, _ = with_folds(table).counts_by_group()
    pairs = []
    for row in rng.choice(tracked, queries, replace=False).tolist():
        order = [int(other) for other in tracked[np.argsort(-(table.unit[tracked] @ table.unit[row]))] if other != row]
        pairs += [(row, order[place], True) for place in NEIGHBORS]
        pairs.append((row, int(rng.choice(order[50:])), False))
    return pairs


def _cosine(folds: Folds, first: int, second: int) -> tuple[float, float, int, int]:
    """A cosine, the error of its inverse hyperbolic tangent, folds in which both words occur, and occurrences."""
    weights = np.vstack([np.ones((1, len(folds))), leave_one_out(len(folds))])
    rows, counts = [], []
    for row in (first, second):
        own, sums = folds.of_word(row)
        seen = weights @ own
        rows.append(unit((weights @ sums) / np.where(seen > 0, seen, np.nan)[:, None]))
        counts.append(own)
    cosines = np.einsum("bd,bd->b", *rows)
    turned = np.arctanh(np.clip(cosines, -0.999999, 0.999999))
    error = jackknife_error(turned[1:], np.zeros(len(folds), int))
    occupied = min(int((own > 0).sum()) for own in counts)
    return float(cosines[0]), float(error), occupied, min(int(own.sum()) for own in counts)


if __name__ == "__main__":
    main()
