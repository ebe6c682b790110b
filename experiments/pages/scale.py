"""The tables of docs/scale.md: the simulated cluster, and random kills."""

from __future__ import annotations

import json

from experiments.record import RESULTS

FOLDER = RESULTS / "scale"


def simulation() -> str:
    """Time and efficiency of a large run, by what goes wrong."""
    record = json.loads((FOLDER / "simulation.json").read_text())
    lines = [
        "| case | shards | hours | of the ideal | read twice | parts waiting at most |",
        "|---|---|---|---|---|---|",
    ]
    for name, case in record["cases"].items():
        mean = case["mean"]
        lines.append(
            f"| {name} | {mean['shards']:,.0f} | {mean['hours']:.1f} | {mean['efficiency']:.0%} | "
            f"{mean['lost_share']:.1%} | {mean['most_parts_waiting']:,.0f} |"
        )
    usual = record["cases"]["stragglers"]["assumed"]
    lines += [
        "",
        f"{usual['words']:,.0f} words on {usual['workers']} GPUs, unless the case says otherwise; "
        f"{usual['words_per_second']:,.0f} words/s for each (BERT-base with `still` and `ase` on one H200, measured), "
        f"{usual['vocabulary']:,} words of the vocabulary. Means of {record['rounds']} simulated runs: "
        f"`{record['command']}`, commit {record['commit']}, seed {record['seed']}.",
    ]
    return "\n".join(lines)
