"""What docs/postprocess.md says is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import wordstill
from wordstill.postprocess import TRANSFORMS
from wordstill.postprocess.retrofit import PRESETS
from wordstill.vectors.oov import BACKOFFS

PAGE = Path(__file__).parents[2] / "docs" / "postprocess.md"


def test_its_examples_run(tmp_path):
    (tmp_path / "ppdb-xl.txt").write_text("king queen\nman woman\n")
    (tmp_path / "antonyms.csv").write_text("king,man\n")
    script = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    environment = os.environ | {"PYTHONPATH": str(Path(wordstill.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # The objective before the first of ten passes and after each.
    assert len(done.stdout.split(",")) == 11


def test_it_names_every_transform_with_its_settings():
    lines = [line.split("|") for line in PAGE.read_text().splitlines() if line.count("|") == 4]
    rows = {cells[1].strip(" `"): cells[3] for cells in lines}
    by_kind = {TRANSFORMS[name]: cell for name, cell in rows.items() if name in TRANSFORMS}
    for name, kind in TRANSFORMS.items():
        named = set(re.findall(r"`(\w+)`", by_kind[kind]))
        if name == "average":
            named |= set(re.findall(r"`(\w+)`", rows["concatenate"]))
        assert named == {field.name for field in fields(kind.config_type)}, name


def test_it_names_every_policy():
    assert all(f"| `{name}` |" in PAGE.read_text() for name in BACKOFFS)


def test_it_says_which_methods_of_retrofitting_are_convex():
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (yes|no) \|$", PAGE.read_text(), flags=re.MULTILINE)
    assert dict(rows) == {name: "yes" if config.convex else "no" for name, config in PRESETS.items()}
