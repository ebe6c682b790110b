"""Sections of experiments/performance.md, one for each benchmark, and the short table of docs/guide.md."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from statistics import median
from types import ModuleType
from typing import Any

from experiments.record import current_command
from experiments.speed import (
    analogies,
    cpu_throughput,
    folds,
    gpu_throughput,
    intrinsic,
    memory,
    page_speed,
    precision,
    prepare,
    retrofit,
    shared_gpu,
    vectors,
    whole,
    workers,
)
from experiments.speed.common import SPEED, Row

BENCHMARKS: tuple[ModuleType, ...] = (
    cpu_throughput,
    gpu_throughput,
    whole,
    precision,
    prepare,
    workers,
    shared_gpu,
    folds,
    memory,
    vectors,
    retrofit,
    analogies,
    intrinsic,
    page_speed,
)


Result = dict[str, Any]


def page() -> str:
    """A section for each benchmark that has a result."""
    return "\n".join(section(module) for module in BENCHMARKS if results(module)).rstrip()


def summary() -> str:
    """The short table: what a user waits for, compared with a peer or a limit in the same run."""
    lines = ["| | wordstill | peer or limit | ratio | measured by |", "|---|---:|---:|---:|---|"]
    hardware: dict[str, list[str]] = {}
    for title, ours, other, ratio, result in _summary_rows():
        module = current_command(result["command"]).split()[2]
        lines.append(f"| {title} | {ours} | {other} | {ratio} | `{module}` |")
        hardware.setdefault(_short_origin(result), []).append(module.rpartition(".")[2])
    origins = [f"- {', '.join(dict.fromkeys(names))}: {origin}" for origin, names in hardware.items()]
    return "\n".join([*lines, "", "Commands are `python -m MODULE`; seed 0.", "", *origins])


def _summary_rows() -> Iterator[tuple[str, str, str, str, Result]]:
    gpu = _result("gpu_throughput")
    for kind, tiles in (("", "with"), (".no-tiles", "without")):
        cpu = _result(f"cpu_throughput{kind}")
        words = cpu["words_per_second"]
        yield (
            f"distill `still` and `ase` on two CPU cores {tiles} matrix tiles (AMX), words/s",
            f"{words['wordstill']:,.0f}",
            f"{words['sentence_transformers']:,.0f} (sentence-transformers encode)",
            f"{cpu['ratio']:.1f}",
            cpu,
        )
    alone, both, five = (
        gpu["mixes"][name]["subwords"] / gpu["mixes"][name]["seconds"]
        for name in ("teacher alone", "still, ase", "all five")
    )
    for title, rate in (("`still` and `ase`", both), ("five methods", five)):
        yield (
            f"distill {title} on a GPU, BERT-base, subwords/s",
            f"{rate:,.0f}",
            f"{alone:,.0f} (the model alone)",
            f"{rate / alone:.2f}",
            gpu,
        )
    text = _result("prepare")
    rate = text["words"] / median(text["cpu_seconds_alone"])
    yield "prepare text, words/s per core", f"{rate:,.0f}", "", "", text
    tables = _result("vectors")
    seconds = {name: median(times) for name, times in tables["seconds"].items()}
    for title, step in (("read 400,000 x 300 as text, s", "text"), ("1,000 neighbor queries on it, s", "queries")):
        ours, theirs = seconds[f"wordstill_{step}"], seconds[f"gensim_{step}"]
        yield title, f"{ours:.1f}", f"{theirs:.1f} (gensim)", f"{theirs / ours:.1f}", tables
    questions = _result("analogies")
    ours, theirs = questions["seconds"]["wordstill"], questions["seconds"]["gensim"]
    yield "19,544 analogies, s", f"{ours:.1f}", f"{theirs:.0f} (gensim)", f"{theirs / ours:.0f}", questions
    lexicon = _result("retrofit")
    taken = lexicon["methods"]["context-graph"]["seconds"]
    yield "retrofit 150,000 x 300, ten passes, s", f"{taken:.1f}", "", "", lexicon
    peak = _result("memory")
    yield "peak memory at four times the text", "", "", f"{peak['ratio']:.2f}", peak


def _short_origin(result: Result) -> str:
    machine = result["hardware"]
    device = f"{result['gpu']}, " if "gpu" in result else ""
    return f"{device}{machine['cpu']}, {machine['cores']} cores; commit {result['commit']}"


def _result(benchmark: str) -> Result:
    found: Result = json.loads((SPEED / f"{benchmark}.json").read_text())
    return found


def results(module: ModuleType) -> dict[str, dict[str, Any]]:
    """The results of a benchmark by kind; the main one has an empty name."""
    kinds = ["", *getattr(module, "KINDS", {})]
    paths = {kind: SPEED / ".".join(filter(None, (module.BENCHMARK, kind, "json"))) for kind in kinds}
    return {kind: json.loads(path.read_text()) for kind, path in paths.items() if path.exists()}


def section(module: ModuleType) -> str:
    """What is measured, and for each kind of result the table, remarks and origin."""
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
    """A Markdown table; the first row has the titles."""
    rule = ("---", *("---:" for _ in rows[0][1:]))
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))
