"""``wordstill evaluate``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordstill.cli.options import Overwrite, ShowProgress, wants_progress
from wordstill.cli.tables import open_tables
from wordstill.cli.wording import show_next
from wordstill.errors import DataError, UsageError

if TYPE_CHECKING:
    from wordstill.evaluate import Evaluation
    from wordstill.evaluate.protocol import Protocol
    from wordstill.vectors import WordVectors

EXAMPLES = """\
Example: wordstill evaluate vectors

Example: wordstill evaluate vectors glove.txt --suite papers --html report.html

Example: wordstill evaluate vectors --set simlex999 --set my-pairs.tsv --out evaluation.json"""

PLAIN_WIDTH = 120
MOST_TESTS = 24
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
    from wordstill.files import refuse_existing

    for target in (out, html):
        if target is not None and not target.is_dir():
            refuse_existing(target, overwrite=overwrite)
    tables = open_tables(vectors)
    evaluation = evaluate(
        tables,
        sets or None,
        _protocol(protocol, rules or []),
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
    if out is None and html is None and form == "table":
        names = " ".join(shlex.quote(str(path)) for path in vectors)
        show_next(f"wordstill evaluate {names} --suite papers --out evaluation.json --html evaluation.html")


def _protocol(name: str, rules: list[str]) -> Protocol:
    """A named protocol with some rules changed; the name says which."""
    from dataclasses import fields, replace

    from wordstill.errors import unknown_name
    from wordstill.evaluate.protocol import Protocol, resolve

    known = [field.name for field in fields(Protocol) if field.name != "name"]
    changed: dict[str, Any] = {}
    for rule in rules:
        key, equals, value = rule.partition("=")
        if not equals:
            raise UsageError(f"--rule {rule!r} must be NAME=VALUE, for example oov=backoff.")
        if key not in known:
            raise unknown_name("rule", key, known)
        changed[key] = _number(value) if key.endswith("vocab") else value
    base = resolve(name)
    if not changed:
        return base
    label = ", ".join(f"{key}={value}" for key, value in changed.items())
    return replace(base, name=f"{name} with {label}", **changed)


def _number(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdigit():
        raise UsageError(f"A number of words, or all, was expected but got {text!r}.")
    return int(text)


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
    tests = evaluation.comparisons()
    for one in tests[:MOST_TESTS]:
        typer.echo(report.comparison_line(one))
    if len(tests) > MOST_TESTS:
        typer.echo(f"{len(tests) - MOST_TESTS} more paired tests are in the files of --out and --html.")
    if (study := layers_if_any(evaluation)) is not None:
        console.print(report.layer_table(study))
    typer.echo(f"Protocol: {evaluation.protocol.name}")
    if all(score.value is None for scores in evaluation.scores.values() for score in scores.values()):
        raise DataError("No set has a figure for any table: the tables know none of the words, or too few.")


def _write_page(
    evaluation: Evaluation,
    tables: Mapping[str, WordVectors],
    path: Path,
    words: list[str] | None,
    projection: str,
) -> None:
    from wordstill.evaluate.page import Exhibits, html
    from wordstill.files import atomic_file

    target = path / "evaluation.html" if path.is_dir() else path
    exhibits = Exhibits.of(tables, words, projection, evaluation.seed)  # type: ignore[arg-type]
    with atomic_file(target) as handle:
        handle.write(html(evaluation, exhibits).encode())
    typer.echo(f"Written: {target}", err=True)
