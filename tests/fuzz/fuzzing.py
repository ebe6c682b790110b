"""Fuzzing of every reader: ``python -m tests.fuzz.fuzzing --seconds 600``, or ``make fuzz``.

Inputs run in processes that may use a gigabyte more than at their start and five seconds of work for each. Anything but
an answer or an error of ours is a finding: another exception, a changed answer of a checked file, more memory than that
(also where an error of ours reports it), a process that hangs or dies.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import mmap
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
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.mutators import mutate, sealed
from tests.fuzz.seeds import Target
from tests.fuzz.targets import TARGETS
from wordstill.errors import WordstillError

MEMORY = 1 << 30
BATCH_SECONDS, FIRST_BATCH = 2.0, 100
FROM_SEED, MOST_SEEDS = 0.4, 200
"""How often an input is made from the seed itself, and how many other inputs of a file are mutated further."""
HANGS, IDLE_SECONDS = (signal.SIGPROF, signal.SIGALRM), 60
"""How a process that hangs is ended: after its seconds of work, so that a busy machine does not matter, or idle."""
CRASHERS = Path(__file__).parent / "crashers"
OWN_SUM = b'"checksum"'
MARKS = {"accepted": 1, "refused": 2, "found": 3}
"""How an input has ended, in the memory that a process shares with its parent; zero before it has."""


class Finding(NamedTuple):
    """An input that ended otherwise than it should."""

    what: str
    path: Path
    content: bytes


class Fuzzer:
    """Runs numbered inputs of one target and counts how they end.

    Inputs that end in a new way (another place in the code refuses them) are mutated further, as far as one process
    goes: so an input follows from its target, its seed and the number at which its process started.
    """

    def __init__(self, target: Target, folder: Path, seed: int = 0) -> None:
        self.target, self.seed = target, seed
        self.path = folder / target.file
        target.make(self.path)
        self.expected = target.read(self.path)
        self.originals = {path: path.read_bytes() for path in self._files()}
        self.pools = {path: [content] for path, content in sorted(self.originals.items())}
        self.changed = next(iter(self.originals))
        self.ways: set[object] = set()
        self.folders = {folder: folder.stat().st_mtime_ns for folder in self._folders()}

    def input(self, number: int) -> tuple[Path, bytes]:
        """The file that an input changes, and its new content."""
        chance = random.Random(f"{self.target.name} {self.seed} {number}")
        path = chance.choice(list(self.pools))
        pool = self.pools[path]
        return path, mutate(pool[0] if chance.random() < FROM_SEED else chance.choice(pool), path.name, chance)

    def outcome(self, path: Path, content: bytes) -> str:
        """How reading ends when a file has another content."""
        if path != self.changed:
            self.changed.write_bytes(self.originals[self.changed])
            self.changed = path
        path.write_bytes(content)
        way: object = ("accepted", len(content).bit_length())
        try:
            got = self.target.read(self.path)
        except WordstillError as error:
            way = _way(error)
            return "more memory than a gigabyte" if _is_out_of_memory(error) else "refused"
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:300]
        finally:
            if (path, way) not in self.ways and len(self.pools[path]) < MOST_SEEDS:
                self.ways.add((path, way))
                self.pools[path].append(content)
            self._tidy()
        if got == self.expected or not self._is_checked(path) or self._is_another(path, content):
            return "accepted"
        return "changed without a word"

    def run(self, first: int, last: int) -> tuple[Counter[str], dict[int, Finding]]:
        """Counts of outcomes, and the findings by number."""
        counts: Counter[str] = Counter()
        findings: dict[int, Finding] = {}
        while first < last:
            done, found, ended = self._in_process(first, last)
            counts.update(done)
            counts["found"] += len(found)
            findings |= found
            first += done.total() + len(found)
            if ended is not None and first < last:
                counts["found"] += 1
                findings[first] = ended
                first += 1
        return +counts, findings

    def _in_process(self, first: int, last: int) -> tuple[Counter[str], dict[int, Finding], Finding | None]:
        """Outcomes and findings up to the end of a process, and how that ended if not by itself."""
        reading_end, writing_end = os.pipe()
        marks = mmap.mmap(-1, last - first)
        # What is there already is neither looked at by the child's garbage collector nor copied for it.
        gc.freeze()
        child = os.fork()
        if child == 0:
            os.close(reading_end)
            self._child(first, last, marks, writing_end)
        os.close(writing_end)
        with os.fdopen(reading_end, "rb") as pipe:
            lines = pipe.read().split(b"\n")[:-1]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ends = Counter(marks[:])
        counts = Counter({kind: ends[mark] for kind, mark in MARKS.items() if kind != "found"})
        found = {}
        for number, outcome, name, content in map(json.loads, lines):
            found[number] = Finding(outcome, self.path.parent / name, bytes.fromhex(content))
        ended = None
        if code != 0:
            changed = next((path for path in self.originals if path.read_bytes() != self.originals[path]), self.path)
            how = "hang" if -code in HANGS else f"died with {code}"
            ended = Finding(how, changed, changed.read_bytes() if changed.is_file() else b"")
        for path, content in self.originals.items():
            path.write_bytes(content)
        return counts, found, ended

    def _child(self, first: int, last: int, marks: mmap.mmap, pipe: int) -> None:
        warnings.simplefilter("ignore")
        # A process that dies is a finding; where it was is found by running its input again.
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for ending in HANGS:
            signal.signal(ending, signal.SIG_DFL)
        if sys.platform == "linux":
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        for number in range(first, last):
            signal.setitimer(signal.ITIMER_PROF, self.target.seconds)
            signal.alarm(IDLE_SECONDS)
            path, content = self.input(number)
            outcome = self.outcome(path, content)
            signal.alarm(0)
            if outcome not in MARKS:
                name = path.relative_to(self.path.parent).as_posix()
                os.write(pipe, json.dumps([number, outcome, name, content.hex()]).encode() + b"\n")
                outcome = "found"
            marks[number - first] = MARKS[outcome]
        os._exit(0)

    def flips(self, every: int = 1) -> tuple[int, list[str]]:
        """How many single bits of the checked files were flipped, and those that were not refused.

        Args:
            every: Flip every so many-th only.
        """
        tried, wrong = 0, []
        for path, content in self.originals.items():
            if self._is_checked(path):
                for place in range(0, 8 * len(content), every):
                    flipped = bytearray(content)
                    flipped[place // 8] ^= 1 << place % 8
                    tried += 1
                    if (outcome := self.outcome(path, bytes(flipped))) != "refused":
                        wrong.append(f"{path.name}, bit {place}: {outcome}")
        return tried, wrong

    def _is_checked(self, path: Path) -> bool:
        name = "" if path == self.path else path.name
        return "" in self.target.checked or name in self.target.checked

    def _is_another(self, path: Path, content: bytes) -> bool:
        """Whether a file is another one instead of damaged: with its right checksum, or as before it carried one."""
        return sealed(content) == content or (OWN_SUM in self.originals[path] and OWN_SUM not in content)

    def _tidy(self) -> None:
        """Remove what reading has put into a folder."""
        for folder, before in self.folders.items():
            if folder.stat().st_mtime_ns != before:
                for other in set(self._files()) - set(self.originals):
                    other.unlink()
                self.folders = {folder: folder.stat().st_mtime_ns for folder in self._folders()}
                return

    def _folders(self) -> list[Path]:
        return [] if self.path.is_file() else [self.path, *(path for path in self.path.rglob("*") if path.is_dir())]

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        return [path for path in sorted(self.path.rglob("*")) if path.is_file()]


def _way(error: BaseException | None) -> object:
    """The places in the code through which an error came."""
    places: list[object] = []
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            places.append((trace.tb_frame.f_code, trace.tb_lineno))
            trace = trace.tb_next
        error = error.__cause__
    return tuple(places)


def _is_out_of_memory(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__
    return error is not None


def keep(fuzzer: Fuzzer, number: int, finding: Finding) -> Path:
    """Keep the input of a finding, so that it is tried in every test from then on."""
    place = CRASHERS / fuzzer.target.name.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    inside = finding.path.relative_to(fuzzer.path.parent).as_posix().replace("/", "~")
    kept = place / f"{fuzzer.seed}-{number}~{inside}"
    kept.write_bytes(finding.content)
    return kept


def rounds(
    names: list[str], seconds: float, folder: Path, seed: int
) -> Iterator[tuple[str, Counter[str], dict[int, Finding]]]:
    """Batches of one target after another until the time is over; each gets as much work, not as many inputs."""
    fuzzers = {name: Fuzzer(TARGETS[name], _new(folder / name), seed) for name in names}
    reached, sizes = dict.fromkeys(names, 0), dict.fromkeys(names, FIRST_BATCH)
    end = time.monotonic() + seconds
    for name in cycle(names):
        if time.monotonic() >= end:
            return
        started = _work_of_children()
        counts, findings = fuzzers[name].run(reached[name], reached[name] + sizes[name])
        for number, finding in findings.items():
            keep(fuzzers[name], number, finding)
        reached[name] += sizes[name]
        rate = sizes[name] / max(_work_of_children() - started, 1e-3)
        sizes[name] = max(FIRST_BATCH, min(int(rate * BATCH_SECONDS), 10 * sizes[name]))
        yield name, counts, findings


def _work_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


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
    os.fsync = lambda fd: None
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    totals: dict[str, Counter[str]] = {}
    try:
        for name, counts, findings in rounds(given.targets or list(TARGETS), given.seconds, folder, given.seed):
            totals.setdefault(name, Counter()).update(counts)
            for number, finding in findings.items():
                sys.stdout.write(f"{name} {number}: {finding.what}\n")
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
