"""Opening, reading and querying word vectors, compared with gensim on the same table in one run.

The table is random. Our folder and gensim's own memory-mapped files have the same rows; word2vec text is written once
by gensim and read by both. The steps take turns; all files are in the system's cache. Neighbor queries are one batch in
wordstill and a loop over gensim's `most_similar`, both after a first query that fills their caches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.speed.common import Row, met, save, show, use_cores
from wordstill.vectors import WordVectors

BENCHMARK = "vectors"
TITLE = "Files and queries of word vectors"
NEIGHBORS = 10
STEPS = {
    "gensim_text": "gensim, read word2vec text",
    "wordstill_text": "wordstill, read word2vec text",
    "gensim_mmap": "gensim, open its own files, memory-mapped",
    "wordstill_open": "wordstill, open its folder",
    "gensim_queries": "gensim, neighbors in a loop",
    "wordstill_queries": "wordstill, neighbors in a batch",
}
TARGETS = {
    "read": ("gensim_text", "wordstill_text", 3.0, "Reading word2vec text"),
    "open": ("gensim_text", "wordstill_open", 50.0, "Opening our folder, compared with gensim's text"),
    "open_mmap": ("gensim_mmap", "wordstill_open", 1.0, "Opening our folder, compared with gensim's own files"),
    "queries": ("gensim_queries", "wordstill_queries", 5.0, "Neighbor queries"),
}


def main() -> None:
    """Measure, print and save."""
    options = _options()
    use_cores(options.cores)
    with TemporaryDirectory(prefix="wordstill-", dir=options.folder) as folder:
        result = measure(Path(folder), options)
    show(rows(result), remarks(result))
    save(BENCHMARK, result, seed=options.seed)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Time both in turns at every step."""
    from gensim.models import KeyedVectors

    made = _make(folder, options)
    text, native, ours = str(folder / "text.vec"), str(folder / "native.kv"), folder / "ours"
    opened, keyed = WordVectors.load(ours), KeyedVectors.load(native)
    asked = made[:: max(1, len(made) // options.queries)][: options.queries]
    opened.neighbors(asked[:1], NEIGHBORS)
    keyed.most_similar(asked[0], topn=NEIGHBORS)
    contestants: dict[str, Callable[[], object]] = {
        "wordstill_text": lambda: WordVectors.load(text),
        "gensim_mmap": lambda: KeyedVectors.load(native, mmap="r"),
        "wordstill_open": lambda: WordVectors.load(ours),
        "gensim_queries": lambda: [keyed.most_similar(word, topn=NEIGHBORS) for word in asked],
        "wordstill_queries": lambda: opened.neighbors(asked, NEIGHBORS),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(options.repeats):
        for name, run in contestants.items():
            seconds[name].append(_timed(run))
    # gensim's text takes minutes, so that its turn comes once.
    seconds["gensim_text"] = [_timed(lambda: KeyedVectors.load_word2vec_format(text))]
    medians = {name: median(times) for name, times in seconds.items()}
    return {
        "rows": options.rows,
        "dim": options.dim,
        "queries": len(asked),
        "text_bytes": Path(text).stat().st_size,
        "seconds": seconds,
        "ratios": {name: medians[theirs] / medians[our] for name, (theirs, our, *_) in TARGETS.items()},
        "same_neighbours": _agreement(opened, keyed, asked),
    }


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "seconds")]
    for name, title in STEPS.items():
        table.append((title, f"{median(result['seconds'][name]):.3f}"))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    lines = [
        f"{result['rows']:,} words of {result['dim']} dimensions, {result['text_bytes'] / 1e9:.2f} GB of text; "
        f"{result['queries']:,} queries of {NEIGHBORS} neighbors, {result['same_neighbours']:.1%} of them "
        "the same in both."
    ]
    for name, (_, _, target, title) in TARGETS.items():
        ratio = result["ratios"][name]
        lines.append(f"{title}: {ratio:.1f} times as fast, target {target:g}: {met(ratio >= target)}.")
    return lines


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3, help="repeats of each step; medians are reported")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="folder for 3 GB of temporary files")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _make(folder: Path, options: argparse.Namespace) -> list[str]:
    """Write the table in all three formats; returns its words."""
    from gensim.models import KeyedVectors

    words = [f"word{row}" for row in range(options.rows)]
    generator = np.random.default_rng(options.seed)
    matrix = generator.standard_normal((options.rows, options.dim), dtype=np.float32)
    WordVectors(words, matrix, counts=np.arange(options.rows, 0, -1)).save(folder / "ours")
    keyed = KeyedVectors(options.dim)
    keyed.add_vectors(words, matrix)
    keyed.save(str(folder / "native.kv"))
    keyed.save_word2vec_format(str(folder / "text.vec"), binary=False)
    return words


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _agreement(opened: WordVectors, keyed: Any, asked: list[str]) -> float:
    """The share of neighbors that both find, for some words."""
    some = asked[:20]
    ours = [{word for word, _ in found} for found in opened.neighbors(some, NEIGHBORS)]
    theirs = [{word for word, _ in keyed.most_similar(word, topn=NEIGHBORS)} for word in some]
    return sum(len(a & b) for a, b in zip(ours, theirs)) / (NEIGHBORS * len(some))


if __name__ == "__main__":
    main()
