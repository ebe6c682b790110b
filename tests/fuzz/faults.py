"""Every system call on files fails once: ``python -m tests.fuzz.faults``, or ``make faults``.

A small library, loaded before all others, fails the n-th call of a command that opens, reads, writes, syncs, renames,
maps, lists or deletes something below its folder. Whatever n is, the command must end with an error of ours or succeed,
its result must be the old or the new one, whole, and the same command must then give the same bytes as an undisturbed
one.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.fuzz.scenarios import REFUSED, SCENARIOS, STRANGE, Scenario, fingerprint, in_child, prepare_folder

SOURCE = Path(__file__).with_name("faults.c")
LIBRARY = "WORDSTILL_FAULTS"
ERRORS = (errno.ENOSPC, errno.EIO)


def build(folder: Path) -> Path | None:
    """Compile the library; None where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    library = folder / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


class Injector:
    """Runs a scenario with failing calls; needs a process that was started with the library."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder = scenario, folder
        self.library = ctypes.CDLL(os.environ[LIBRARY])
        self.library.fault_seen.restype = ctypes.c_long
        place = folder / "place"
        prepare_folder(scenario, place)
        self.old = fingerprint(scenario.out(place))
        shutil.copytree(place, folder / "old", symlinks=True)
        self.scenario.run(place, True)
        self.new = fingerprint(scenario.out(place))
        assert self.new not in ("", self.old)

    def count(self) -> int:
        """How many calls there are."""
        place = self._fresh()
        self._run(place, 0, errno.EIO)
        return int((self.folder / "count").read_text())

    def fail(self, number: int, code: int) -> str:
        """What is wrong when a call fails; empty if nothing is."""
        place = self._fresh()
        ended = self._run(place, number, code)
        if ended not in (0, REFUSED):
            strange = self.folder / "strange.txt"
            return f"ended with {ended} {strange.read_text() if ended == STRANGE else ''}"
        after = fingerprint(self.scenario.out(place))
        if after not in (self.old, self.new):
            return "the result is torn or gone"
        if ended == 0 and after != self.new:
            return "success without the new result"
        again = os.waitstatus_to_exitcode(os.waitpid(in_child(self.scenario, place, overwrite=False), 0)[1])
        if again != 0 and after == self.old:
            again = os.waitstatus_to_exitcode(os.waitpid(in_child(self.scenario, place, overwrite=True), 0)[1])
        if fingerprint(self.scenario.out(place)) != self.new:
            return f"running it again ended with {again} and another result"
        left = sorted(path.name for path in place.iterdir() if ".tmp-" in path.name or ".old-" in path.name)
        return f"left behind: {left}" if left else ""

    def _run(self, place: Path, number: int, code: int) -> int:
        def arm() -> None:
            self.library.fault_arm(os.fsencode(place), ctypes.c_long(number), code)
            if number == 0:
                end = os._exit

                def counted(status: int) -> None:
                    seen = self.library.fault_seen()
                    self.library.fault_arm(b"/nowhere", ctypes.c_long(0), 0)
                    (self.folder / "count").write_text(str(seen))
                    end(status)

                os._exit = counted  # type: ignore[assignment]

        return os.waitstatus_to_exitcode(os.waitpid(in_child(self.scenario, place, overwrite=True, before=arm), 0)[1])

    def _fresh(self) -> Path:
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder / "old", place, symlinks=True)
        return place


def main() -> int:
    """Fail each call of the scenarios once, or every n-th; print what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("scenarios", nargs="*", default=[])
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    wrong: Counter[str] = Counter()
    try:
        for name in given.scenarios or SCENARIOS:
            injector = Injector(SCENARIOS[name], folder / name.replace(" ", "-"))
            total = injector.count()
            tried = 0
            for number in range(1, total + 1, given.every):
                tried += 1
                if found := injector.fail(number, ERRORS[number % len(ERRORS)]):
                    wrong[name] += 1
                    sys.stdout.write(f"{name}, call {number}: {found}\n")
            sys.stdout.write(f"{name}: {tried} of {total} calls failed, {wrong[name]} wrong\n")
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


def start_again() -> None:
    """Replace this process by one with the library, which is compiled first."""
    if LIBRARY in os.environ:
        return
    place = Path(tempfile.mkdtemp(prefix="faults-library-"))
    library = build(place)
    if library is None:
        sys.stdout.write("Failing calls need Linux and a C compiler.\n")
        sys.exit(0)
    environment = {**os.environ, LIBRARY: str(library), "LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-m", "tests.fuzz.faults", *sys.argv[1:]], env=environment, check=False)
    shutil.rmtree(place)
    sys.exit(done.returncode)


if __name__ == "__main__":
    start_again()
    sys.exit(main())
