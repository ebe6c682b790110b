"""Sections of experiments/performance.md, one for each benchmark, and the short table of docs/guide.md."""

from __future__ import annotations

import inspect
import json
from types import ModuleType
from typing import Any

from experiments.record import current_command
from experiments.speed import (
    analogies,
    cpu_throughput,
    gpu_throughput,
    intrinsic,
    memory,
    precision,
    prepare,
    retrofit,
    vectors,
)
from experiments.speed.common import SPEED, Row

BENCHMARKS: tuple[ModuleType, ...] = (
    cpu_throughput,
    gpu_throughput,
    precision,
    prepare,
    memory,
    vectors,
    retrofit,
    analogies,
    intrinsic,
)


def page() -> str:
    """A section for each benchmark that has a result."""
    return "\n".join(section(module) for module in BENCHMARKS if results(module)).rstrip()


def results(module: ModuleType) -> dict[str, dict[str, Any]]:
    """The results of a benchmark by kind; that of the usual kind has no name."""
    kinds = ["", *getattr(module, "KINDS", {})]
    paths = {kind: SPEED / ".".join(filter(None, (module.BENCHMARK, kind, "json"))) for kind in kinds}
    return {kind: json.loads(path.read_text()) for kind, path in paths.items() if path.exists()}


def section(module: ModuleType) -> str:
    """What is measured; for every kind of result the table, its targets and its origin."""
    parts = [inspect.getdoc(module) or ""]
    for kind, result in results(module).items():
        if kind:
            parts.append(module.KINDS[kind])
        parts += [markdown(module.rows(result)), *module.remarks(result), origin(result)]
    return f"## {module.TITLE}\n\n" + "\n\n".join(parts) + "\n"


def origin(result: dict[str, Any]) -> str:
    """The command, commit, seed and machine of a result."""
    machine = result["hardware"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"Made by `{current_command(result['command'])}` at commit {result['commit']}, "
        f"seed {result['seed']}, on {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, with Python {machine['python']}, {packages}."
    )


def markdown(rows: list[Row]) -> str:
    """A table whose first row is its head."""
    rule = ("---", *("---:" for _ in rows[0][1:]))
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))
