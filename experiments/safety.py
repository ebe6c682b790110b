"""Tests of files and runs: mutated files, failing system calls, random kills, and the cost of checksums.

All parts write to the same JSON file and can be run separately: ``python -m experiments.safety fuzz --seconds 3600``,
``flips``, ``faults``, ``kills --kills 500``, ``cost``. With ``--add``, fuzzing adds its counts to the recorded ones,
and the named commands are added to the recorded commands.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import json
import logging
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.record import RESULTS, command_line, current_commit, machine, write_json
from wordstill import WordVectors

RESULT = RESULTS / "safety.json"
LINE = re.compile(
    r"^(?P<name>[\w ]+): (?P<tried>\d+)(?: of (?P<total>\d+) calls failed| kills), (?P<wrong>\d+) wrong$", re.M
)


def main() -> None:
    """Run one part and record it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.safety", description=__doc__)
    parser.add_argument("part", choices=("fuzz", "flips", "faults", "kills", "cost"))
    parser.add_argument("--seconds", type=float, default=600.0, help="of fuzzing")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--every", type=int, default=1, help="fail every so many-th call only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--add", action="store_true", help="keep what is recorded, and add to it")
    parser.add_argument("scenarios", nargs="*", default=[])
    options = parser.parse_args()
    started = time.monotonic()
    facts = {
        "command": command_line("experiments.safety", sys.argv[1:]),
        "commit": current_commit(),
        "seed": options.seed,
        "machine": machine(),
    }
    found = PARTS[options.part](options)
    record: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    part = {**facts, "seconds": round(time.monotonic() - started), **found}
    write_json(RESULT, {**record, options.part: _sum(record[options.part], part) if options.add else part})


def _sum(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The merged counts of two runs, with the facts of both."""
    facts = {key: value for key, value in before.items() if key not in ("targets", "scenarios", "earlier")}
    both = {**now, "earlier": [*before.get("earlier", []), facts]}
    if "scenarios" in now:
        # For faults and kills, the last run of each command counts.
        return {**both, "scenarios": {**before["scenarios"], **now["scenarios"]}}
    targets = {
        name: dict(Counter(before["targets"].get(name, {})) + Counter(now["targets"].get(name, {})))
        for name in {**before["targets"], **now["targets"]}
    }
    return {**both, "targets": targets}


def _fuzz(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        given = ["--seconds", str(options.seconds), "--seed", str(options.seed), "--out", str(counts)]
        subprocess.run([sys.executable, "-m", "tests.fuzz.fuzzing", *given, *options.scenarios], check=False)
        targets = json.loads(counts.read_text())["targets"]
        return {"inputs": sum(sum(ends.values()) for ends in targets.values()), "targets": targets}


def _flips(options: argparse.Namespace) -> dict[str, Any]:
    from tests.fuzz.fuzzing import Fuzzer
    from tests.fuzz.targets import TARGETS

    logging.disable()
    counts: dict[str, Any] = {}
    for name, target in TARGETS.items():
        if target.checked:
            with tempfile.TemporaryDirectory() as folder:
                tried, wrong = Fuzzer(target, Path(folder)).flips()
            counts[name] = {"tried": tried, "wrong": len(wrong)}
            print(name, counts[name], *wrong, flush=True)
    return {"targets": counts}


def _commands(options: argparse.Namespace) -> dict[str, Any]:
    own = ["--every", str(options.every)] if options.part == "faults" else ["--kills", str(options.kills)]
    seed = [] if options.part == "faults" else ["--seed", str(options.seed)]
    command = [sys.executable, "-m", f"tests.fuzz.{options.part}", *own, *seed, *options.scenarios]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(done.stdout)
    return {
        "scenarios": {
            match["name"]: {key: int(value) for key, value in match.groupdict().items() if key != "name" and value}
            for match in LINE.finditer(done.stdout)
        }
    }


class _TimedHash:
    """SHA-256 that measures its CPU time."""

    spent = 0.0

    def __init__(self, data: Any = b"", **_: Any) -> None:
        self._real = SHA256()
        self.update(data)

    def update(self, data: Any) -> None:
        started = time.thread_time()
        self._real.update(data)
        _TimedHash.spent += time.thread_time() - started

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _cost(options: argparse.Namespace) -> dict[str, Any]:
    """The share of checksums in the CPU time of a run, and of opening a table.

    All SHA-256 of a run are counted, including the hash of a store and the fingerprint of a model.
    """
    from wordstill.corpus import prepare
    from wordstill.corpus.sources import embedded_text
    from wordstill.distillation import DistillConfig, distill
    from wordstill.teacher import Teacher

    hashlib.sha256 = _TimedHash  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = bz2.decompress(embedded_text().read_bytes()).split(b"</page>")
        (folder / "wiki.xml").write_bytes(b"</page>".join([*pages[:-1][:PAGES], pages[-1]]))
        steps = {
            "loading the model": lambda: Teacher.from_config(DistillConfig().teacher),
            "prepare": lambda: prepare([embedded_text()], folder / "store", workers=1),
            "distill": lambda: distill(folder / "wiki.xml", folder / "vectors"),
        }
        return {"shares": {step: _share(run) for step, run in steps.items()}, "opening": _opening(folder / "table")}


def _share(run: Callable[[], Any]) -> dict[str, float]:
    _TimedHash.spent, started = 0.0, time.process_time()
    run()
    total = time.process_time() - started
    return {"seconds": round(total, 2), "hashing": round(_TimedHash.spent, 4)}


def _opening(path: Path) -> dict[str, float]:
    """CPU milliseconds of opening a table of 200,000 words, and of its checksums; the minimum of ten."""
    matrix = np.random.default_rng(0).standard_normal((WORDS, 256), dtype=np.float32)
    WordVectors([f"word{number}" for number in range(WORDS)], matrix, counts=np.arange(WORDS, 0, -1)).save(path)
    times = [_share(lambda: WordVectors.load(path)) for _ in range(10)]
    return {f"{key} ms": round(1000 * min(time[key] for time in times), 2) for key in ("seconds", "hashing")}


SHA256 = hashlib.sha256
PAGES, WORDS = 48, 200_000
PARTS = {"fuzz": _fuzz, "flips": _flips, "faults": _commands, "kills": _commands, "cost": _cost}

if __name__ == "__main__":
    main()
