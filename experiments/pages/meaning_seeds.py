"""Sections of experiments/meaning.md on several seeds: triples, scores, gains over the raw mean with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from experiments.pages.meaning import DEVELOPMENT, TASKS, triples
from experiments.record import RESULTS, current_command

FOLDER = "meaning-seeds"
GAINS = ("usim", "wic", "cosimlex-1", "cosimlex-2", "scws", "sts-mean")

Content = Mapping[str, Any]


def page() -> str:
    """How the triples were made, then a section for each teacher."""
    files = {path.stem: json.loads(path.read_text()) for path in sorted((RESULTS / FOLDER).glob("*.json"))}
    made = files.pop("triples", None)
    lines = []
    if made is not None:
        lines = [f"On {made['hardware']}, commit {made['commit']}:", "", f"    {current_command(made['command'])}", ""]
        lines += [triples(made, made), ""]
    return "\n".join([*lines, *map(section, files.values())]).rstrip()


def section(content: Content) -> str:
    """One teacher."""
    chosen = f"{content['chosen']['kind']} ({content['chosen']['variant']})"
    seeds = max(len(sets["usim"]["seeds"]) for sets in content["scores"].values())
    lines = [
        f"### {content['teacher'].rpartition('/')[2]}, {content['triples']['triples']:,} triples, {seeds} seeds",
        "",
        f"{content['hardware']}; commit {content['commit']}; chosen on development data: {chosen}. "
        f"Positives: {positives(content['triples'])}.",
        "",
        f"    {current_command(content['command'])}",
        "",
        "Points out of 100, the mean over seeds:",
        "",
        *table(content, TASKS, score),
        "",
        "Above the raw mean of the top half of the layers, with 95 % intervals; **bold** where they exclude zero:",
        "",
        *table(content, {task: TASKS[task] for task in GAINS}, gain),
        "",
        "On development data, with seed 0: rank correlation, and gain over the raw mean in standard deviations (σ):",
        "",
        *development(content),
        "",
        "Training runs:",
        "",
        *trainings(content),
        "",
    ]
    return "\n".join(lines)


def positives(triples: Content) -> str:
    """The number of triples with each kind of positive."""
    return ", ".join(f"{count:,} {how}" for how, count in triples["positives"].items())


def table(content: Content, columns: Mapping[str, str], cell: Any) -> list[str]:
    """A row for each representation."""
    lines = [f"| vectors | {' | '.join(columns.values())} |", "|---|" + "---:|" * len(columns)]
    for name, sets in content["scores"].items():
        cells = [cell(sets[key]) if key in sets else "–" for key in columns]
        lines += [f"| {name} | {' | '.join(cells)} |"] if set(cells) != {"–"} else []
    return lines


def score(found: Content) -> str:
    """The mean over seeds."""
    return f"{found['score']:.1f}"


def gain(found: Content) -> str:
    """The gain over the raw mean, with its interval."""
    if "gain" not in found:
        return "–"
    low, high = found["gain interval"]
    shown = f"{found['gain']:+.1f} ({low:+.1f} to {high:+.1f})"
    return f"**{shown}**" if low > 0 or high < 0 else shown


def development(content: Content) -> list[str]:
    """The scores on development data."""
    found = content["development"]
    sets = list(found["correlations"])
    names = [DEVELOPMENT.get(name, name) for name in sets]
    lines = [f"| vectors | {' | '.join(names)} | chosen in |", "|---|" + "---:|" * (len(sets) + 1)]
    for name in next(iter(found["correlations"].values())):
        gains = found["gains"].get(name, {})
        cells = [
            f"{100 * found['correlations'][one][name]:.1f}" + (f" ({gains[one]:+.1f} σ)" if gains else "")
            for one in sets
        ]
        share = f"{found['shares'][name]:.0%}" if gains else "–"
        lines.append(f"| {name.replace(', seed 0', '')} | {' | '.join(cells)} | {share} |")
    return lines


def trainings(content: Content) -> list[str]:
    """A table of the training runs."""
    lines = [
        "| training | layers | steps | seconds | ended | validation loss | separated |",
        "|---|---|---:|---:|---|---:|---:|",
    ]
    for name, one in content["trainings"].items():
        separated = f"{100 * one['diagnosis']['told_apart']:.1f} %"
        cells = [one["layers"], f"{one['steps']:,}", f"{one['seconds']:.0f}", one["ended"]]
        lines.append(f"| {name} | {' | '.join(cells)} | {one['validation_loss']:.4f} | {separated} |")
    return lines
