"""What docs/retrofitting.md shows can be run, and its table of methods is the program's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import wordstill
from wordstill.postprocess.retrofit import PRESETS
from wordstill.vectors import WordVectors

PAGE = Path(__file__).parents[3] / "docs" / "retrofitting.md"


def test_python_runs(tmp_path):
    words = ["big", "large", "small", "little"]
    matrix = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    WordVectors(words, matrix).save(tmp_path / "vectors")
    (tmp_path / "ppdb-xl.txt").write_text("big large\nsmall little\n")
    (tmp_path / "antonyms.csv").write_text("big,small\n")
    script = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    environment = os.environ | {"PYTHONPATH": str(Path(wordstill.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split(",")) == 11


def test_every_method_is_told():
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (yes|no) \|$", PAGE.read_text(), flags=re.MULTILINE)
    assert dict(rows) == {name: "yes" if config.convex else "no" for name, config in PRESETS.items()}
