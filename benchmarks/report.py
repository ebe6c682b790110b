"""Make docs/performance.md from benchmarks/results/*.json and the notes beside them.

With --check nothing is written: it fails if the page is not what the JSON files say.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from types import ModuleType
from typing import Any

from benchmarks import (
    analogies,
    cpu_throughput,
    extrinsic,
    gpu_throughput,
    intrinsic,
    memory,
    prepare,
    retrofit,
    vectors,
)
from benchmarks.common import RESULTS, ROOT, Row

BENCHMARKS: tuple[ModuleType, ...] = (
    cpu_throughput,
    gpu_throughput,
    prepare,
    memory,
    vectors,
    retrofit,
    analogies,
    intrinsic,
    extrinsic,
)
PAGE = ROOT / "docs" / "performance.md"
NOTES = ROOT / "benchmarks" / "notes"
"""What no figure says: where the time goes, what was tried."""
INTRODUCTION = """\
# Performance

This page is made by `python -m benchmarks.report` from the files in
[benchmarks/results](../benchmarks/results); [benchmarks/README.md](../benchmarks/README.md) tells how to make
those.
"""


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    if not check:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit("docs/performance.md is not made from benchmarks/results; run python -m benchmarks.report")


def page() -> str:
    """The whole page: a section for each benchmark that has a result."""
    results = [(module, RESULTS / f"{module.BENCHMARK}.json") for module in BENCHMARKS]
    sections = [section(module, json.loads(path.read_text())) for module, path in results if path.exists()]
    return "\n".join([INTRODUCTION, *sections])


def section(module: ModuleType, result: dict[str, Any]) -> str:
    """What is measured, the table, how it ended, and where it comes from."""
    machine = result["hardware"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    origin = (
        f"Made by `{result['command']}` at commit {result['commit']}, seed {result['seed']}, on "
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, with Python "
        f"{machine['python']}, {packages}."
    )
    parts = [inspect.getdoc(module) or "", markdown(module.rows(result)), *module.remarks(result), origin]
    notes = NOTES / f"{module.BENCHMARK}.md"
    if notes.exists():
        parts.append(notes.read_text().rstrip())
    return f"## {module.TITLE}\n\n" + "\n\n".join(parts) + "\n"


def markdown(rows: list[Row]) -> str:
    """A table whose first row is its head."""
    rule = ("---", *("---:" for _ in rows[0][1:]))
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))


if __name__ == "__main__":
    main()
