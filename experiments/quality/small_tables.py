"""Score by size: a table with fewer words, dimensions and bits.

Example: python -m experiments.quality.small_tables vectors --name enwiki-a --title "English Wikipedia"

Sizes are those of artifacts: words, counts and numbers, without model card and provenance. For each limit, the setting
is chosen by the mean of the eight similarity sets over every second pair, the development half, among those that keep
every pair. The result is results/small-tables/NAME.json.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.quality.retrofit import development, halves
from experiments.record import origin, table_parser, write_json
from wordstill.evaluation import SimilarityTask
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.postprocess import Pipeline
from wordstill.postprocess.vocabulary_transforms import trim
from wordstill.vectors import WordVectors

MODULE = "experiments.quality.small_tables"
LIMITS = (120, 64, 32, 16, 8, 6, 4)
"""Megabytes."""
CHAINS = (
    "",
    "dim=192",
    "dim=128",
    "dim=64",
    "pca:dim=192,common=20000",
    "pca:dim=128,common=20000",
    "pca:dim=64,common=20000",
    "quantize",
    "dim=192,quantize",
    "dim=128,quantize",
    "dim=64,quantize",
    "pq:bytes=128",
    "pq:bytes=88",
    "pq:bytes=64",
    "pq:bytes=48",
    "pq:bytes=32",
    "dim=192,pq:bytes=64",
    "dim=128,pq:bytes=64",
    "dim=192,pq:bytes=48",
    "dim=128,pq:bytes=32",
    "trim:words=20000,quantize",
    "trim:words=20000,pq:bytes=64",
)
"""Transforms, by their specifications; ``dim=N`` before them keeps the first N numbers, like ``convert --dim N``."""
CUT = "dim="
FILES = ("vectors.safetensors", "words.txt")
DECIMALS = 3


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    table = WordVectors.load(options.vectors)
    facts: dict[str, Any] = {**origin(MODULE, options), "words": len(table), "dim": table.dim, "rows": []}
    for chain in options.chain or CHAINS:
        facts["rows"].append(row_of(table, chain))
        facts["chosen"] = chosen(facts["rows"])
        write_json(options.out / f"{options.name}.json", facts)
        print(facts["rows"][-1], flush=True)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = table_parser(MODULE, __doc__, "small-tables")
    parser.add_argument(
        "--chain", action="append", help="transforms to try, instead of the usual ones; may be repeated"
    )
    return parser.parse_args()


def row_of(table: WordVectors, chain: str) -> dict[str, Any]:
    """A chain with the size of its artifact and its scores, as they are after reading it back."""
    start = time.perf_counter()
    small = reduced(table, chain)
    seconds = time.perf_counter() - start
    with TemporaryDirectory() as folder:
        small.save(Path(folder) / "small", "wordstill")
        size = sum((Path(folder) / "small" / name).stat().st_size for name in FILES)
        again = WordVectors.load(Path(folder) / "small")
        pairs = sum(int((~np.isnan(SimilarityTask(name).similarities(again))).sum()) for name in EIGHT)
        scores = {
            "development": development(again),
            "other": halves(again, lambda numbers: numbers % 2 == 1),
            "all": halves(again, lambda numbers: numbers >= 0),
        }
    return {
        "chain": chain,
        "megabytes": round(size / 1e6, 2),
        "pairs": pairs,
        "seconds": round(seconds, 1),
        "scores": {name: round(value, DECIMALS) for name, value in scores.items()},
    }


def reduced(table: WordVectors, chain: str) -> WordVectors:
    """The table after a chain."""
    if chain.startswith(CUT):
        dim, _, chain = chain.removeprefix(CUT).partition(",")
        table = trim(table, dim=int(dim))
    return Pipeline.from_spec(chain).fit_transform(table) if chain else table


def chosen(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The chain for each limit, by the development half; a row that loses pairs is never chosen."""
    found = {}
    every = max(row["pairs"] for row in rows)
    for limit in LIMITS:
        fitting = [row for row in rows if row["megabytes"] <= limit and row["pairs"] == every]
        if fitting:
            found[str(limit)] = max(fitting, key=lambda row: float(row["scores"]["development"]))["chain"]
    return found


if __name__ == "__main__":
    main()
