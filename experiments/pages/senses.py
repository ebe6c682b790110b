"""The table of senses, for docs/senses.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from experiments.record import RESULTS

NAMES = {"raw": "the model's own states, in context", "table": "the table, one vector per word"}


def page() -> str:
    """Scores of senses compared with single vectors, and the cost of keeping occurrences."""
    parts = []
    for path in sorted((RESULTS / "senses").glob("*.json")):
        content = json.loads(path.read_text())
        parts.append(_cost(content) if "seconds_ratio" in content else _scores(content))
    return "\n\n".join(parts)


def _scores(content: Mapping[str, Any]) -> str:
    pairs = content["rows"][0]["pairs"]
    lines = [
        f"**{content['title']}**, {content['words']:,} words, {content['occurrences']:,} kept occurrences; on "
        f"{content['hardware']}, commit {content['commit']}, seed {content['seed']}:",
        "",
        f"    {content['command']}",
        "",
        f"SCWS: Spearman's correlation on the half ({pairs['scws']:,} pairs) not used for choosing settings, and the "
        f"gain over the table. WiC: accuracy on the {pairs['wic']:,} test pairs, and the gain over the raw states. "
        f"{_rule(content)}95 % intervals are in brackets. Of {len(content['development'])} settings, "
        f"{content['chosen']} is the best on the other half of SCWS{_for_wic(content)}; the other rows use the "
        "defaults.",
        "",
        "| vectors | SCWS | gain | WiC | gain |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in content["rows"]:
        name = NAMES.get(row["label"], f"senses: {row['label']}")
        only_wic = row["label"].startswith(("deviation", "combined"))
        scws = "" if only_wic else f"{row['scws']:.1f}"
        gains = [
            f"{row[f'{task}_gain']:+.1f} [{low:+.1f}, {high:+.1f}]" if shown else ""
            for task, shown in (("scws", not only_wic and row["label"] != "table"), ("wic", row["label"] != "raw"))
            for low, high in [row.get(f"{task}_interval", (0.0, 0.0))]
        ]
        lines.append(f"| {name} | {scws} | {gains[0]} | {row['wic']:.1f} | {gains[1]} |")
    return "\n".join(lines)


def _rule(content: Mapping[str, Any]) -> str:
    return "".join(f"{content[name]} " for name in ("rule_wic", "combined_wic") if name in content)


def _for_wic(content: Mapping[str, Any]) -> str:
    """The setting chosen for WiC, with its score on the development pairs."""
    if "chosen_wic" not in content:
        return ""
    scores, chosen = content["development_wic"], content["chosen_wic"]
    return (
        f", and {chosen} on {content['pairs_wic']:,} pairs of WiC's development and training parts "
        f"({scores[chosen]:.1f}; the raw states {scores['raw']:.1f})"
    )


def _cost(content: Mapping[str, Any]) -> str:
    plain, kept = content["plain"], content["kept"]
    return "\n".join(
        [
            f"Keeping occurrences took {content['seconds_ratio']:.2f} times the CPU time "
            f"({kept['cpu_seconds']:.0f} instead of {plain['cpu_seconds']:.0f} s) and "
            f"{content['memory_ratio']:.2f} times the peak memory "
            f"({kept['megabytes']:,.0f} instead of {plain['megabytes']:,.0f} MB) of the plain run. "
            f"{content['title']}; on {content['hardware']}, commit {content['commit']}:",
            "",
            f"    {content['command']}",
        ]
    )
