"""Showing an evaluation as a table: for the terminal, in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wordstill.evaluate.evaluation import Evaluation
from wordstill.evaluate.report_rows import NAMES, best_cells, cells, difference_rows, layer_rows, notes
from wordstill.evaluate.studies import LayerStudy

if TYPE_CHECKING:
    from rich.table import Table

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
    "±": r"$\pm$",
}

Write = Callable[[str], str]


def table(evaluation: Evaluation, *, published: bool = False) -> Table:
    """A table that rich can print: one row for each set, one column for each table of vectors."""
    from rich.markup import escape

    rows = _written(evaluation, escape, lambda figure: f"[bold]{figure}[/bold]", published=published)
    return _rich(rows, NAMES, caption=escape(notes(evaluation, published=published)))


def difference_table(evaluation: Evaluation) -> Table | None:
    """The paired tests against the first table, for rich; None if there are none."""
    from rich.markup import escape

    rows = [[escape(text) for text in row] for row in difference_rows(evaluation)]
    if len(rows) == 1:
        return None
    first = next(iter(evaluation.scores))
    return _rich(
        rows,
        names=1,
        title=f"Differences from {escape(first)}, over the items of both tables",
        caption=escape("Difference × 100, [95 % interval] and p of a paired bootstrap, items."),
    )


def layer_table(study: LayerStudy) -> Table:
    """A study of layers as a table that rich can print."""
    from rich.markup import escape

    rows = [[escape(text) for text in row] for row in layer_rows(study)]
    return _rich(rows, names=1, title="Layers, scored on the other half")


def markdown(evaluation: Evaluation, *, published: bool = False) -> str:
    """The same table in Markdown, with the rules under it."""
    head, *rows = _written(evaluation, _md, lambda figure: f"**{figure}**", published=published)
    rule = ["---"] * NAMES + ["---:"] * (len(head) - NAMES)
    lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
    return "\n".join([*lines, "", notes(evaluation, published=published), ""])


def latex(evaluation: Evaluation, *, published: bool = False) -> str:
    """The same table in LaTeX, for the package booktabs."""
    rows = _written(evaluation, _tex, lambda figure: f"\\textbf{{{figure}}}", published=published)
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{'l' * NAMES}{'r' * (len(rows[0]) - NAMES)}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_tex(notes(evaluation, published=published))}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _written(evaluation: Evaluation, plain: Write, bold: Write, *, published: bool) -> list[list[str]]:
    """The cells in some language; of the best of a set the figure is bold."""
    best = best_cells(evaluation)
    rows = []
    for number, row in enumerate(cells(evaluation, published=published)):
        written = []
        for place, text in enumerate(row):
            figure, blank, rest = text.partition(" ")
            marked = (number, place) in best
            written.append(bold(plain(figure)) + blank + plain(rest) if marked else plain(text))
        rows.append(written)
    return rows


def _rich(rows: Sequence[Sequence[str]], names: int, title: str | None = None, caption: str = "") -> Table:
    from rich.table import Table

    head, *body = rows
    shown = Table(title=title, title_justify="left", caption=caption or None, caption_justify="left")
    for number, name in enumerate(head):
        shown.add_column(name, justify="left" if number < names else "right")
    for row in body:
        shown.add_row(*row)
    return shown


def _md(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _tex(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(letter, letter) for letter in " ".join(text.split()))
