"""Showing an evaluation: a table for the terminal and one in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordstill.evaluate.datasets import DATASETS
from wordstill.evaluate.score import Score
from wordstill.evaluate.suite import Evaluation

if TYPE_CHECKING:
    from rich.table import Table

A8_TITLE = "Mean of the eight (A8)"
NO_FIGURE = "–"


def table(evaluation: Evaluation) -> Table:
    """A table that rich can print: one row for each set, one column for each table of vectors."""
    from rich.markup import escape
    from rich.table import Table

    shown = Table(caption=escape(notes(evaluation)), caption_justify="left")
    shown.add_column("set")
    shown.add_column("measure")
    for name in evaluation.scores:
        shown.add_column(escape(name), justify="right")
    for row in _rows(evaluation):
        shown.add_row(*map(escape, row))
    return shown


def markdown(evaluation: Evaluation) -> str:
    """The same table in Markdown, with the rules under it."""
    lines = [
        _line(["set", "measure", *evaluation.scores]),
        _line(["---", "---", *("---:" for _ in evaluation.scores)]),
        *map(_line, _rows(evaluation)),
    ]
    return "\n".join([*lines, "", notes(evaluation), ""])


def notes(evaluation: Evaluation) -> str:
    """What a reader must know: what a cell holds, the rules for absent words, uneven coverage."""
    sentences = [
        "Figure × 100, [95 % bootstrap interval over pairs], pairs with both words in the table / all pairs.",
        evaluation.protocol.describe(),
    ]
    if _uneven(evaluation):
        sentences.append(
            "Coverage differs between tables, so figures in one row are not over the same pairs."
        )
    return " ".join(sentences)


def _rows(evaluation: Evaluation) -> list[list[str]]:
    rows = [
        [_title(name), _measure(evaluation, name), *map(_cell, _column(evaluation, name))]
        for name in evaluation.sets
    ]
    means = evaluation.a8
    if means:
        cells = (f"{means[name]:.1f}" if name in means else NO_FIGURE for name in evaluation.scores)
        rows.append([A8_TITLE, "mean", *cells])
    return rows


def _column(evaluation: Evaluation, name: str) -> list[Score | None]:
    """The scores of every table on one set."""
    return [scores.get(name) for scores in evaluation.scores.values()]


def _title(name: str) -> str:
    return DATASETS[name].title if name in DATASETS else name


def _measure(evaluation: Evaluation, name: str) -> str:
    return next(score.metric for score in _column(evaluation, name) if score is not None)


def _cell(score: Score | None) -> str:
    if score is None:
        return NO_FIGURE
    if score.value is None or score.interval is None:
        return f"no figure: {score.problem}"
    used, total = score.coverage
    return f"{score.value:.1f} [{score.interval.low:.1f}, {score.interval.high:.1f}] {used}/{total}"


def _uneven(evaluation: Evaluation) -> bool:
    return any(
        len({score.coverage for score in _column(evaluation, name) if score is not None}) > 1
        for name in evaluation.sets
    )


def _line(cells: list[str]) -> str:
    escaped = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
