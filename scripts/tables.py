"""Make docs/results.md and tables of README.md, docs/retrofitting.md and docs/meaning.md from docs/results.

A page has a section for each text. Files NAME.json and NAME.SOMETHING.json are about the same text; rows with
the same label are seeds of one method, and their mean and standard deviation are shown.

With --check nothing is written: it fails if they are not what the JSON files say.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import meaning_page
from blocks import BLOCKS, EIGHT, Block, Column
from measure_extrinsic import PARENT
from retrofit_page import RETROFIT_BLOCKS, choices

from wordstill.methods import METHODS
from wordstill.run import DistillConfig

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "results.md"
README = ROOT / "README.md"
RETROFITTING = ROOT / "docs" / "retrofitting.md"
MEANING = ROOT / "docs" / "meaning.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
SHOWN_IN_README = "enwiki-a"
WITHOUT_TEXT = ("decontextual", PARENT)
"""Rows that do not depend on what the teacher reads."""
INTRODUCTION = """\
# Results

Points of 100. After ± stands the standard deviation over seeds, of methods that draw anything and were run
with several. In brackets stands what a figure covers: pairs, questions or words whose words are all in the
table, and for classification and tagging the share of running words. What is not covered is skipped, so
figures with different brackets are over different items; methods that learn step by step leave out words that
the text does not show. The settings of `still` and of the learners' default preset were chosen on the
development half of each similarity set (every second pair) over two texts, enwiki-a and the excerpt of
`make demo`, with the figures over all pairs printed beside them; the figures here are over all pairs.

The teacher reads each sentence by itself, and whole paragraphs in rows that say so (`--read paragraph`),
which was the default when settings were chosen.

This page is made by `python scripts/tables.py` from the files in [results/](results).
"""

Row = Mapping[str, Any]


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    texts: dict[str, list[dict[str, Any]]] = {}
    # NAME comes before NAME.SOMETHING.
    for path in sorted(RESULTS.glob("*.json"), key=lambda path: path.stem):
        texts.setdefault(path.stem.partition(".")[0], []).append(json.loads(path.read_text()))
    retrofitted, meanings = (
        [json.loads(path.read_text()) for path in sorted((RESULTS / folder).glob("*.json"))]
        for folder in ("retrofit", "meaning")
    )
    pages = {
        PAGE: page(texts),
        README: readme(README.read_text(), texts[SHOWN_IN_README]),
        RETROFITTING: retrofitting(RETROFITTING.read_text(), retrofitted),
        MEANING: between_marks(MEANING.read_text(), "\n".join(map(meaning_page.section, meanings))),
    }
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if check and stale:
        names = ", ".join(path.name for path in stale)
        sys.exit(f"not made from docs/results: {names}; run python scripts/tables.py")
    for path in stale:
        path.write_text(pages[path])


def page(texts: Mapping[str, list[dict[str, Any]]]) -> str:
    """The whole of docs/results.md."""
    return "\n".join([INTRODUCTION, *(section(files) for files in texts.values())])


def section(files: list[dict[str, Any]], blocks: Iterable[Block] = BLOCKS) -> str:
    """One text: how its rows were made, and a table for each kind of task."""
    rows = by_label(files)
    lines = [f"## {files[0]['title']}", ""]
    for content in files:
        lines += [made(content), "", f"    {content['command']}", ""]
    for block in blocks:
        if shown := table(block, rows):
            lines += [f"{block.title}:", "", *shown, ""]
    return "\n".join(lines)


def made(content: dict[str, Any]) -> str:
    """Which rows a command has made, from what, and where."""
    rows = content["rows"]
    alike: dict[tuple[str, ...], dict[str, list[int | None]]] = {}
    for row in rows:
        labels = alike.setdefault(tuple(facts_of(row["provenance"])), {})
        labels.setdefault(label_of(row), []).append(row["seed"])
    told = []
    for facts, labels in alike.items():
        named = ", ".join(f"`{label}`{told_seeds(seeds)}" for label, seeds in labels.items())
        told.append(": ".join([named, ", ".join(facts)]) if facts else named)
    seconds = dict.fromkeys(
        f"{row['seconds']:g} s for {' + '.join(row['beside'])}" for row in rows if row.get("seconds")
    )
    where = f"on {content['hardware']}" + (f": {', '.join(seconds)}" if seconds else "")
    return f"{'; '.join(told)}; {where}; commit {content['commit']}."


def told_seeds(seeds: list[int | None]) -> str:
    """Behind a label, if its rows depend on any seed."""
    drawn = [str(seed) for seed in seeds if seed is not None]
    return f" (seed{'s' if len(drawn) > 1 else ''} {', '.join(drawn)})" if drawn else ""


def facts_of(provenance: Mapping[str, Any]) -> list[str]:
    """What a table says of its teacher, text and vocabulary."""
    facts = []
    if teacher := provenance.get("teacher"):
        facts.append(f"teacher {teacher['name']} ({teacher['dtype']})")
    if corpus := provenance.get("corpus"):
        facts.append(f"{corpus['words']:,} words and punctuation marks")
    if vocabulary := provenance.get("vocabulary"):
        facts.append(f"vocabulary of {vocabulary['size']:,}")
    return facts


def by_label(files: Iterable[dict[str, Any]]) -> dict[str, list[Row]]:
    """The rows of every method, one for each seed, in the order of the files."""
    rows: dict[str, dict[int | None, dict[str, Any]]] = {}
    for content in files:
        for row in content["rows"]:
            label = label_of(row)
            scores = rows.setdefault(label, {}).setdefault(row["seed"], {"scores": {}})["scores"]
            for kind, figures in row["scores"].items():
                known = scores.setdefault(kind, {})
                if twice := ", ".join(sorted(known.keys() & figures.keys())):
                    sys.exit(f"{label}, seed {row['seed']}: two files have {twice}; keep one.")
                known.update(figures)
    return {label: list(seeds.values()) for label, seeds in rows.items()}


def label_of(row: Row) -> str:
    """The method, and where it is not the default what the teacher read at one time, a setting of the run."""
    label, unit = str(row["label"]), row["provenance"].get("batches", {}).get("unit", DistillConfig.read)
    return label if unit == DistillConfig.read or label in WITHOUT_TEXT else f"{label}, {unit}s"


def table(block: Block, rows: Mapping[str, list[Row]]) -> list[str]:
    """The lines of a table; none if no row has any of its figures."""
    lines = []
    for label, seeds in rows.items():
        scored = [seed["scores"][block.figures] for seed in seeds if block.figures in seed["scores"]]
        scored = [figures for figures in scored if any(column.name in figures for column in block.columns)]
        if scored:
            cells = [cell(scored, column, share=block.share) for column in block.columns]
            if block.mean is not None:
                cells.append(f"**{mean_cell(scored, block.columns)}**")
            lines.append(f"| `{label}` | {' | '.join(cells)} |")
    titles = [column.title for column in block.columns] + ([block.mean] if block.mean else [])
    return [f"| vectors | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles), *lines] if lines else []


def cell(scored: list[Row], column: Column, *, share: bool) -> str:
    """The mean over seeds, its deviation, and the coverage."""
    figures = [figures[column.name] for figures in scored if column.name in figures]
    values = [value for figure in figures if (value := value_of(figure, column.part)) is not None]
    if not values:
        return "–"
    shown = spread(values, figures[0].get("deviation") if column.part is None else None)
    if column.part is not None:
        return shown
    return f"{shown} ({coverage(figures, share=share)})"


def coverage(figures: list[Row], *, share: bool) -> str:
    """What the figures of all seeds are over; two numbers where seeds differ."""
    used, total = [figure["used"] for figure in figures], figures[0]["total"]
    ends = [f"{100 * end / total:.0f}" if share else str(end) for end in (min(used), max(used))]
    return "–".join(dict.fromkeys(ends)) + (" %" if share else "")


def mean_cell(scored: list[Row], columns: Iterable[Column]) -> str:
    """The mean of all columns, over seeds; only of seeds that have a figure for each."""
    means = []
    for figures in scored:
        values = [value_of(figures.get(column.name, {}), column.part) for column in columns]
        numbers = [value for value in values if value is not None]
        if len(numbers) == len(values):
            means.append(mean(numbers))
    return spread(means, None) if means else "–"


def value_of(figure: Row, part: str | None) -> float | None:
    """The figure, or that of a part."""
    value: float | None = figure.get("value") if part is None else figure.get("parts", {}).get(part)
    return value


def spread(values: list[float], deviation: float | None) -> str:
    """The mean, with the standard deviation where there is one."""
    if len(values) > 1:
        deviation = stdev(values)
    return f"{mean(values):.1f}" + ("" if deviation is None else f" ± {deviation:.1f}")


def readme(text: str, files: list[dict[str, Any]]) -> str:
    """README.md with its results table put anew between the two marks; of methods at their defaults only."""
    lines = ["| vectors | WordSim-353 | SimLex-999 | MEN | mean of eight sets |", "|---|---:|---:|---:|---:|"]
    named = {column.name: column for column in EIGHT}
    for label, seeds in by_label(files).items():
        scored = [seed["scores"]["all"] for seed in seeds if "all" in seed["scores"]]
        if not scored or label not in METHODS:
            continue
        cells = [
            cell(scored, named[name], share=False).partition(" (")[0]
            for name in ("wordsim353", "simlex999", "men")
        ]
        lines.append(f"| `{label}` | {' | '.join([*cells, mean_cell(scored, EIGHT)])} |")
    return between_marks(text, "\n".join(lines))


def retrofitting(text: str, files: list[dict[str, Any]]) -> str:
    """docs/retrofitting.md with what was measured put anew between the two marks."""
    sections = [
        "\n".join([f"#{section([content], RETROFIT_BLOCKS)}", *choices(content), ""]) for content in files
    ]
    return between_marks(text, "\n".join(sections))


def between_marks(text: str, content: str) -> str:
    """A page with something else between its two marks."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{content}\n{END}{after}"


if __name__ == "__main__":
    main()
