"""What docs/retrofitting.md shows of a measurement: which figures, and how settings were chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blocks import BLOCKS, RELATIONS, Block

SIMILARITY = tuple(block for block in BLOCKS if block.mean == "A8")
GOOGLE = Block("Google analogies (accuracy, 3CosAdd)", "all", RELATIONS[:3])
RETROFIT_BLOCKS = (*SIMILARITY, GOOGLE)
SHOWN = ("alpha", "beta", "sigma", "margin")


def choices(content: Mapping[str, Any]) -> list[str]:
    """The lines of a table: which settings were chosen for each row, among how many, and what they gave."""
    lines = [
        "Mean of the eight sets over every second pair (the development half, on which settings were chosen) "
        "and over the others:",
        "",
        "| vectors | settings | of | development half | other half |",
        "|---|---|---:|---:|---:|",
    ]
    for row in content["rows"]:
        halves = [f"{row['halves'][name]:.1f}" for name in ("development", "other")]
        cells = [chosen(row["tried"]), str(len(row["tried"]) or ""), *halves]
        lines.append(f"| `{row['label']}` | {' | '.join(cells)} |")
    return lines


def chosen(tried: list[Mapping[str, Any]]) -> str:
    """The settings that did best on the development half, as far as they could have been others."""
    if not tried:
        return ""
    best = max(tried, key=lambda each: float(each["development"]))["settings"]
    return ", ".join(f"{name} {best[name]:g}" for name in SHOWN if best.get(name) is not None)
