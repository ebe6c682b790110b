"""What every benchmark needs: sample text, facts about the machine, a table, a JSON file."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CPU_INFO = Path("/proc/cpuinfo")
PACKAGES = ("torch", "transformers", "sentence-transformers", "numpy")

Row = tuple[str, ...]


def use_cores(count: int) -> None:
    """Let this process and its threads run on so many cores only."""
    import torch

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    torch.set_num_threads(count)


def read_paragraphs(text: Path | None, out: Path) -> list[str]:
    """The paragraphs of a file of any format that wordstill reads; without one, of the embedded text.

    Args:
        text: The file, or None.
        out: Folder for a store that is needed on the way.
    """
    from wordstill.corpus import prepare
    from wordstill.corpus.embedded import embedded_text

    corpus = prepare([text or embedded_text()], out)
    return [corpus.text(number) for number in range(len(corpus))]


def hardware() -> dict[str, Any]:
    """Processor, cores that this process may use, memory and versions."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu_model(),
        "cores": usable,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "python": platform.python_version(),
        "packages": dict(_versions()),
    }


def save(
    benchmark: str, result: dict[str, Any], *, seed: int = 0, commit: str | None = None, kind: str = ""
) -> None:
    """Write a result with all that it depends on, under the name of its benchmark and of its kind, if any."""
    known = commit or present_commit()
    facts = {"command": command(benchmark), "commit": known, "seed": seed, "hardware": hardware()}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / ".".join(filter(None, (benchmark, kind, "json")))
    path.write_text(json.dumps(facts | result, indent=2) + "\n")
    print(f"\nwritten: {path.relative_to(ROOT)}")


def command(benchmark: str) -> str:
    """The command line, with the names of files only: folders differ from machine to machine."""
    given = [Path(word).name if os.sep in word else word for word in sys.argv[1:]]
    return shlex.join(["python", "-m", f"benchmarks.{benchmark}", *given])


def present_commit() -> str:
    """The commit of the code, with a mark where the code is not what was committed."""

    def git(*arguments: str) -> str:
        ended = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
        return ended.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "benchmarks/*.py")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def show(rows: Sequence[Row], remarks: Sequence[str]) -> None:
    """Print a table (its first row is the head, its first column words) and the remarks on it."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([row[0].ljust(widths[0]), *cells]))
    print("", *remarks, sep="\n")


def met(yes: bool) -> str:
    """How a target ended."""
    return "met" if yes else "NOT met"


def _versions() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def _cpu_model() -> str:
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
