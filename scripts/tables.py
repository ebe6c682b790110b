"""Make docs/results.md and the results table of README.md from docs/results/*.json.

With --check nothing is written: it fails if they are not what the JSON files say.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "results.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
SETS = {
    "rg65": "RG-65",
    "wordsim353": "WS-353",
    "wordsim353-similarity": "WS-S",
    "wordsim353-relatedness": "WS-R",
    "simlex999": "SimLex",
    "simverb3500": "SimVerb",
    "rareword": "RareW",
    "men": "MEN",
}
SHOWN_IN_README = "enwiki-a"
INTRODUCTION = """\
# Results

Spearman's correlation with human judgements, times 100; in brackets the pairs whose two words are in the
table. A8 is the mean of the eight columns. Pairs with an absent word are skipped, which is why every block
says what it covers; methods that learn step by step leave out words that the text does not show. The settings
of `still` and of the learners' default preset were chosen on the development half of each set (every second
pair) over two texts, enwiki-a and the excerpt of `make demo`, with the figures over all pairs printed beside
them; the figures here are over all pairs.

This page is made by `python scripts/tables.py` from the files in [results/](results).
"""


def main() -> None:
    """Write both, or check both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    measured = {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    pages = {PAGE: page(measured), README: readme(README.read_text(), measured[SHOWN_IN_README])}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if check and stale:
        names = ", ".join(path.name for path in stale)
        sys.exit(f"not made from docs/results: {names}; run python scripts/tables.py")
    for path in stale:
        path.write_text(pages[path])


def page(measured: dict[str, dict[str, Any]]) -> str:
    """The whole of docs/results.md."""
    return "\n".join([INTRODUCTION, *(section(facts) for facts in measured.values())])


def section(facts: dict[str, Any]) -> str:
    """One measurement: what was done, and a table for each coverage."""
    recipe = facts["recipe"]
    seconds = ", ".join(f"{name} {value:g} s" for name, value in facts["seconds"].items())
    lines = [
        f"## {facts['title']}",
        "",
        f"Teacher {recipe['teacher']['name']} ({recipe['teacher']['dtype']}), "
        f"{recipe['corpus']['words']:,} words and punctuation marks, "
        f"vocabulary of {recipe['vocabulary']['size']:,}, seed {recipe['seed']}; "
        f"on {facts['hardware']}: {seconds}; commit {facts['commit']}.",
        "",
        f"    {facts['command']}",
        "",
        "Every pair, unseen words included:",
        "",
        table(facts["every pair"]),
        "",
        "Only pairs whose words the text shows at least twice:",
        "",
        table(facts["pairs seen in the text"]),
        "",
    ]
    return "\n".join(lines)


def table(figures: dict[str, Any]) -> str:
    """A row for each method."""
    rows = [f"| vectors | {' | '.join(SETS.values())} | A8 |", "|---|" + "---:|" * (len(SETS) + 1)]
    for name, scores in figures.items():
        cells = [f"{scores['sets'][key]['value']:.1f} ({scores['sets'][key]['used']})" for key in SETS]
        rows.append(f"| `{name}` | " + " | ".join(cells) + f" | **{scores['a8']:.1f}** |")
    return "\n".join(rows)


def readme(text: str, facts: dict[str, Any]) -> str:
    """README.md with its results table put anew between the two marks."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    figures = facts["every pair"]
    rows = ["| vectors | WordSim-353 | SimLex-999 | MEN | mean of eight sets |", "|---|---:|---:|---:|---:|"]
    for name, scores in figures.items():
        sets = scores["sets"]
        cells = [sets[key]["value"] for key in ("wordsim353", "simlex999", "men")] + [scores["a8"]]
        rows.append(f"| `{name}` | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    return f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{after}"


if __name__ == "__main__":
    main()
