"""The tables of SECURITY.md: what was tried on files and runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from experiments.record import current_command
from experiments.safety import RESULT


def page() -> str:
    """A table for each part that was run."""
    record: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return "\n\n".join("\n".join(lines(record[part])) for part, lines in PARTS.items() if part in record)


def _fuzz(part: dict[str, Any]) -> Iterator[str]:
    yield "| reader | mutated files | read | refused | other exception, silent change, hang or death |"
    yield "|---|---:|---:|---:|---:|"
    total = {"accepted": 0, "refused": 0, "found": 0}
    for name, counts in part["targets"].items():
        yield _fuzz_row(name, counts)
        total = {kind: number + counts.get(kind, 0) for kind, number in total.items()}
    yield _fuzz_row("**all**", total)
    yield ""
    yield _origin(part)


def _fuzz_row(name: str, counts: dict[str, int]) -> str:
    columns = (sum(counts.values()), *(counts.get(kind, 0) for kind in ("accepted", "refused", "found")))
    return f"| {name} | " + " | ".join(f"{number:,}" for number in columns) + " |"


def _flips(part: dict[str, Any]) -> Iterator[str]:
    yield "| file of ours | single bits flipped, every one | not refused |"
    yield "|---|---:|---:|"
    for name, counts in part["targets"].items():
        yield f"| {name} | {counts['tried']:,} | {counts['wrong']} |"
    yield ""
    yield _origin(part)


def _faults(part: dict[str, Any]) -> Iterator[str]:
    yield "| command, over an old result | calls on files | failed once | result torn or lost, or an error of others |"
    yield "|---|---:|---:|---:|"
    for name, counts in part["scenarios"].items():
        yield f"| {name} | {counts['total']} | {counts['tried']} | {counts['wrong']} |"
    yield ""
    yield _origin(part)


def _kills(part: dict[str, Any]) -> Iterator[str]:
    yield "| command, over an old result | kills | result torn or lost, or other bytes after resuming |"
    yield "|---|---:|---:|"
    for name, counts in part["scenarios"].items():
        yield f"| {name} | {counts['tried']} | {counts['wrong']} |"
    yield ""
    yield _origin(part)


def _cost(part: dict[str, Any]) -> Iterator[str]:
    yield "| checksums | processor time | of which SHA-256 |"
    yield "|---|---:|---:|"
    for name, found in part["shares"].items():
        share = 100 * found["hashing"] / found["seconds"]
        yield f"| {name} | {found['seconds']:.2f} s | {1000 * found['hashing']:.1f} ms, {share:.2f} % |"
    opening = part["opening"]
    yield f"| opening 200,000 words | {opening['seconds ms']:.1f} ms | {opening['hashing ms']:.1f} ms |"
    yield ""
    yield _origin(part)


def _origin(part: dict[str, Any]) -> str:
    machine, runs = part["machine"], [*part.get("earlier", []), part]
    commits, seeds = (", ".join(dict.fromkeys(str(run[key]) for run in runs)) for key in ("commit", "seed"))
    return (
        f"`{current_command(part['command'])}`{f', {len(runs)} runs' if len(runs) > 1 else ''}, commit {commits}, "
        f"seed {seeds}, {sum(run['seconds'] for run in runs) / 60:.0f} minutes on {machine['cpu']}, "
        f"{machine['cores']} cores."
    )


PARTS = {"fuzz": _fuzz, "flips": _flips, "faults": _faults, "kills": _kills, "cost": _cost}
