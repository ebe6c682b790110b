"""A few mutated inputs for every reader, and all that were ever found to be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
from tests.fuzz.fuzzing import CRASHERS, Fuzzer
from tests.fuzz.targets import TARGETS

INPUTS, SLOW_INPUTS = 60, 2
KEPT = sorted(path for path in CRASHERS.rglob("*") if path.is_file())


@pytest.fixture(scope="module", autouse=True)
def no_sync():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordstill.core.files._sync", lambda path: None)
        yield


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_files_are_read_or_refused(tmp_path, name):
    fuzzer = Fuzzer(TARGETS[name], tmp_path)
    counts, findings = fuzzer.run(0, SLOW_INPUTS if TARGETS[name].slow else INPUTS)
    assert findings == {}
    assert counts.total() == (SLOW_INPUTS if TARGETS[name].slow else INPUTS)


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
    import time

    def read(path: Path) -> int:
        content = path.read_bytes()
        if content == b"raise":
            raise KeyError("x")
        if content == b"die":
            os.abort()
        if content == b"hang":
            time.sleep(60)
        return len(content)

    from tests.fuzz import fuzzing
    from tests.fuzz.targets import Target

    target = Target("toy", lambda path: path.write_bytes(b"seed!") and None, read, checked=("",))
    fuzzer = Fuzzer(target, tmp_path)
    inputs = [b"raise", b"die", b"other", b"much longer", b"hang", b"seed!"]
    fuzzer.input = lambda number: (tmp_path / "seed", inputs[number])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fuzzing, "SECONDS", 1)
        counts, findings = fuzzer.run(0, len(inputs))
    assert findings == {0: "KeyError: 'x'", 1: "died with -6", 3: "changed without a word", 4: "hang"}
    assert counts == {"found": 4, "accepted": 2}
