"""Showing an evaluation as a table: for the terminal, in Markdown and in LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordstill.evaluate.datasets import DATASETS
from wordstill.evaluate.evaluation import Comparison, Evaluation
from wordstill.evaluate.published import best_published
from wordstill.evaluate.score import Score
from wordstill.evaluate.studies import LayerStudy
from wordstill.evaluate.task import TRAINING

if TYPE_CHECKING:
    from rich.table import Table

A8_TITLE = "Mean of the eight (A8)"
PUBLISHED_TITLE = "best published"
NO_FIGURE = "–"
SIGNIFICANT = 0.05
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "×": r"$\times$",
}


def table(evaluation: Evaluation, *, published: bool = False) -> Table:
    """A table that rich can print: one row for each set, one column for each table of vectors."""
    from rich.markup import escape
    from rich.table import Table

    shown = Table(caption=escape(notes(evaluation, published=published)), caption_justify="left")
    head, *rows = cells(evaluation, published=published)
    for number, name in enumerate(head):
        shown.add_column(escape(name), justify="left" if number < 2 else "right")
    for row in rows:
        shown.add_row(*map(escape, row))
    return shown


def layer_table(study: LayerStudy) -> Table:
    """A study of layers as a table that rich can print."""
    from rich.markup import escape
    from rich.table import Table

    head, *rows = layer_rows(study)
    shown = Table(*map(escape, head), title="Layers, scored on the other half", title_justify="left")
    for row in rows:
        shown.add_row(*map(escape, row))
    return shown


def markdown(evaluation: Evaluation, *, published: bool = False) -> str:
    """The same table in Markdown, with the rules under it."""
    head, *rows = cells(evaluation, published=published)
    lines = [_line(head), _line(["---", "---", *("---:" for _ in head[2:])]), *map(_line, rows)]
    return "\n".join([*lines, "", notes(evaluation, published=published), ""])


def latex(evaluation: Evaluation, *, published: bool = False) -> str:
    """The same table in LaTeX, for the package booktabs; the best figure of a row is bold."""
    head, *rows = cells(evaluation, published=published)
    best = [_best_columns(evaluation, name) for name in evaluation.sets]
    body = []
    for number, row in enumerate(rows):
        bold = best[number] if number < len(best) else set()
        shown = [
            f"\\textbf{{{_tex(cell)}}}" if place - 2 in bold else _tex(cell) for place, cell in enumerate(row)
        ]
        body.append(" & ".join(shown) + r" \\")
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{ll{'r' * (len(head) - 2)}}}",
        r"\toprule",
        " & ".join(map(_tex, head)) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_tex(notes(evaluation, published=published))}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def notes(evaluation: Evaluation, *, published: bool = False) -> str:
    """What a reader must know: what a cell holds, the rules for absent words, uneven coverage."""
    sentences = [
        "Figure × 100, [95 % bootstrap interval over items], items with every word in the table / all items."
    ]
    if not {*TRAINING, "probe"}.isdisjoint(evaluation.tasks):
        sentences.append(
            "Of tasks that train, ± is the standard deviation over seeds, and coverage is of running words."
        )
    sentences.append(evaluation.protocol.describe(evaluation.tasks))
    if uneven(evaluation):
        sentences.append(
            "Coverage differs between tables, so figures in one row are not over the same items."
        )
    if published:
        sentences.append(
            "Published figures come from other evaluators, words and rules; they are told for orientation."
        )
    if evaluation.missing:
        sentences.append(
            f"Not found, so not scored: {', '.join(evaluation.missing)} (wordstill data fetch gets them)."
        )
    return " ".join(sentences)


def cells(evaluation: Evaluation, *, published: bool = False) -> list[list[str]]:
    """The table as text: the head, then a row for each set, then the mean of the eight."""
    more = [PUBLISHED_TITLE] if published else []
    rows = [["set", "measure", *evaluation.scores, *more]]
    for name in evaluation.sets:
        row = [title(name), _measure(evaluation, name), *map(cell, column(evaluation, name))]
        rows.append([*row, best_cell(name)] if published else row)
    means = evaluation.a8
    if means:
        shown = (f"{means[name]:.1f}" if name in means else NO_FIGURE for name in evaluation.scores)
        rows.append([A8_TITLE, "mean", *shown, *(NO_FIGURE for _ in more)])
    return rows


def column(evaluation: Evaluation, name: str) -> list[Score | None]:
    """The scores of every table on one set."""
    return [scores.get(name) for scores in evaluation.scores.values()]


def title(name: str) -> str:
    """The name of a set as it is printed."""
    base, _, kind = name.rpartition(":")
    if base in DATASETS:
        return f"{DATASETS[base].title} ({kind})"
    return DATASETS[name].title if name in DATASETS else name


def cell(score: Score | None) -> str:
    """A figure with its interval or deviation and its coverage."""
    if score is None:
        return NO_FIGURE
    if score.value is None or score.interval is None:
        return f"no figure: {score.problem}"
    used, total = score.coverage
    spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
    interval = f"[{score.interval.low:.1f}, {score.interval.high:.1f}]"
    return f"{score.value:.1f}{spread} {interval} {used}/{total}"


def best_cell(name: str) -> str:
    """The highest published figure of a set and whose it is."""
    best = best_published(name)
    return NO_FIGURE if best is None else f"{best.value:.1f} {best.row.model}"


def comparison_line(one: Comparison) -> str:
    """A paired test in a sentence."""
    verdict = "differs" if one.p_value < SIGNIFICANT else "does not differ reliably"
    return (
        f"{title(one.dataset)}: {one.first} {verdict} from {one.second} by {one.difference:+.1f} "
        f"[{one.interval.low:+.1f}, {one.interval.high:+.1f}], p = {one.p_value:.3f}, {one.n} items of both"
    )


def layer_rows(study: LayerStudy) -> list[list[str]]:
    """A study of layers as a table of text."""
    overall = f"layer {study.layers[study.overall]}, best overall on the development halves"
    rows = [["set", "chosen on the development half", overall, "best on the test half itself"]]
    for choice in study.choices:
        rows.append(
            [
                title(choice.dataset),
                f"{choice.chosen_value:.1f} (layer {study.layers[choice.chosen]})",
                "–" if choice.overall_value is None else f"{choice.overall_value:.1f}",
                f"{choice.oracle_value:.1f} (layer {study.layers[choice.oracle]})",
            ]
        )
    return rows


def uneven(evaluation: Evaluation) -> bool:
    """Whether tables cover different numbers of items of some set."""
    return any(
        len({score.coverage for score in column(evaluation, name) if score is not None}) > 1
        for name in evaluation.sets
    )


def _measure(evaluation: Evaluation, name: str) -> str:
    return next(score.metric for score in column(evaluation, name) if score is not None)


def _best_columns(evaluation: Evaluation, name: str) -> set[int]:
    values = [score.value if score else None for score in column(evaluation, name)]
    highest = max((value for value in values if value is not None), default=None)
    return {number for number, value in enumerate(values) if value is not None and value == highest}


def _line(row: list[str]) -> str:
    escaped = (" ".join(text.split()).replace("|", "\\|") for text in row)
    return f"| {' | '.join(escaped)} |"


def _tex(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(letter, letter) for letter in " ".join(text.split()))
