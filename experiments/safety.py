"""What was done to files and runs, and how it ended: mutated files, failing system calls, random kills.

Each part is written into the same JSON file as it ends, so that parts can be run on their own:
``python -m experiments.safety fuzz --seconds 3600``, ``flips``, ``faults``, ``kills --kills 500``. With ``--add``,
fuzzing adds its counts to those that are recorded.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.record import RESULTS, command_line, current_commit, machine, write_json

RESULT = RESULTS / "safety.json"
LINE = re.compile(
    r"^(?P<name>[\w ]+): (?P<tried>\d+)(?: of (?P<total>\d+) calls failed| kills), (?P<wrong>\d+) wrong$", re.M
)


def main() -> None:
    """Run one part and record it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.safety", description=__doc__)
    parser.add_argument("part", choices=("fuzz", "flips", "faults", "kills"))
    parser.add_argument("--seconds", type=float, default=600.0, help="of fuzzing")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--every", type=int, default=1, help="fail every so many-th call only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--add", action="store_true", help="add to the recorded counts of fuzzing")
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
    write_json(RESULT, {**record, options.part: _sum(record["fuzz"], part) if options.add else part})


def _sum(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Counts of two runs of fuzzing; the facts of the earlier ones are kept beside those of the last."""
    facts = {key: value for key, value in before.items() if key not in ("targets", "earlier")}
    targets = {
        name: dict(Counter(before["targets"].get(name, {})) + Counter(now["targets"].get(name, {})))
        for name in {**before["targets"], **now["targets"]}
    }
    return {**now, "earlier": [*before.get("earlier", []), facts], "targets": targets}


def _fuzz(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        given = ["--seconds", str(options.seconds), "--seed", str(options.seed), "--out", str(counts)]
        subprocess.run([sys.executable, "-m", "tests.fuzz.fuzzing", *given, *options.scenarios], check=False)
        return {"targets": json.loads(counts.read_text())["targets"]}


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


PARTS = {"fuzz": _fuzz, "flips": _flips, "faults": _commands, "kills": _commands}

if __name__ == "__main__":
    main()
