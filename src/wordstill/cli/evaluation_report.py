"""What evaluate and compare share: the options of the protocol, and the reports of an evaluation."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.options import Overwrite, option, refuse_report
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from wordstill.evaluation import Evaluation
    from wordstill.evaluation.report.relation_points import Projection
    from wordstill.vectors import WordVectors

RULES, REPORTS = "Rules", "Reports"
ProtocolName = Annotated[str, option("NAME", "Named rules: default, muse, web or official.", "--protocol", panel=RULES)]
ChangedRules = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
        "Change one rule of the protocol, such as oov=backoff, case=lower, max_vocab=200000, "
        "analogy=3cosmul or sentence=sif; may be repeated.",
        "--rule",
        panel=RULES,
    ),
]
PLAIN_WIDTH = 120
UNLIMITED = 10_000


@dataclass(frozen=True)
class ReportOptions:
    """The files to write; None for those not requested."""

    out: Annotated[Path | None, option("FILE", "Write everything as JSON.", "--out", "-o", panel=REPORTS)] = None
    html: Annotated[Path | None, option("FILE", "Write one page with tables and plots.", panel=REPORTS)] = None
    words: Annotated[
        list[str] | None,
        option("WORD", "A word whose neighbours the page shows; may be repeated.", "--neighbours", panel=REPORTS),
    ] = None
    projection: Annotated[str, option("NAME", "Projection of the plots: pca or tsne.", panel=REPORTS)] = "pca"
    overwrite: Overwrite = False

    def resolved(self) -> ReportOptions:
        """With files of the usual names in place of folders; what could not be written is refused."""
        out, html = _file(self.out, "evaluation.json"), _file(self.html, "evaluation.html")
        if out is not None and html is not None and out.resolve() == html.resolve():
            raise UsageError(f"--out and --html are both {out}. Use two different files.")
        refuse_report(out, overwrite=self.overwrite)
        refuse_report(html, overwrite=self.overwrite)
        return replace(self, out=out, html=html)

    def check(self, tables: Mapping[str, WordVectors]) -> None:
        """Refuse what the page could not show."""
        from wordstill.evaluation.comparison import absent_everywhere
        from wordstill.evaluation.report.relation_points import check_projection

        if self.html is None and self.words:
            raise UsageError("Neighbours are shown on the page: use --html FILE with --neighbours.")
        check_projection(self.projection)
        if absent := absent_everywhere(tables, self.words or ()):
            raise UsageError(f"No table has these words, whose neighbours are to be shown: {', '.join(absent)}.")

    def write(self, evaluation: Evaluation, tables: Mapping[str, WordVectors]) -> None:
        """Write the files."""
        if self.out is not None:
            typer.echo(f"Written: {evaluation.save(self.out, overwrite=self.overwrite)}", err=True)
        if self.html is not None:
            from wordstill.core.files import atomic_file
            from wordstill.evaluation.report.page import Exhibits, html

            projection = cast("Projection", self.projection)
            exhibits = Exhibits.of(tables, self.words or (), projection, evaluation.seed)
            with atomic_file(self.html) as handle:
                handle.write(html(evaluation, exhibits).encode())
            typer.echo(f"Written: {self.html}", err=True)


def show(evaluation: Evaluation, form: str, *, published: bool) -> None:
    """Print an evaluation as ``table``, ``markdown`` or ``latex``, if asked next to the scores of papers."""
    from wordstill.evaluation.report import tables as report

    if form != "table":
        make = report.markdown if form == "markdown" else report.latex
        typer.echo(make(evaluation, published=published), nl=False)
        return
    from wordstill.evaluation.studies import layers_if_any, over_seeds

    print_whole(report.table(evaluation, published=published), report.NAMES)
    if (differences := report.difference_table(evaluation)) is not None:
        print_whole(differences, names=1)
    if (study := layers_if_any(evaluation)) is not None:
        print_whole(report.layer_table(study), names=1)
    if seeds := over_seeds(evaluation):
        print_whole(report.seed_table(seeds), names=2)
    typer.echo(f"Protocol: {evaluation.protocol.name}")


def wide_console() -> Console:
    """The standard output, of a fixed width where it is no terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def print_whole(table: Table, names: int) -> None:
    """Print a table without truncation: one that is too wide gets a line for each cell.

    Its columns are changed; the first ``names`` of them name the row.
    """
    console = wide_console()
    for column in table.columns:
        column.overflow = "fold"
    needed = console.measure(table, options=console.options.update_width(UNLIMITED)).minimum
    console.print(table if needed <= console.width else _long(table, names))


def _long(table: Table, names: int) -> Table:
    """The same cells below each other, each next to the heading of its column."""
    from rich.table import Table

    keys, others = table.columns[:names], table.columns[names:]
    long = Table(title=table.title, caption=table.caption, title_justify="left", caption_justify="left")
    for heading in (*(column.header for column in keys), "table", "result"):
        long.add_column(heading, overflow="fold")
    for key, cells in zip(zip(*(column.cells for column in keys)), zip(*(column.cells for column in others))):
        for number, (column, cell) in enumerate(zip(others, cells), start=1):
            shown = key if number == 1 else [""] * names
            long.add_row(*shown, column.header, cell, end_section=number == len(others))
    return long


def _file(path: Path | None, default: str) -> Path | None:
    return path / default if path is not None and path.is_dir() else path
