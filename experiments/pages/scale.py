"""The tables of runs on several machines: agreement, the simulated cluster, and averaged learners."""

from __future__ import annotations

import json

from experiments.record import RESULTS

FOLDER = RESULTS / "scale"


def simulation() -> str:
    """Time and efficiency of a large run, by case."""
    record = json.loads((FOLDER / "simulation.json").read_text())
    lines = ["| case | shards | hours | efficiency | read again | maximum parts waiting |", "|---|---|---|---|---|---|"]
    for name, case in record["cases"].items():
        mean = case["mean"]
        lines.append(
            f"| {name} | {mean['shards']:,.0f} | {mean['hours']:.1f} | {mean['efficiency']:.0%} | "
            f"{mean['lost_share']:.1%} | {mean['most_parts_waiting']:,.0f} |"
        )
    usual = record["cases"]["stragglers"]["assumed"]
    lines += [
        "",
        f"{usual['words']:,.0f} words on {usual['workers']} GPUs, unless stated otherwise; "
        f"{usual['words_per_second']:,.0f} words/s per GPU (BERT-base with `still` and `ase`, measured on an H200), "
        f"a vocabulary of {usual['vocabulary']:,} words. Means of {record['rounds']} simulated runs: "
        f"`{record['command']}`, commit {record['commit']}, seed {record['seed']}.",
    ]
    return "\n".join(lines)


def agreement() -> str:
    """Maximum differences from a plain run."""
    record = json.loads((FOLDER / "agreement.json").read_text())
    methods = list(next(iter(record["differences"].values())))
    kinds = {"cosines": "cosines", "values": "values", "rotated": "values, rotated"}
    titles = [f"`{method}`, {title}" for method in methods for title in kinds.values()]
    lines = [f"| compared | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]
    for name, found in record["differences"].items():
        cells = [format(found[method][kind], ".1e") for method in methods for kind in kinds]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Maximum differences of cosines between any two of {record['vocabulary']:,} words, and of values relative to "
        f"the largest value, before and after the best rotation; {record['words']:,} words of text, all-MiniLM-L6-v2 "
        f"in float32. `{record['command']}`, commit {record['commit']}, seed {record['seed']}, "
        f"{record['machine']['cpu']}.",
    ]
    return "\n".join(lines)


def averaged_learners() -> str:
    """Scores of learners by the number of workers; for one worker, the mean and range over seeds."""
    record = json.loads((FOLDER / "averaged_learners.json").read_text())
    names = {"similarity": "eight sets", "google": "Google", "msr": "MSR", "sentences": "STS12-16"}
    lines = [f"| method | workers | {' | '.join(names.values())} |", "|---|---:|" + "---:|" * len(names)]
    for method in dict.fromkeys(score["method"] for score in record["scores"]):
        for workers in (1, 2, 4, 8):
            rows = [each for each in record["scores"] if (each["method"], each["workers"]) == (method, workers)]
            cells = [_with_range([row[name] for row in rows]) for name in names]
            lines.append(f"| `{method}` | {workers} | {' | '.join(cells)} |")
    text = record["text"]
    lines += [
        "",
        f"Development halves; {text['words']:,} words of enwiki-a, {record['teacher']}; for one worker, the mean and "
        f"range of three seeds. `{record['command']}`, commit {record['commit']}, {record['machine']['cpu']}.",
    ]
    return "\n".join(lines)


def _with_range(values: list[float]) -> str:
    mean = f"{sum(values) / len(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.1f} to {max(values):.1f})"
