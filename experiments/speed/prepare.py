"""Words per second and core of preparing plain text: sentences, words, counts, and the store on disk.

One worker reads the text, then one for each core, in turns. Words per second and core are from the median CPU time of
one worker; the speedup of several is from wall time, for which the machine must be idle. On a short text, fixed costs
dominate. A dump is one file with the pages of the bundled dump, or of the given one, several times.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from experiments.speed.common import Row, add_commit, met, read_paragraphs, save, show
from wordstill.corpus import prepare
from wordstill.corpus.readers import detect_kind
from wordstill.corpus.sources import embedded_text, find_sources

BENCHMARK = "prepare"
TITLE = "Preparing text"
TARGET = {"": 500_000, "dump": 150_000}
KINDS = {"dump": "A dump of Wikipedia in one file:"}
GAIN = {2: 1.85, 16: 8.0}
"""Minimum speedup over one process, by number of processes."""


def main() -> None:
    """Measure, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        result = measure(options, Path(folder))
    show(rows(result), remarks(result))
    save(BENCHMARK, result, commit=options.commit, kind=result.get("kind", ""))


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Prepare the text with one worker, then with all."""
    if options.dump:
        plain = folder / "dump.xml"
        write_dump(options.text or embedded_text(), options.dump, plain)
    else:
        plain = folder / "text.txt"
        text = plain_text(options.text, folder / "everything")
        plain.write_bytes(text[: text.rfind(b"\n", 0, options.megabytes * 1_000_000)])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    used: dict[str, list[float]] = {"alone": [], "together": []}
    spent: dict[str, list[float]] = {"alone": [], "together": []}
    words = 0
    for turn in range(options.repeats):
        for name, workers in (("alone", 1), ("together", cores)):
            cpu, start = _processor_seconds(), time.perf_counter()
            words = prepare([plain], folder / f"{name}-{turn}", workers=workers).n_words
            spent[name].append(time.perf_counter() - start)
            used[name].append(_processor_seconds() - cpu)
    return {
        **({"kind": "dump"} if options.dump else {}),
        "text": options.text.name if options.text else "embedded",
        "megabytes": round(plain.stat().st_size / 1e6, 1),
        "words": words,
        "cores": cores,
        "cpu_seconds_alone": used["alone"],
        "cpu_seconds_together": used["together"],
        "seconds_alone": spent["alone"],
        "seconds_together": spent["together"],
    }


def plain_text(text: Path | None, store: Path) -> bytes:
    """What a file of plain text holds; of other files and of the embedded dump, the paragraphs that they make."""
    if text is not None:
        with find_sources([text])[0].open() as stream:
            if detect_kind(stream) == "text":
                return b"".join(iter(stream.read, b""))
    return "\n".join(read_paragraphs(text, store)).encode()


def write_dump(dump: Path, copies: int, out: Path) -> None:
    """One file with the pages of a dump so many times."""
    with find_sources([dump])[0].open() as stream:
        content = b"".join(iter(stream.read, b""))
    start, end = content.index(b"<page>"), content.rindex(b"</page>") + len(b"</page>")
    pages = content[start:end] + b"\n"
    out.write_bytes(content[:start] + copies * pages + content[end:])


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "words/s"), ("one core, CPU time", f"{_rate(result):,.0f}")]
    for name, title in (("seconds_alone", "one process"), ("seconds_together", f"{result['cores']} processes")):
        if name in result:
            table.append((f"{title}, wall time", f"{result['words'] / median(result[name]):,.0f}"))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the target is met."""
    rate, cores, target = _rate(result), result["cores"], TARGET[result.get("kind", "")]
    lines = [
        f"{result['words']:,} words and punctuation marks, {result['megabytes']} MB ({result['text']}).",
        f"{rate:,.0f} words/s and core, target {target:,}: {met(rate >= target)}.",
    ]
    if "seconds_alone" in result:
        gain = median(result["seconds_alone"]) / median(result["seconds_together"])
        more = median(result["cpu_seconds_together"]) / median(result["cpu_seconds_alone"]) - 1
        wanted = f", target {GAIN[cores]}: {met(gain >= GAIN[cores])}" if cores in GAIN else ""
        lines.append(f"{cores} processes are {gain:.2f} times as fast as one{wanted}; they use {more:+.0%} CPU time.")
    return lines


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
    parser.add_argument(
        "--dump", type=int, metavar="COPIES", help="a dump with its pages so many times, not plain text"
    )
    add_commit(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
