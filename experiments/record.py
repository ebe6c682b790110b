"""Records of measurements: JSON files with their command, commit, seed and hardware."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wordstill.core.files import atomic_file

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
OMITTED_OPTIONS = ("--out", "--keep", "--commit")
"""Options to leave out of recorded commands, because they do not affect scores."""
RENAMED = {
    "scripts/measure.py": "-m experiments.quality.measure",
    "scripts/measure_extrinsic.py": "-m experiments.quality.trained",
    "scripts/measure_retrofit.py": "-m experiments.quality.retrofit",
    "scripts/measure_meaning.py": "-m experiments.meaning.measure",
    "-m benchmarks.": "-m experiments.speed.",
}
"""Old names of modules in recorded commands, with their current names."""
REMOVED_OPTIONS = (" --dtype fp8",)
"""Removed options of recorded commands, whose rows of the result were removed too."""
PACKAGES = ("torch", "transformers", "sentence-transformers", "numpy")
CPU_INFO = Path("/proc/cpuinfo")


def command_line(module: str, arguments: Sequence[str]) -> str:
    """The command with file names only, without the folders of this machine."""
    kept, skip = [], False
    for word in arguments:
        if not skip and word not in OMITTED_OPTIONS:
            kept.append(_without_folders(word))
        skip = word in OMITTED_OPTIONS
    return shlex.join(["python", "-m", module, *kept])


def result_parser(
    module: str, description: str | None, folder: str, title: str = "what the text is"
) -> argparse.ArgumentParser:
    """A parser with the options of every experiment: name, title and folder of the result."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    add_result_options(parser, folder, title)
    return parser


def add_result_options(parser: argparse.ArgumentParser, folder: str, title: str) -> None:
    """Add the options of a result to a parser."""
    parser.add_argument("--name", required=True, help="name of the result")
    parser.add_argument("--title", required=True, help=title)
    parser.add_argument("--out", type=Path, default=RESULTS / folder, help="folder of the result")
    parser.add_argument("--commit", help="commit to record, where git is not available")


def table_parser(module: str, description: str | None, folder: str) -> argparse.ArgumentParser:
    """The same for an experiment on one table."""
    parser = result_parser(module, description, folder, "what text the table is from")
    parser.add_argument("vectors", type=Path, help="the table")
    return parser


def origin(module: str, options: argparse.Namespace) -> dict[str, Any]:
    """Title, command, commit and hardware of an experiment."""
    return {
        "title": options.title,
        "command": command_line(module, sys.argv[1:]),
        "commit": options.commit or current_commit(),
        "hardware": device_name(),
    }


def lexicon_folder(parser: argparse.ArgumentParser) -> Path:
    """The folder of lexicons in ``$WORDSTILL_DATA``."""
    data = os.environ.get("WORDSTILL_DATA")
    if not data:
        parser.error("set WORDSTILL_DATA to the folder with the lexicons and the data sets")
    return Path(data) / "lexicons"


def current_command(recorded: str) -> str:
    """A recorded command with the current name of its module; the JSON file keeps it as it was typed."""
    for old, new in RENAMED.items():
        recorded = recorded.replace(f"python {old}", f"python {new}")
    for option in REMOVED_OPTIONS:
        recorded = recorded.replace(option, "")
    return recorded


def current_commit() -> str:
    """The commit that is checked out, marked if the code has uncommitted changes."""

    def git(*arguments: str) -> str:
        ended = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
        return ended.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "experiments/*.py")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + (" with changes" if changed else "")


def device_name() -> str:
    """The GPU, or the architecture and threads of the CPU."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{platform.machine()}, {torch.get_num_threads()} threads"


def machine() -> dict[str, Any]:
    """CPU, usable cores, memory and versions."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu_model(),
        "cores": usable,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "python": platform.python_version(),
        "packages": dict(_versions()),
    }


def write_json(path: Path, content: Any, indent: int = 1) -> None:
    """Write a record atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as handle:
        handle.write(f"{json.dumps(content, indent=indent, ensure_ascii=False)}\n".encode())


class TimedRecord:
    """The record of a measurement in steps with the time of each, written after every step.

    Args:
        path: The JSON file.
        times: File of the times, for a later run that skips completed steps.

    Attributes:
        facts: Everything except times, by name.
        seconds: Time of each step, by name.
    """

    def __init__(self, path: Path, times: Path) -> None:
        self.path, self.times = path, times
        self.facts: dict[str, Any] = {}
        self.seconds: dict[str, float] = json.loads(times.read_bytes()) if times.exists() else {}

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Measure the time of a step."""
        start = time.monotonic()
        yield
        self.seconds[step] = time.monotonic() - start

    def write(self) -> None:
        """Write the record so far, and print the times."""
        seconds = {name: round(value, 2) for name, value in self.seconds.items()}
        print(json.dumps({"seconds": seconds}), flush=True)
        write_json(self.times, seconds)
        write_json(self.path, {"seconds": seconds, **self.facts})


def _without_folders(word: str) -> str:
    """A path, or the path of NAME=PATH, as a file name."""
    if os.sep not in word:
        return word
    label, equals, path = word.rpartition("=")
    return f"{label}{equals}{Path(path).name}"


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
