"""Reproduced tables of the papers, for experiments/reproduced.md: each printed row with ours below."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.record import RESULTS, current_command
from wordstill.baselines import BASELINES
from wordstill.evaluation.report.published import PAPERS
from wordstill.reproduction import find_plan, plan_names

Content = Mapping[str, Any]
NO_ROW, NOTHING = "no printed row", "–"


def page() -> str:
    """All recorded tables, in the order of the plans."""
    records = [json.loads(path.read_text()) for path in sorted((RESULTS / "reproduction").glob("*.json"))]
    found = {name: [one for one in records if name in _tables(one)] for name in plan_names()}
    return "\n\n".join(_table(name, made) for name, made in found.items() if made)


def _tables(record: Content) -> dict[str, Content]:
    return {table["table"]: table for table in record["tables"]}


def _table(name: str, records: Sequence[Content]) -> str:
    plan = find_plan(name)
    lines = [f"## {PAPERS[plan.paper]}, Table {plan.number}", ""]
    for record in records:
        table = _tables(record)[name]
        lines += [_origin(record, table), "", f"    {current_command(record['command'])}", ""]
    lines += [f"| system | {' | '.join(plan.columns)} |", f"|---|{'---:|' * len(plan.columns)}"]
    made: dict[str, list[str]] = {}
    for record in records:
        for printed, line in _rows(_tables(record)[name], plan.columns):
            made.setdefault(printed, []).append(line)
    rows = {model: row.scores for model, row in plan.printed.items()}
    for model in [*(model for model in rows if model in made), *(model for model in made if model not in rows)]:
        scores = rows.get(model, {})
        lines.append(_line(f"**{model}**, printed", (_number(scores.get(each)) for each in plan.columns)))
        lines += made[model]
    missing = [model for model in rows if model not in made]
    if missing:
        lines += ["", f"Not reproduced: {', '.join(missing)}."]
    return "\n".join(lines)


def _origin(record: Content, table: Content) -> str:
    alone = all(_has_no_teacher(row["system"]) for row in table["rows"])
    teacher = "No teacher" if alone else f"Teacher {table['teacher']}"
    return (
        f"{teacher}, {record['title']} ({table['words']:,} words and punctuation marks after the filter), "
        f"protocol {table['protocol']}, seeds: {record['seeds']}; the last call took {table['seconds']:.0f} s, on "
        f"{record['hardware']}, commit {record['commit']}:"
    )


def _rows(table: Content, sets: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The line of each of our systems, with the printed row above it."""
    systems: dict[tuple[str, str], dict[str, Content]] = {}
    for row in table["rows"]:
        key = row["printed_row"] or NO_ROW, row["system"]
        systems.setdefault(key, {})[row["dataset"]] = row
    for (printed, system), rows in systems.items():
        title = f"`{system}`" if _has_no_teacher(system) else f"`{system}`, {table['teacher']}"
        yield printed, _line(title, (_cell(rows.get(each)) for each in sets))


def _has_no_teacher(system: str) -> bool:
    return system.startswith("own ") or system.partition("-")[0] in BASELINES


def _line(title: str, cells: Iterable[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def _cell(row: Content | None) -> str:
    if row is None or row["ours"] is None:
        return NOTHING
    spread = "" if row["deviation"] is None else f" ± {row['deviation']:.1f}"
    interval = "" if row["interval"] is None else f" [{row['interval'][0]:.1f}, {row['interval'][1]:.1f}]"
    layer = "" if row["layer"] is None else f", layer {row['layer']}"
    return f"{row['ours']:.1f}{spread}{interval} ({row['used']:,}{layer})"


def _number(score: float | None) -> str:
    return NOTHING if score is None else f"{score:.1f}"
