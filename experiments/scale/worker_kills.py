"""Random kills of workers and the driver of a run with ``--workers 2``: nothing may be lost or counted twice.

    python -m experiments.scale.worker_kills --kills 100

The teacher is tiny and the text short, so that most of a run is what can go wrong: starting, claiming, writing and
adding. After random times, a worker, or the driver with all its workers, is killed with SIGKILL, and the run is started
again by the same command, until it ends by itself. Its result must have the same bytes as that of an undisturbed run.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.record import RESULTS, command_line, current_commit, machine, write_json
from tests.fuzz.scenarios import saved_teacher
from wordstill.corpus import prepare

RESULT = RESULTS / "scale" / "worker_kills.json"
SHARD_WORDS, SENTENCES = 500, 600
LONGEST_SECONDS = 600


def main() -> None:
    """Kill until there were enough kills, and record the outcome."""
    parser = argparse.ArgumentParser(prog="python -m experiments.scale.worker_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance, counts, wrong, runs = random.Random(given.seed), {"worker": 0, "driver": 0}, [], 0
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        store = _store(folder)
        started = time.monotonic()
        _finish(_command(store, folder / "undisturbed"))
        usual, expected = time.monotonic() - started, _contents(folder / "undisturbed")
        while sum(counts.values()) < given.kills:
            runs += 1
            out = folder / f"run-{runs}"
            _disturbed(_command(store, out), usual, chance, counts, given.kills)
            if _contents(out) != expected:
                wrong.append(f"run {runs} has another result")
            if out.with_name(f"{out.name}.partial").exists():
                wrong.append(f"run {runs} left its working folder")
            print(f"run {runs}: {counts}, {len(wrong)} wrong", flush=True)
    facts = {"command": command_line("experiments.scale.worker_kills", sys.argv[1:]), "commit": current_commit()}
    write_json(
        RESULT, {**facts, "seed": given.seed, "machine": machine(), "runs": runs, "kills": counts, "wrong": wrong}
    )
    sys.exit(1 if wrong else 0)


def _store(folder: Path) -> Path:
    chance = random.Random(0)
    words = [f"{one}{two}" for one in ("riv", "hou", "sto", "wat") for two in ("er", "se", "ne", "le")]
    sentences = (" ".join(chance.choices(words, k=9)).capitalize() + "." for _ in range(SENTENCES))
    (folder / "text.txt").write_text("\n".join(sentences), encoding="utf-8")
    prepare(folder / "text.txt", folder / "store", workers=1)
    return folder / "store"


def _command(store: Path, out: Path) -> list[str]:
    given = ["distill", str(store), "--out", str(out), "--workers", "2", "--shard-words", str(SHARD_WORDS)]
    given += ["--teacher", str(saved_teacher(store.parent)), "--dtype", "float32", "--no-progress", "--keep-sums"]
    return [sys.executable, "-m", "wordstill", *given, "--method", "still.v1", "--method", "ase"]


def _finish(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=LONGEST_SECONDS, stdout=subprocess.DEVNULL)


def _disturbed(command: list[str], usual: float, chance: random.Random, counts: dict[str, int], most: int) -> None:
    """Start a run again and again, and kill it or one of its workers, until it ends by itself."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            code = process.wait(chance.uniform(0, usual / 2) if sum(counts.values()) < most else LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            workers = _children(process.pid)
            if workers and chance.random() < 0.5:
                os.kill(chance.choice(workers), signal.SIGKILL)
                counts["worker"] += 1
                continue
            process.kill()
            process.wait()
            counts["driver"] += 1
        else:
            if code == 0:
                return
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


if __name__ == "__main__":
    main()
