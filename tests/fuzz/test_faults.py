"""Failing calls and kills, a few of each; ``make faults`` and ``make kill`` try all and many."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import wordstill

pytest.importorskip("torch")
from tests.fuzz.faults import LIBRARY, build
from tests.fuzz.kills import Killer
from tests.fuzz.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]


def test_failing_calls_lose_nothing(tmp_path):
    library = build(tmp_path)
    if library is None:
        pytest.skip("failing calls need Linux and a C compiler")
    paths = os.pathsep.join((str(Path(wordstill.__file__).parents[1]), str(ROOT)))
    environment = os.environ | {LIBRARY: str(library), "LD_PRELOAD": str(library), "PYTHONPATH": paths}
    command = [sys.executable, "-m", "tests.fuzz.faults", "--every", "7", "convert to a folder", "convert to a file"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "convert to a folder: " in done.stdout and " 0 wrong" in done.stdout


@pytest.mark.parametrize("name", ["prepare", "convert to a folder"])
def test_kills_lose_nothing(tmp_path, name):
    killer = Killer(SCENARIOS[name], tmp_path)
    assert killer.sequence(random.Random(0), 4)[1] == ""
