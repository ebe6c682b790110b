"""Published scores, row by row with the paper and table of each, from ``published.toml``.

Scores are in points. They were made with other evaluators, words and rules for absent words than ours. Each row names
the paper's protocol, and a comparison is fair only under that protocol.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class PublishedRow:
    """One row of one table of a paper."""

    paper: str
    """Authors, year, and the method in parentheses."""
    table: int
    """Its number in the paper."""
    model: str
    protocol: str | None
    """The named protocol closest to the paper's own rules."""
    scores: Mapping[str, float]
    """By the name of the set."""
    key: str
    """The paper's short name, as in ``wordstill reproduce``."""

    @property
    def source(self) -> str:
        """The paper and the table."""
        return f"{self.paper}, Table {self.table}"


def best_published(name: str) -> PublishedRow | None:
    """The row with the highest published score on a set; None if no paper reports it."""
    return max(published_for([name]), key=lambda row: row.scores[name], default=None)


def published_for(names: Iterable[str]) -> list[PublishedRow]:
    """The rows that report at least one of the sets."""
    wanted = set(names)
    return [row for row in PUBLISHED if wanted & set(row.scores)]


def published_table(paper: str, number: int) -> list[PublishedRow]:
    """The rows of one table, by the paper's short name."""
    return [row for row in PUBLISHED if (row.key, row.table) == (paper, number)]


def read_published() -> tuple[PublishedRow, ...]:
    """All rows of the data file, in its order."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    rows = []
    for table in content["table"]:
        paper = content["papers"][table["paper"]]
        for line in table["rows"].strip().splitlines():
            model, _, numbers = line.partition("|")
            pairs = zip(table["sets"].split(), numbers.split(), strict=True)
            scores = {name: float(cell) for name, cell in pairs if cell != "-"}
            protocol = table.get("protocol")
            rows.append(PublishedRow(paper, table["number"], model.strip(), protocol, scores, table["paper"]))
    return tuple(rows)


PUBLISHED: tuple[PublishedRow, ...] = read_published()
PAPERS: Mapping[str, str] = {row.key: row.paper for row in PUBLISHED}
"""Authors, year and method by the paper's short name."""
