"""Words per second and core of preparing plain text: sentences, words, counts, and the store on disk.

One worker reads the text. The result is the median CPU time of all processes together over several runs, and
for scale the wall time with all cores. A short text shows fixed costs more than the cost per word.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from experiments.speed.common import Row, met, read_paragraphs, save, show
from wordstill.corpus import prepare

BENCHMARK = "prepare"
TITLE = "Preparing text"
TARGET = 500_000


def main() -> None:
    """Measure, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        result = measure(options, Path(folder))
    show(rows(result), remarks(result))
    save(BENCHMARK, result)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Prepare the text with one worker, then with all."""
    plain = folder / "text.txt"
    text = "\n".join(read_paragraphs(options.text, folder / "everything")).encode()
    plain.write_bytes(text[: text.rfind(b"\n", 0, options.megabytes * 1_000_000)])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    alone, together = [], []
    words = 0
    for turn in range(options.repeats):
        start = _processor_seconds()
        words = prepare([plain], folder / f"alone-{turn}", workers=1).n_words
        alone.append(_processor_seconds() - start)
        start = time.perf_counter()
        prepare([plain], folder / f"together-{turn}", workers=cores)
        together.append(time.perf_counter() - start)
    return {
        "text": options.text.name if options.text else "embedded",
        "megabytes": round(plain.stat().st_size / 1e6, 1),
        "words": words,
        "cores": cores,
        "cpu_seconds_alone": alone,
        "seconds_together": together,
    }


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    together = result["words"] / median(result["seconds_together"])
    return [
        ("", "words/s"),
        ("one core", f"{_rate(result):,.0f}"),
        (f"{result['cores']} cores, wall time", f"{together:,.0f}"),
    ]


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the target is met."""
    rate = _rate(result)
    return [
        f"{result['words']:,} words and punctuation marks, {result['megabytes']} MB ({result['text']}).",
        f"{rate:,.0f} words/s and core, target {TARGET:,}: {met(rate >= TARGET)}.",
    ]


def _rate(result: dict[str, Any]) -> float:
    return float(result["words"] / median(result["cpu_seconds_alone"]))


def _processor_seconds() -> float:
    """CPU seconds of this process and its children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--text", type=Path, help="a text of any format that wordstill reads")
    parser.add_argument("--megabytes", type=int, default=20, help="how much of it, from the start")
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
