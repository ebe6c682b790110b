"""What evaluate and compare share: the options of the protocol, and the reports of an evaluation."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.options import option
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from wordstill.evaluation import Evaluation
    from wordstill.vectors import WordVectors

RULES = "Rules"
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
class Reports:
    """The files to write; None for those not requested."""

    out: Path | None
    html: Path | None
    words: Sequence[str] = ()
    """Whose neighbours the page shows."""
    projection: str = "pca"
    overwrite: bool = False

    @classmethod
    def planned(
        cls, out: Path | None, html: Path | None, words: Sequence[str], projection: str, *, overwrite: bool
    ) -> Reports:
        """Resolve folders to files of the usual names, and refuse what could not be written."""
        out, html = _file(out, "evaluation.json"), _file(html, "evaluation.html")
        if out is not None and html is not None and out.resolve() == html.resolve():
            raise UsageError(f"--out and --html are both {out}. Use two different files.")
        _refuse(out, overwrite=overwrite)
        _refuse(html, overwrite=overwrite)
        return cls(out, html, words, projection, overwrite)

    def check(self, tables: Mapping[str, WordVectors]) -> None:
        """Refuse what the page could not show."""
        from wordstill.evaluation.comparison import absent_everywhere
        from wordstill.evaluation.report.plots import check_projection

        if self.html is None and self.words:
            raise UsageError("Neighbours are shown on the page: use --html FILE with --neighbours.")
        check_projection(self.projection)
        if absent := absent_everywhere(tables, self.words):
            raise UsageError(f"No table has these words, whose neighbours are to be shown: {', '.join(absent)}.")

    def write(self, evaluation: Evaluation, tables: Mapping[str, WordVectors]) -> None:
        """Write the files."""
        if self.out is not None:
            typer.echo(f"Written: {evaluation.save(self.out, overwrite=self.overwrite)}", err=True)
        if self.html is not None:
            self._write_page(evaluation, tables, self.html)

    def _write_page(self, evaluation: Evaluation, tables: Mapping[str, WordVectors], path: Path) -> None:
        from wordstill.core.files import atomic_file
        from wordstill.evaluation.report.page import Exhibits, html

        exhibits = Exhibits.of(tables, self.words, self.projection, evaluation.seed)  # type: ignore[arg-type]
        with atomic_file(path) as handle:
            handle.write(html(evaluation, exhibits).encode())
        typer.echo(f"Written: {path}", err=True)


def show(evaluation: Evaluation, form: str, *, published: bool) -> None:
    """Print an evaluation.

    Args:
        evaluation: What to print.
        form: ``table``, ``markdown`` or ``latex``.
        published: Whether to show the scores of papers next to it.
    """
    from wordstill.evaluation.report import tables as report

    if form != "table":
        make = report.markdown if form == "markdown" else report.latex
        typer.echo(make(evaluation, published=published), nl=False)
        return
    from wordstill.evaluation.report.tables import NAMES
    from wordstill.evaluation.studies import layers_if_any

    print_whole(report.table(evaluation, published=published), NAMES)
    if (differences := report.difference_table(evaluation)) is not None:
        print_whole(differences, names=1)
    if (study := layers_if_any(evaluation)) is not None:
        print_whole(report.layer_table(study), names=1)
    typer.echo(f"Protocol: {evaluation.protocol.name}")


def print_whole(table: Table, names: int) -> None:
    """Print a table without truncation: one that is too wide gets a line for each cell.

    Args:
        table: The table. Its columns are changed.
        names: Number of columns that name the row.
    """
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
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


def _refuse(path: Path | None, *, overwrite: bool) -> None:
    from wordstill.core.files import refuse_existing

    if path is not None:
        refuse_existing(path, overwrite=overwrite)
