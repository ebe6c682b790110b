"""Make docs/performance.md from benchmarks/results/*.json.

With --check nothing is written: it fails if the page is not what the JSON files say.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import cpu_throughput, memory
from benchmarks.common import RESULTS, ROOT, Row, met

PAGE = ROOT / "docs" / "performance.md"
INTRODUCTION = """\
# Performance

This page is made by `python -m benchmarks.report` from the files in
[benchmarks/results](../benchmarks/results); [benchmarks/README.md](../benchmarks/README.md) says how to make those.
"""

Result = dict[str, Any]


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page()
    if parser.parse_args().check:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("docs/performance.md is not made from benchmarks/results; run python -m benchmarks.report")
        return
    PAGE.write_text(text)
    print(f"written: {PAGE.relative_to(ROOT)}")


def page() -> str:
    """The whole page: a section for each benchmark that has a result."""
    sections: dict[str, Callable[[Result], str]] = {
        cpu_throughput.BENCHMARK: _cpu_throughput,
        memory.BENCHMARK: _memory,
    }
    parts = [INTRODUCTION]
    for name, section in sections.items():
        path = RESULTS / f"{name}.json"
        if path.exists():
            result = json.loads(path.read_text())
            parts.append(f"{section(result)}\n{_origin(result)}\n")
    return "\n".join(parts)
