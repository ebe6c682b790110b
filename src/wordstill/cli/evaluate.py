"""``wordstill evaluate``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.options import Overwrite
from wordstill.cli.tables import open_tables
from wordstill.cli.wording import show_next
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.evaluate import Evaluation

EXAMPLES = """\
Example: wordstill evaluate vectors

Example: wordstill evaluate vectors glove.txt --set simlex999 --set my-pairs.tsv --out evaluation.json"""

PLAIN_WIDTH = 120


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
            metavar="NAME|FILE",
            help="A data set, or a file of yours with two words and a score on each line; may be repeated. "
            "By default all sets that are found.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[str, typer.Option(metavar="NAME", help="Rules for looking words up.")] = "default",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the bootstrap intervals.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write everything as JSON.", show_default=False),
    ] = None,
    overwrite: Overwrite = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    list_sets: Annotated[bool, typer.Option("--list", help="List the data sets and stop.")] = False,
) -> None:
    """Measure vectors against human judgements: rank correlation, interval, coverage."""
    if list_sets:
        _show_sets()
        return
    if not vectors:
        raise UsageError("No vectors were named. Give at least one table, or --list for the data sets.")
    from wordstill.evaluate import evaluate
    from wordstill.files import refuse_existing

    if out is not None and not out.is_dir():
        refuse_existing(out, overwrite=overwrite)
    evaluation = evaluate(open_tables(vectors), sets or None, protocol, seed)
    _show(evaluation, markdown=markdown)
    if out is not None:
        written = evaluation.save(out, overwrite=overwrite)
        typer.echo(f"Written: {written}", err=True)
    elif not markdown:
        names = " ".join(shlex.quote(str(path)) for path in vectors)
        show_next(f"wordstill evaluate {names} --out evaluation.json")


def _show(evaluation: Evaluation, *, markdown: bool) -> None:
    from rich.console import Console

    from wordstill.evaluate import report

    if markdown:
        typer.echo(report.markdown(evaluation), nl=False)
        return
    Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH).print(report.table(evaluation))
    typer.echo(f"Protocol: {evaluation.protocol.name}")


def _show_sets() -> None:
    from wordstill.evaluate import DATASETS
    from wordstill.evaluate.locate import DATA_VARIABLE, available

    found = set(available())
    width = max(map(len, DATASETS))
    for name, row in DATASETS.items():
        state = "found  " if name in found else "missing"
        typer.echo(f"{name:<{width}}  {state}  {row.size:>6,} items  {row.title} ({row.citation})")
    if len(found) < len(DATASETS):
        typer.echo(f"\nSet {DATA_VARIABLE} to the folder that holds the missing ones.", err=True)
