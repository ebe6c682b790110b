"""Update all generated blocks and pictures of the pages from the JSON files in experiments/results.

A block is between <!-- NAME: begin --> and <!-- NAME: end -->, where NAME is the name of a table. With --check nothing
is written, and the command fails if a page is not up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from experiments.pages import (
    associations,
    change,
    meaning,
    meaning_seeds,
    printed,
    quality,
    reproduction,
    safety,
    scale,
    senses,
    small,
    speed,
)
from experiments.record import ROOT

BLOCKS: Mapping[str, Callable[[], str]] = {
    "quality": quality.page,
    "quality-summary": quality.summary_page,
    "printed": printed.page,
    "reading-units": quality.reading_units,
    "choice": quality.choice_page,
    "search": quality.search_page,
    "retrofit": quality.retrofit_page,
    "bounded-retrofit": small.bounded_retrofit,
    "small-tables": small.small_tables,
    "unseen-words": small.unseen_words,
    "associations": associations.page,
    "calibration": change.calibration,
    "planted-change": change.planted,
    "opposites": associations.opposites,
    "reproduction": reproduction.page,
    "meaning": meaning.page,
    "meaning-seeds": meaning_seeds.page,
    "senses": senses.page,
    "safety": safety.page,
    "scale-agreement": scale.agreement,
    "scale-simulation": scale.simulation,
    "averaged-learners": scale.averaged_learners,
    "speed": speed.page,
    "speed-summary": speed.summary,
}
PICTURES: Mapping[str, Callable[[], str]] = {"docs/images/quality-size.svg": quality.size_picture}
MARKED = re.compile(r"<!-- (?P<name>[\w-]+): begin -->\n.*?<!-- (?P=name): end -->", re.DOTALL)


def main() -> None:
    """Update the pages, or check them."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tables", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page or picture is stale")
    check = parser.parse_args().check
    stale = stale_files()
    if check and stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        sys.exit(f"not up to date: {names}; run python -m experiments.tables")
    for path, text in stale.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def stale_files() -> dict[Path, str]:
    """Pages and pictures that are not up to date, with their new content."""
    made = [*pages(), *((ROOT / name, picture()) for name, picture in PICTURES.items())]
    return {path: text for path, text in made if not path.exists() or path.read_text() != text}


def pages() -> Iterator[tuple[Path, str]]:
    """All pages with generated blocks, with their new content."""
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("experiments/*.md")]):
        text = path.read_text()
        if MARKED.search(text):
            yield path, MARKED.sub(lambda found: block(found["name"]), text)


def block(name: str) -> str:
    """A generated block with its markers."""
    return f"<!-- {name}: begin -->\n{BLOCKS[name]()}\n<!-- {name}: end -->"


if __name__ == "__main__":
    main()
