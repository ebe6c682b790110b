"""The demo of the README, as a newcomer runs it: the real embedded teacher, and the first pages of its text.

All pages take three minutes of work: ``WORDSTILL_DEMO=whole python -m pytest tests/test_demo.py``.
"""

import bz2
import io
import json
import os

import pytest
from rich.console import Console

from wordstill.corpus.sources import embedded_text
from wordstill.demo import run

pytestmark = pytest.mark.slow
WHOLE = os.environ.get("WORDSTILL_DEMO") == "whole"
PAGES = None if WHOLE else 72
LEAST = {"wordsim353": 75, "simlex999": 51}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    pages = bz2.decompress(embedded_text().read_bytes()).split(b"</page>")
    (folder / "wiki.xml").write_bytes(b"</page>".join([*pages[:-1][:PAGES], pages[-1]]))
    out, printed = folder / "out", io.StringIO()
    run(out, Console(file=printed, width=100), folder / "wiki.xml", with_page=False)
    return out, printed.getvalue()


def test_still_agrees_with_people_on_every_pair(demo):
    out, _ = demo
    tables = json.loads((out / "evaluation.json").read_text())["tables"]
    scores = {score["dataset"]: score for score in tables["still"]["scores"]}
    assert scores["wordsim353"]["coverage"] == {"used": 353, "total": 353}
    assert scores["simlex999"]["coverage"] == {"used": 999, "total": 999}
    assert {name: scores[name]["value"] for name in LEAST if scores[name]["value"] < LEAST[name]} == {}


def test_it_leaves_vectors_and_says_what_to_try_next(demo):
    out, printed = demo
    names = ["evaluation.json", "map.svg", "store", "vectors"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert sorted(path.name for path in (out / "vectors").iterdir()) == ["ase", "still"]
    assert "Try next" in printed
    assert "philosopher" in printed
    assert "<circle" in (out / "map.svg").read_text()
    assert "WordSim-353" in printed
