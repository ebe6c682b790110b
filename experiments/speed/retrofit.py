"""Seconds to retrofit 150,000 vectors of 300 dimensions to PPDB-XL in 10 passes, compared with a loop over words.

The table has every word of the lexicon, which is the most work that a lexicon can cause, and is filled up with made-up
words. Vectors are random. Times include looking up the words and computing the objective of every pass; reading the
lexicon is reported separately. The loop is Faruqui's update word by word in numpy, as in the authors' script; one pass
is timed, and the sparse product must agree with it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.speed.common import Row, met, save, show, use_cores
from wordstill.postprocess.retrofit import PRESETS, Lexicon, read_lexicon, retrofitter
from wordstill.vectors import WordVectors

BENCHMARK = "retrofit"
TITLE = "Retrofitting"
TARGET = 10.0
PASSES = 10
CLOSE = 1e-5


def main() -> None:
    """Measure, print and save."""
    options = _options()
    use_cores(options.cores)
    lexicon, reading = _timed(lambda: read_lexicon(options.lexicon))
    table = make_table(lexicon, options.words, options.dim)
    result: dict[str, Any] = {
        "lexicon": options.lexicon.name,
        "links": len(lexicon),
        "words": len(table),
        "dim": table.dim,
        "read_seconds": reading,
        "methods": {},
    }
    for name in PRESETS:
        step = retrofitter(name, lexicon, passes=PASSES)
        _, seconds = _timed(partial(step.fit_transform, table))
        result["methods"][name] = {"seconds": seconds, "moved": step.moved_words}
    result["loop"] = _loop(table, lexicon)
    show(rows(result), remarks(result))
    save(BENCHMARK, result)


def make_table(lexicon: Lexicon, words: int, dim: int) -> WordVectors:
    """A table of random vectors that has as many words of the lexicon as fit."""
    known = list(lexicon.words[:words])
    known += [f"word-{number}" for number in range(words - len(known))]
    matrix = np.random.default_rng(0).standard_normal((words, dim), dtype=np.float32)
    return WordVectors(known, matrix)


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    lines: list[Row] = [("", "seconds", "words moved")]
    for name, found in result["methods"].items():
        lines.append((name, f"{found['seconds']:.1f}", f"{found['moved']:,}"))
    lines.append((f"loop over words, {PASSES} times one pass", f"{PASSES * result['loop']['seconds']:.1f}", ""))
    return lines


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    longest = max(found["seconds"] for found in result["methods"].values())
    difference = result["loop"]["difference"]
    return [
        f"{result['words']:,} words x {result['dim']}, {result['links']:,} links of {result['lexicon']}, "
        f"read in {result['read_seconds']:.1f} s.",
        f"After one pass the loop and the product differ by {difference:.1e} at most, limit {CLOSE:.0e}: "
        f"{met(difference < CLOSE)}.",
        f"Longest {longest:.1f} s, target {TARGET:.0f} s: {met(longest < TARGET)}.",
    ]


def _loop(table: WordVectors, lexicon: Lexicon) -> dict[str, float]:
    """One pass of the loop in the order of the table, and how far the product is from it."""
    links: dict[int, list[int]] = {}
    for one, other, _ in lexicon.links():
        if one in table and other in table:
            links.setdefault(table.index(one), []).append(table.index(other))
            links.setdefault(table.index(other), []).append(table.index(one))
    original = table.unit

    def one_pass() -> NDArray[np.float32]:
        current = original.copy()
        for row in sorted(links):
            near = links[row]
            current[row] = (len(near) * original[row] + current[near].sum(axis=0)) / (2 * len(near))
        return current

    looped, seconds = _timed(one_pass)
    product = retrofitter("faruqui", lexicon, passes=1, order="gauss-seidel").fit_transform(table)
    return {"seconds": seconds, "difference": float(np.abs(looped - product.matrix).max())}


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    made = work()
    return made, time.perf_counter() - started


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    data = os.environ.get("WORDSTILL_DATA")
    usual = Path(data) / "lexicons" / "ppdb-xl.txt" if data else None
    parser.add_argument("--lexicon", type=Path, default=usual, help="by default PPDB-XL of $WORDSTILL_DATA")
    parser.add_argument("--words", type=int, default=150_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    if options.lexicon is None or not options.lexicon.is_file():
        sys.exit("There is no lexicon: set WORDSTILL_DATA, or give --lexicon FILE.")
    return options


if __name__ == "__main__":
    main()
