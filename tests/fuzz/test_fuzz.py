"""A few mutated inputs for every reader, and all that were ever found to be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
from tests.fuzz.fuzzing import CRASHERS, Fuzzer
from tests.fuzz.targets import TARGETS, Target
from wordstill.core.guard import reading

INPUTS = 40
KEPT = sorted(path for path in CRASHERS.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_files_are_read_or_refused(tmp_path, name):
    fuzzer = Fuzzer(TARGETS[name], tmp_path)
    inputs = INPUTS if TARGETS[name].seconds == Target.seconds else 2  # a process for each
    counts, findings = fuzzer.run(0, inputs)
    assert findings == {}
    assert counts.total() == inputs


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.checked])
def test_a_flipped_bit_is_refused(tmp_path, name):
    """D2, D3, D14, D15; ``python -m experiments.safety flips`` tries every bit."""
    tried, wrong = Fuzzer(TARGETS[name], tmp_path).flips(every=101)
    assert tried > 0
    assert wrong == []


@pytest.mark.parametrize("kept", KEPT, ids=[f"{path.parent.name}/{path.name}" for path in KEPT])
def test_what_was_found_once_stays_mended(tmp_path, kept: Path):
    name = next(name for name in TARGETS if name.replace(" ", "-") == kept.parent.name)
    fuzzer = Fuzzer(TARGETS[name], tmp_path)
    changed = tmp_path / Path(*kept.name.split("~")[1:])
    assert changed in fuzzer.originals
    fuzzer.input = lambda _: (changed, kept.read_bytes())
    assert fuzzer.run(0, 1)[1] == {}


def test_a_finding_is_found(tmp_path):
    """The harness itself: exceptions, changes, hangs and deaths are told apart from errors of ours."""
    import os

    def read(path: Path) -> int:
        content = path.read_bytes()
        if content == b"raise":
            raise KeyError("x")
        if content == b"die":
            os.abort()
        if content == b"hang":
            while True:
                pass
        if content == b"bomb":
            with reading(path):
                bytearray(1 << 31)
        return len(content)

    target = Target("toy", lambda path: path.write_bytes(b"seed!"), read, checked=("",), seconds=1)
    fuzzer = Fuzzer(target, tmp_path)
    inputs = [b"raise", b"die", b"other", b"much longer", b"hang", b"bomb", b"seed!"]
    fuzzer.input = lambda number: (tmp_path / "seed", inputs[number])
    counts, findings = fuzzer.run(0, len(inputs))
    wrong = {
        0: "KeyError: 'x'",
        1: "died with -6",
        3: "changed without a word",
        4: "hang",
        5: "more memory than a gigabyte",
    }
    assert {number: found.what for number, found in findings.items()} == wrong
    assert {number: found.content for number, found in findings.items()} == {number: inputs[number] for number in wrong}
    assert counts == {"found": 5, "accepted": 2}
