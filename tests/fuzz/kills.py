"""Random kills: ``python -m tests.fuzz.kills --kills 100``, or ``make kill``.

A command is killed with SIGKILL after a random part of its usual time, over and over, and started again without being
asked to start over. At each moment its result is the old or the new one, whole; in the end it has the same bytes as an
undisturbed run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.scenarios import REFUSED, SCENARIOS, Scenario, fingerprint, in_child, prepare_folder

MOST_TRIES = 12
"""Kills of one sequence; the last run is left alone."""


class Killer:
    """Runs sequences of kills of a scenario."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder, self.place = scenario, folder, folder / "place"
        prepare_folder(scenario, self.place)
        self.old = fingerprint(scenario.out(self.place))
        shutil.copytree(self.place, folder / "old", symlinks=True)
        started = time.monotonic()
        os.waitpid(in_child(scenario, self.place, overwrite=True), 0)
        self.seconds = time.monotonic() - started
        self.new = fingerprint(scenario.out(self.place))
        assert self.new not in ("", self.old)

    def sequence(self, chance: random.Random, most: int) -> tuple[int, str]:
        """How many kills came in time, and what went wrong."""
        shutil.rmtree(self.place)
        shutil.copytree(self.folder / "old", self.place, symlinks=True)
        killed, overwrite = 0, True
        for _ in range(min(most, MOST_TRIES)):
            child = in_child(self.scenario, self.place, overwrite=overwrite)
            time.sleep(chance.uniform(0, 1.1) * self.seconds)
            os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            after = fingerprint(self.scenario.out(self.place))
            if after not in (self.old, self.new):
                return killed, "the result is torn or gone"
            if code == 0:
                break
            killed += code == -signal.SIGKILL
            if code not in (REFUSED, -signal.SIGKILL):
                return killed, f"ended with {code} after {killed} kills"
            # Resumed from what was left; a run killed before it had noted that it may replace the old one is not.
            overwrite = code == REFUSED
            if overwrite and "exists already" not in (self.folder / "refused.txt").read_text():
                return killed, f"refused after {killed} kills: {(self.folder / 'refused.txt').read_text()}"
        for overwrite in (False, True):
            child = in_child(self.scenario, self.place, overwrite=overwrite)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code == 0:
                break
        if fingerprint(self.scenario.out(self.place)) != self.new:
            return killed, f"the run after {killed} kills ended with {code} and another result"
        left = sorted(path.name for path in self.place.iterdir() if ".tmp-" in path.name or ".old-" in path.name)
        return killed, f"left behind: {left}" if left else ""


def main() -> int:
    """Kill until there were enough kills over all scenarios; print what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("scenarios", nargs="*", default=[])
    given = parser.parse_args()
    chance, counts, wrong = random.Random(given.seed), Counter[str](), Counter[str]()
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    try:
        names = given.scenarios or list(SCENARIOS)
        killers = {name: Killer(SCENARIOS[name], folder / name.replace(" ", "-")) for name in names}
        while counts.total() < given.kills:
            name = min(names, key=lambda name: counts[name])
            killed, found = killers[name].sequence(chance, given.kills - counts.total())
            counts[name] += killed
            if found:
                wrong[name] += 1
                sys.stdout.write(f"{name}: {found}\n")
                sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name in names:
        sys.stdout.write(f"{name}: {counts[name]} kills, {wrong[name]} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
