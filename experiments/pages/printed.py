"""The best printed scores of the papers next to one of our tables, for experiments/results.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.pages.quality import EIGHT, RELATIONS, Column, by_label, by_text, value_of
from wordstill.evaluation.report.published import PublishedRow, best_published

TABLE, WITH_LEXICONS = "words-27M-mpnet-v5", "variants-27M-mpnet-v5"
OURS = ("still", "still, PPDB", "still, PPDB, WordNet and its antonyms")
"""Columns: the table, and the same with lexicons."""


def page() -> str:
    """Each set with the best printed score, and which of these our first column does not reach."""
    texts = by_text()
    scores = {
        label: seeds[0]["scores"]["all"] for label, seeds in by_label(texts[TABLE] + texts[WITH_LEXICONS]).items()
    }
    cells = [(column, best) for column in (*EIGHT, *RELATIONS) if (best := _printed(column)) is not None]
    below = [column.title for column, best in cells if not _reached(scores[OURS[0]], column, best)]
    lines = [
        f"`{OURS[0]}` reaches {len(cells) - len(below)} of {len(cells)}; not reached: {', '.join(below) or 'none'}.",
        "",
        f"| set | best printed | by | {' | '.join(f'`{label}`' for label in OURS)} |",
        "|---|---:|---|" + "---:|" * len(OURS),
    ]
    for column, best in cells:
        shown = " | ".join(_cell(scores[label], column, best) for label in OURS)
        lines.append(f"| {column.title} | {best.scores[column.name]:.1f} | {_source(best)} | {shown} |")
    return "\n".join(lines)


def _printed(column: Column) -> PublishedRow | None:
    return best_published(column.name) if column.part is None else None


def _source(best: PublishedRow) -> str:
    return f"{best.model} ({best.paper.partition(' (')[0]}, Table {best.table})"


def _reached(scores: Mapping[str, Any], column: Column, best: PublishedRow) -> bool:
    value = value_of(scores.get(column.name, {}), column.part)
    return value is not None and value >= best.scores[column.name]


def _cell(scores: Mapping[str, Any], column: Column, best: PublishedRow) -> str:
    """The score, bold where it reaches the printed one."""
    value = value_of(scores.get(column.name, {}), column.part)
    if value is None:
        return "–"
    return f"**{value:.1f}**" if _reached(scores, column, best) else f"{value:.1f}"
