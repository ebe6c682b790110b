"""The demo of the README, as a newcomer runs it: real text, the real embedded teacher."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    result = subprocess.run(
        [sys.executable, "-m", "wordstill.demo", "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return out, result.stdout


def test_still_agrees_with_people_on_every_pair(demo):
    out, _ = demo
    tables = json.loads((out / "evaluation.json").read_text())["tables"]
    scores = {score["dataset"]: score for score in tables["still"]["scores"]}
    assert scores["wordsim353"]["coverage"] == {"used": 353, "total": 353}
    assert scores["simlex999"]["coverage"] == {"used": 999, "total": 999}
    assert scores["wordsim353"]["value"] >= 75
    assert scores["simlex999"]["value"] >= 51


def test_it_leaves_vectors_and_says_what_to_try_next(demo):
    out, printed = demo
    assert sorted(path.name for path in out.iterdir()) == ["evaluation.json", "map.svg", "store", "vectors"]
    assert sorted(path.name for path in (out / "vectors").iterdir()) == ["ase", "still"]
    assert "Try next" in printed
    assert "philosopher" in printed
    assert "<circle" in (out / "map.svg").read_text()
    assert "WordSim-353" in printed
