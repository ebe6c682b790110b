"""What docs/postprocess.md says is true."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from wordstill.backoff import BACKOFFS
from wordstill.postprocess import TRANSFORMS

PAGE = Path(__file__).parents[2] / "docs" / "postprocess.md"


def test_its_examples_run(tmp_path):
    script = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_it_names_every_transform_with_its_settings():
    lines = [line.split("|") for line in PAGE.read_text().splitlines() if line.count("|") == 4]
    rows = {cells[1].strip(" `"): cells[3] for cells in lines}
    for name, kind in TRANSFORMS.items():
        named = set(re.findall(r"`(\w+)`", rows[name]))
        if name == "average":
            named |= set(re.findall(r"`(\w+)`", rows["concatenate"]))
        assert named == {field.name for field in fields(kind.config_type)}, name


def test_it_names_every_policy():
    assert all(f"| `{name}` |" in PAGE.read_text() for name in BACKOFFS)
