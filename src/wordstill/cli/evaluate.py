"""``wordstill evaluate``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.options import Overwrite, ShowProgress, wants_progress
from wordstill.cli.tables import open_tables
from wordstill.cli.wording import show_next
from wordstill.errors import DataError, UsageError

if TYPE_CHECKING:
    from wordstill.evaluate import Evaluation
    from wordstill.vectors import WordVectors

EXAMPLES = """\
Example: wordstill evaluate vectors

Example: wordstill evaluate vectors glove.txt --suite papers --html report.html

Example: wordstill evaluate vectors --set simlex999 --set my-pairs.tsv --out evaluation.json"""

PLAIN_WIDTH = 120
RULES = "Rules"
REPORTS = "Reports"


def command(
    vectors: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="VECTORS",
            help="Tables, or folders with several of them, to compare.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME|FILE|KIND:FILE",
            help="A data set (NAME:KIND for another task on it), or a file of yours: two words and a score "
            "on each line, or another KIND such as analogy:FILE; may be repeated.",
            show_default=False,
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A group of sets: similarity (the default), intrinsic, sentences, papers, trained, probe.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Named rules: default, muse, web or official.", rich_help_panel=RULES
        ),
    ] = "default",
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="NAME=VALUE",
            help="Change one rule of the protocol, as oov=backoff, case=lower, max_vocab=200000, "
            "analogy=3cosmul or sentence=sif; may be repeated.",
            show_default=False,
            rich_help_panel=RULES,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Of the bootstrap intervals and of trained tasks.", rich_help_panel=RULES
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write everything as JSON.",
            show_default=False,
            rich_help_panel=REPORTS,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write one page with tables and plots.",
            show_default=False,
            rich_help_panel=REPORTS,
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Option(
            "--neighbours",
            metavar="WORD",
            help="A word whose neighbours the page shows; may be repeated.",
            show_default=False,
            rich_help_panel=REPORTS,
        ),
    ] = None,
    projection: Annotated[
        str,
        typer.Option(metavar="NAME", help="Of the page's plots: pca or tsne.", rich_help_panel=REPORTS),
    ] = "pca",
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table as Markdown.", rich_help_panel=REPORTS)
    ] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print the table as LaTeX.", rich_help_panel=REPORTS)
    ] = False,
    list_sets: Annotated[bool, typer.Option("--list", help="List the data sets and stop.")] = False,
) -> None:
    """Measure vectors on the benchmarks of the field: figure, interval, coverage, and the papers' figures."""
    if list_sets:
        from wordstill.cli.data import list_sets as show_sets

        show_sets()
        return
    if not vectors:
        raise UsageError("No vectors were named. Give at least one table, or --list for the data sets.")
    if markdown and latex:
        raise UsageError("--markdown and --latex exclude each other: choose one, or --html, which has both.")
    from wordstill.evaluate import evaluate
    from wordstill.evaluate.rules import changed_protocol

    # Whatever can be refused is refused before hours of training.
    out, html = (
        _free(path, default, overwrite=overwrite)
        for path, default in ((out, "evaluation.json"), (html, "evaluation.html"))
    )
    tables = open_tables(vectors)
    _check_page(tables, html, words, projection)
    evaluation = evaluate(
        tables,
        sets or None,
        changed_protocol(protocol, rules or []),
        seed,
        suite=suite,
        progress=wants_progress(progress),
    )
    form = "markdown" if markdown else "latex" if latex else "table"
    _show(evaluation, form, published=suite == "papers" or suite == "trained")
    if out is not None:
        typer.echo(f"Written: {evaluation.save(out, overwrite=overwrite)}", err=True)
    if html is not None:
        _write_page(evaluation, tables, html, words, projection)
    if all(score.value is None for scores in evaluation.scores.values() for score in scores.values()):
        raise DataError("No set has a figure for any table; its cell says why.")
    if out is None and html is None and form == "table":
        names = " ".join(shlex.quote(str(path)) for path in vectors)
        show_next(f"wordstill evaluate {names} --suite papers --out evaluation.json --html evaluation.html")


def _free(path: Path | None, default: str, *, overwrite: bool) -> Path | None:
    """Where a report is written, in a folder under its usual name; a file that exists is refused."""
    from wordstill.files import refuse_existing

    if path is None:
        return None
    target = path / default if path.is_dir() else path
    refuse_existing(target, overwrite=overwrite)
    return target


def _check_page(
    tables: Mapping[str, WordVectors], html: Path | None, words: list[str] | None, projection: str
) -> None:
    """Refuse what the page could not show."""
    from wordstill.evaluate.neighbour_table import absent_everywhere
    from wordstill.evaluate.relation_plot import check_projection

    if html is None and words:
        raise UsageError("Neighbours are shown on the page: give --html FILE with --neighbours.")
    check_projection(projection)
    if absent := absent_everywhere(tables, words or []):
        raise UsageError(f"No table has these words, whose neighbours are to be shown: {', '.join(absent)}.")


def _show(evaluation: Evaluation, form: str, *, published: bool) -> None:
    from wordstill.evaluate import report

    if form != "table":
        make = report.markdown if form == "markdown" else report.latex
        typer.echo(make(evaluation, published=published), nl=False)
        return
    from rich.console import Console

    from wordstill.evaluate.studies import layers_if_any

    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    console.print(report.table(evaluation, published=published))
    if (differences := report.difference_table(evaluation)) is not None:
        console.print(differences)
    if (study := layers_if_any(evaluation)) is not None:
        console.print(report.layer_table(study))
    typer.echo(f"Protocol: {evaluation.protocol.name}")


def _write_page(
    evaluation: Evaluation,
    tables: Mapping[str, WordVectors],
    path: Path,
    words: list[str] | None,
    projection: str,
) -> None:
    from wordstill.evaluate.page import Exhibits, html
    from wordstill.files import atomic_file

    exhibits = Exhibits.of(tables, words, projection, evaluation.seed)  # type: ignore[arg-type]
    with atomic_file(path) as handle:
        handle.write(html(evaluation, exhibits).encode())
    typer.echo(f"Written: {path}", err=True)
