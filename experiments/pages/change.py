"""The tables of docs/change.md: calibration, and planted change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from experiments.record import RESULTS, current_command

FOLDER = RESULTS / "analysis"


def calibration() -> str:
    """p-values and intervals between random halves of a text."""
    return "\n\n".join("\n".join(_calibration(record)) for record in _records("calibration"))


def planted() -> str:
    """Rank correlation of planted and detected change."""
    return "\n\n".join("\n".join(_planted(record)) for record in _records("planted"))


def _calibration(record: dict[str, Any]) -> Iterator[str]:
    yield "| folds of each half | words with p < 0.05 | by occurrences | cosines in the interval | by occurrences |"
    yield "|---:|---:|---|---:|---|"
    for folds, found in record["folds"].items():
        p, held = found["p"], found["intervals"]
        yield (
            f"| {folds} | {p['below_0.05']:.1%} | {_shares(p['below_0.05_by_frequency'])} "
            f"| {held['held']:.1%} | {_shares(held['held_by_frequency'])} |"
        )
    if unequal := record.get("unequal"):
        shares = _shares(unequal["below_0.05_by_frequency"])
        yield f"| 6 and 24, of a fifth and the rest | {unequal['below_0.05']:.1%} | {shares} |  |  |"
    yield ""
    compared = sum(each["p"]["compared"] for each in record["folds"].values())
    held = sum(each["intervals"]["intervals"] for each in record["folds"].values())
    false = sum(each["p"]["q_below_0.05"] for each in record["folds"].values())
    yield (
        f"{record['title']}, {record['words']:,} words, {record['splits']} splits; {compared:,} p-values and {held:,} "
        f"intervals in total; {false} words with q < 0.05. {_origin(record)}"
    )
    for line in _others(record):
        yield from ("", line)


def _others(record: dict[str, Any]) -> Iterator[str]:
    """Calibration of associations and `regress`."""
    if associations := record.get("associations"):
        effects, differences = (
            ", ".join(f"{name} {found[kind]['held']:.0%}" for name, found in associations.items())
            for kind in ("effects", "differences")
        )
        number = associations["weat"]["effects"]["intervals"]
        yield (
            f"Associations of random lists: the interval from one half contains the effect in the other half in "
            f"{effects} of {number} cases each; the interval of a difference between two quarters contains that "
            f"between the other two in {differences}."
        )
    if regress := record.get("regress"):
        shares = ", ".join(
            f"{unit}, {name}: {found['below_0.05']:.1%}" for unit, by in regress.items() for name, found in by.items()
        )
        holding = min(found["zero_in_interval"] for by in regress.values() for found in by.values())
        number = min(found["p_values"] for by in regress.values() for found in by.values())
        yield (
            f"`regress` on random fields: p < 0.05 in {shares} (at least {number:,} each); at least {holding:.1%} of "
            "the intervals contain 0."
        )


def _shares(by: dict[str, float]) -> str:
    return ", ".join(f"{name}: {share:.1%}" for name, share in by.items())


def _planted(record: dict[str, Any]) -> Iterator[str]:
    yield "| system | words | Spearman |"
    yield "|---|---:|---:|"
    for system, found in record["systems"].items():
        yield f"| {system} | {found['words']} | {found['spearman']:.3f} |"
    yield ""
    yield f"{record['title']}, {record['words']:,} words in {record['documents']:,} documents. {_origin(record)}"


def _origin(record: dict[str, Any]) -> str:
    return (
        f"`{current_command(record['command'])}`, commit {record['commit']}, seed {record['seed']}, "
        f"{record['machine']['cpu']}."
    )


def _records(kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(FOLDER.glob(f"{kind}-*.json")):
        yield json.loads(path.read_text())
