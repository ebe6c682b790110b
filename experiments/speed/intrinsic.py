"""All intrinsic tasks and STS, once, on a random table that has every word of every set.

The time includes reading and checking the data sets, normalizing the table, and 1,000 bootstrap resamples for every
score. A random table is the worst case for clustering, which converges more slowly on it.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from experiments.speed.common import Row, met, save, show, use_cores
from wordstill.evaluation import DATASETS, SUITES, make_task
from wordstill.vectors import WordVectors

BENCHMARK = "intrinsic"
TITLE = "The whole intrinsic suite"
TARGET = 60
SLOWEST = 6


def main() -> None:
    """Measure, print and save."""
    options = _options()
    use_cores(options.cores)
    result = measure(options)
    show(rows(result), remarks(result))
    save(BENCHMARK, result, seed=options.seed)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Score every set."""
    names = [*SUITES["intrinsic"], *SUITES["sentences"]]
    vectors = _table(names, options.words, options.dim, options.seed)
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    vectors.unit  # noqa: B018
    seconds["scaling the table"] = time.perf_counter() - start
    for name in names:
        start = time.perf_counter()
        score = make_task(name).run(vectors, options.protocol)
        seconds[name] = time.perf_counter() - start
        assert score.value is not None
    return {
        "words": options.words,
        "dim": options.dim,
        "protocol": options.protocol,
        "sets": len(names),
        "seconds": seconds,
        "total": sum(seconds.values()),
    }


def rows(result: dict[str, Any]) -> list[Row]:
    """The table: the slowest sets, the rest together, and the sum."""
    ordered = sorted(result["seconds"].items(), key=lambda item: -item[1])
    table: list[Row] = [("", "seconds")]
    table += [(DATASETS[name].title if name in DATASETS else name, f"{taken:.1f}") for name, taken in ordered[:SLOWEST]]
    rest = sum(taken for _, taken in ordered[SLOWEST:])
    return [*table, (f"{len(ordered) - SLOWEST} others", f"{rest:.1f}"), ("together", f"{result['total']:.1f}")]


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the target is met."""
    return [
        f"{result['sets']} sets over {result['words']:,} words of {result['dim']} dimensions, protocol "
        f"{result['protocol']}.",
        f"{result['total']:.1f} seconds, target {TARGET}: {met(result['total'] <= TARGET)}.",
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--protocol", default="default")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _table(names: list[str], words: int, dim: int, seed: int) -> WordVectors:
    asked = dict.fromkeys(word.lower() for name in names for word in make_task(name).words())
    fillers = (f"filler{number}" for number in range(max(0, words - len(asked))))
    matrix = np.random.default_rng(seed).normal(size=(max(words, len(asked)), dim))
    return WordVectors([*asked, *fillers], matrix.astype(np.float32))


if __name__ == "__main__":
    main()
