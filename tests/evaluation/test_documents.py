"""What the pages on evaluation say can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("evaluation.md",)


@pytest.mark.parametrize("page", PAGES)
def test_imports_lead_somewhere(page):
    found = re.findall(r"from wordstill[\w.]* import [\w, ]*\w", (DOCS / page).read_text())
    assert found
    for line in found:
        exec(line, {})


@pytest.mark.parametrize("page", PAGES)
def test_no_dotted_name_goes_through_the_function(page):
    assert re.findall(r"(?<!from )wordstill\.evaluate\.\w+", (DOCS / page).read_text()) == []


def test_the_example_runs(bare, random_vectors, tmp_path, monkeypatch, capsys):
    pytest.importorskip("gensim")
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("first", "second")):
        random_vectors(["old", "new", "smart", "intelligent", "hard", "difficult", "happy", "cheerful"], seed).save(
            name
        )
    Path("pairs.tsv").write_text("old\tnew\t1\nhard\tdifficult\t9\nhappy\tnew\t2\n")
    block = re.search(r"```python\n(.*?)```", (DOCS / "evaluation.md").read_text(), flags=re.DOTALL)
    exec(block[1], {})
    assert Path("evaluation.json").is_file()
    assert "'dataset': 'pairs.tsv'" in capsys.readouterr().out
