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
    fp8,
    gpu_throughput,
    intrinsic,
    memory,
    precision,
    prepare,
    retrofit,
    vectors,
)
from benchmarks.common import RESULTS, ROOT, Row

BENCHMARKS: tuple[ModuleType, ...] = (
    cpu_throughput,
    gpu_throughput,
    fp8,
    precision,
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
    sections = [section(module) for module in BENCHMARKS if results(module)]
    return "\n".join([INTRODUCTION, *sections])


def results(module: ModuleType) -> dict[str, dict[str, Any]]:
    """The results of a benchmark by kind; that of the usual kind has no name."""
    kinds = ["", *getattr(module, "KINDS", {})]
    paths = {kind: RESULTS / ".".join(filter(None, (module.BENCHMARK, kind, "json"))) for kind in kinds}
    return {kind: json.loads(path.read_text()) for kind, path in paths.items() if path.exists()}


def section(module: ModuleType) -> str:
    """What is measured; for every kind of result the table, how it ended and where it comes from; notes."""
    parts = [inspect.getdoc(module) or ""]
    for kind, result in results(module).items():
        if kind:
            parts.append(module.KINDS[kind])
        parts += [markdown(module.rows(result)), *module.remarks(result), origin(result)]
    notes = NOTES / f"{module.BENCHMARK}.md"
    if notes.exists():
        parts.append(notes.read_text().rstrip())
    return f"## {module.TITLE}\n\n" + "\n\n".join(parts) + "\n"


def origin(result: dict[str, Any]) -> str:
    """The command, commit, seed and machine of a result."""
    machine = result["hardware"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"Made by `{result['command']}` at commit {result['commit']}, seed {result['seed']}, on "
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, with Python "
        f"{machine['python']}, {packages}."
    )


def markdown(rows: list[Row]) -> str:
    """A table whose first row is its head."""
    rule = ("---", *("---:" for _ in rows[0][1:]))
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))


if __name__ == "__main__":
    main()
