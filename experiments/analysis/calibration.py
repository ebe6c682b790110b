"""Calibration of change and of intervals: random halves of one text, between which nothing has changed.

Example: python -m experiments.analysis.calibration enwiki-a.txt.xz --name enwiki-a --title "English Wikipedia"

One table is distilled with 100 small folds of documents. For each of many splits these are divided at random into two
halves and joined to 10 or 20 folds each. Between the halves, p must be below 0.05 for 5 % of the words; and the 95 %
interval of a cosine from one half must hold the cosine in the other half in 95 % of the cases. The result is
results/analysis/calibration-NAME.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.analysis.documents import documents, study_parser
from experiments.record import command_line, current_commit, machine, write_json
from wordstill import distill
from wordstill.analysis.change import change
from wordstill.analysis.resampling import LEAST_FOLDS, cosine_interval, jackknife_error, leave_one_out, merged
from wordstill.distillation import DistillConfig
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import Folds, with_folds
from wordstill.vectors.search import unit

MODULE = "experiments.analysis.calibration"
FINE = 100
BOUNDS = (0, 20, 50, 1 << 60)
"""Frequencies, in the half where the word is rarer, by which results are divided."""
ALPHA = 0.05
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
    for folds in (10, 20):
        rng = np.random.default_rng(options.seed)
        facts["folds"][str(folds)] = found = {
            "p": p_values(table, folds, options.splits, rng),
            "intervals": intervals(table, folds, options.splits, options.queries, rng),
        }
        print(folds, json.dumps(found), flush=True)
        write_json(options.out / f"calibration-{options.name}.json", facts)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = study_parser(MODULE, __doc__, "calibration")
    parser.add_argument("--splits", type=int, default=40, help="random halves")
    parser.add_argument("--queries", type=int, default=200, help="words whose cosines with others are looked at")
    return parser.parse_args()


def distilled(options: argparse.Namespace) -> WordVectors:
    """The table of the text, which is made if it is not there yet."""
    out = options.work / "still"
    if not out.exists():
        options.work.mkdir(parents=True, exist_ok=True)
        rows = [json.dumps({"text": text}) for text in documents(options.text, options.words)]
        (options.work / "text.jsonl").write_text("\n".join(rows), encoding="utf-8")
        distill(options.work / "text.jsonl", out, config=DistillConfig(folds=FINE), progress=True)
    return WordVectors.load(out)


def halves(folds: Folds, size: int, splits: int, rng: np.random.Generator) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """For each split the fold of each fine one, in either half; -1 for those of the other half."""
    for _ in range(splits):
        order = rng.permutation(len(folds))
        cut = len(folds) // 2
        found = []
        for own in (order[:cut], order[cut:]):
            joined = np.full(len(folds), -1)
            joined[own] = np.arange(len(own)) * size // len(own)
            found.append(joined)
        yield tuple(found)


def p_values(table: WordVectors, size: int, splits: int, rng: np.random.Generator) -> dict[str, Any]:
    """How many words have p < 0.05 between halves, in all and by frequency, and what was found to have moved."""
    p, counts, apart, shares, discoveries = [], [], [], [], 0
    for one, two in halves(with_folds(table), size, splits, rng):
        joined = np.where(one >= 0, one, size + two)
        split = copy.copy(table)
        split.folds = merged(with_folds(table), joined, np.repeat([0, 1], size))
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
    for parts in halves(with_folds(table), size, splits, rng):
        one, two = (merged(with_folds(table), part, np.zeros(size, int)) for part in parts)
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
