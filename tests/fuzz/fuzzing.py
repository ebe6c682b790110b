"""Fuzzing of every reader: ``python -m tests.fuzz.fuzzing --seconds 600``, or ``make fuzz``.

An input is made from its target, its seed and its number, so that each can be made again. Inputs run in processes
that may use a gigabyte more than at their start and five seconds for each. Anything but an answer or an error of ours
is a finding: another exception, a changed answer of a checked file, a process that hangs or dies.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.mutators import mutate
from tests.fuzz.targets import TARGETS, Target
from wordstill.core import files
from wordstill.errors import WordstillError

MEMORY = 1 << 30
SECONDS = 5
BATCH = 500
CRASHERS = Path(__file__).parent / "crashers"
GOOD = ("accepted", "refused")


class Fuzzer:
    """Runs numbered inputs of one target and counts how they end."""

    def __init__(self, target: Target, folder: Path, seed: int = 0) -> None:
        self.target, self.seed = target, seed
        self.path = folder / target.file
        target.make(self.path)
        self.expected = target.read(self.path)
        self.originals = {path: path.read_bytes() for path in self._files()}

    def input(self, number: int) -> tuple[Path, bytes]:
        """The file that an input changes, and its new content."""
        chance = random.Random(f"{self.target.name} {self.seed} {number}")
        path = chance.choice(sorted(self.originals))
        return path, mutate(self.originals[path], path.name, chance)

    def outcome(self, path: Path, content: bytes) -> str:
        """How reading ends when a file has another content."""
        path.write_bytes(content)
        try:
            got = self.target.read(self.path)
        except WordstillError:
            return "refused"
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:300]
        finally:
            for other in set(self._files()) - set(self.originals):
                other.unlink()
            path.write_bytes(self.originals[path])
        return "accepted" if got == self.expected or not self._is_checked(path) else "changed without a word"

    def run(self, first: int, last: int) -> tuple[Counter[str], dict[int, str]]:
        """Counts of outcomes, and the findings by number."""
        counts: Counter[str] = Counter()
        findings: dict[int, str] = {}
        while first < last:
            done, ended = self._in_process(first, last)
            for number, outcome in enumerate(done, first):
                counts[outcome if outcome in GOOD else "found"] += 1
                if outcome not in GOOD:
                    findings[number] = outcome
            first += len(done)
            if ended is not None and first < last:
                counts["found"] += 1
                findings[first] = ended
                first += 1
        return counts, findings

    def _in_process(self, first: int, last: int) -> tuple[list[str], str | None]:
        """The outcomes up to the end of a process, and how that ended if not by itself."""
        reading_end, writing_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading_end)
            self._child(first, last, writing_end)
        os.close(writing_end)
        with os.fdopen(reading_end, "rb") as pipe:
            done = [json.loads(line) for line in pipe.read().splitlines() if line.endswith(b'"')]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for path, content in self.originals.items():
            path.write_bytes(content)
        return done, None if code == 0 else "hang" if code == -signal.SIGALRM else f"died with {code}"

    def _child(self, first: int, last: int, pipe: int) -> None:
        warnings.simplefilter("ignore")
        # A process that dies is a finding; where it was is found by running its input again.
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if sys.platform == "linux":
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        for number in range(first, last):
            signal.alarm(SECONDS * (6 if self.target.slow else 1))
            outcome = self.outcome(*self.input(number))
            signal.alarm(0)
            os.write(pipe, json.dumps(outcome).encode() + b"\n")
        os._exit(0)

    def _is_checked(self, path: Path) -> bool:
        name = "" if path == self.path else path.name
        return "" in self.target.checked or name in self.target.checked

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        return [path for path in sorted(self.path.rglob("*")) if path.is_file()]


def keep(fuzzer: Fuzzer, number: int) -> Path:
    """Keep the input of a finding, so that it is tried in every test from then on."""
    path, content = fuzzer.input(number)
    place = CRASHERS / fuzzer.target.name.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    kept = place / f"{fuzzer.seed}-{number}~{path.relative_to(fuzzer.path.parent).as_posix().replace('/', '~')}"
    kept.write_bytes(content)
    return kept


def rounds(
    names: list[str], seconds: float, folder: Path, seed: int
) -> Iterator[tuple[str, Counter[str], dict[int, str]]]:
    """Batches of one target after another until the time is over; slow ones get as much time, not as many inputs."""
    fuzzers = {name: Fuzzer(TARGETS[name], _new(folder / name), seed) for name in names}
    reached, end, number = dict.fromkeys(names, 0), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        name = names[number % len(names)]
        size = BATCH // 100 if TARGETS[name].slow else BATCH
        counts, findings = fuzzers[name].run(reached[name], reached[name] + size)
        for found in findings:
            keep(fuzzers[name], found)
        yield name, counts, findings
        reached[name] += size
        number += 1


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def main() -> int:
    """Fuzz for a time, print the counts, and fail if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, help="Write the counts as JSON.")
    parser.add_argument("targets", nargs="*", default=[])
    given = parser.parse_args()
    # Nothing here needs to survive a power cut.
    files._sync = lambda _: None  # type: ignore[assignment]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    totals: dict[str, Counter[str]] = {}
    try:
        for name, counts, findings in rounds(given.targets or list(TARGETS), given.seconds, folder, given.seed):
            totals.setdefault(name, Counter()).update(counts)
            for number, what in findings.items():
                sys.stdout.write(f"{name} {number}: {what}\n")
            if given.out is not None:
                given.out.write_text(json.dumps({"seed": given.seed, "targets": totals}, indent=1))
    finally:
        shutil.rmtree(folder)
    total: Counter[str] = sum(totals.values(), Counter())
    for name, counts in [*totals.items(), ("all", total)]:
        sys.stdout.write(
            f"{name:28} {counts.total():>12,} "
            + ", ".join(f"{kind} {n:,}" for kind, n in sorted(counts.items()))
            + "\n"
        )
    return 1 if total["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
