"""``wordstill data``: the registry of data sets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.options import HelpfulCommand, HelpfulGroup, argument, examples_text, flag, option
from wordstill.cli.printing import count_text, show_next
from wordstill.errors import DataError, UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.evaluation.data.registry import Dataset

EXAMPLES = """\
wordstill data list
wordstill data fetch simlex999 google"""

app = typer.Typer(
    cls=HelpfulGroup,
    no_args_is_help=True,
    help="List, download and check evaluation data.",
    epilog=examples_text(EXAMPLES),
    rich_markup_mode="rich",
)

Names = Annotated[list[str] | None, argument("SET", "Names of data sets, as in data list.")]


@app.command("list", cls=HelpfulCommand, epilog="Example: wordstill data list --verbose")
def list_sets(
    verbose: Annotated[bool, flag("Show the source of each set and what to know about it.", "--verbose", "-v")] = False,
) -> None:
    """List the data sets and show which are found."""
    from wordstill.evaluation import DATASETS
    from wordstill.evaluation.data.locate import available

    found = set(available())
    width = max(map(len, DATASETS))
    task_width = max(len(row.task or "") for row in DATASETS.values())
    for name, row in DATASETS.items():
        state = "found  " if name in found else "missing"
        facts = f"{row.size:>7,} items  {row.task or '–':<{task_width}}  {row.title} ({row.citation})"
        typer.echo(f"{name:<{width}}  {state}  {facts}")
        if verbose:
            _show_row(row, " " * (width + 2))
    if len(found) < len(DATASETS):
        missing = next(name for name in DATASETS if name not in found)
        show_next(("data", "fetch", missing), ("data", "fetch", "--all"))


@app.command(cls=HelpfulCommand, epilog="Example: wordstill data fetch simlex999 google")
def fetch(
    sets: Names = None,
    every: Annotated[bool, flag("Download every set that is not found.", "--all")] = False,
    folder: Annotated[Path | None, option("FOLDER", "Target folder; by default the user's cache.", "--to")] = None,
    mirror: Annotated[
        str | None, option("URL", "A server with the files, instead of the public repositories.", "--mirror")
    ] = None,
) -> None:
    """Download data sets and check every file against its SHA-256."""
    failed = []
    for name in _missing() if every else _known(sets):
        try:
            _fetch(name, folder, mirror)
        except (DataError, UsageError) as error:
            if not every:
                raise
            # One dead address must not stop the other downloads.
            failed.append(name)
            typer.echo(f"{name}: {error}", err=True)
    if failed:
        raise DataError(f"{count_text(len(failed), 'set')} could not be fetched: {', '.join(failed)}.")


@app.command(cls=HelpfulCommand, epilog="Example: wordstill data check")
def check(sets: Names = None) -> None:
    """Check the files of data sets against their checksums; without names, of all that are found."""
    from wordstill.evaluation.data.locate import available, problem_of

    names = _known(sets) if sets else available()
    if not names:
        raise DataError("No data set was found. Get one: wordstill data fetch simlex999")
    problems = {name: problem_of(name) for name in names}
    for name, problem in problems.items():
        typer.echo(f"{name}: {problem or 'ok'}")
    wrong = [name for name, problem in problems.items() if problem]
    if wrong:
        raise DataError(f"{count_text(len(wrong), 'set')} missing or changed: {', '.join(wrong)}.")


@app.command(cls=HelpfulCommand, epilog="Example: wordstill data path simlex999")
def path(name: Annotated[str | None, argument("SET", "A data set; by default the download folder.")] = None) -> None:
    """Print the path of a set, or of the download folder."""
    from wordstill.evaluation.data.locate import cache_folder, locate

    typer.echo(cache_folder() if name is None else locate(_known([name])[0]).path)


def downloadable(names: Iterable[str]) -> list[str]:
    """The data sets that can be downloaded, of these names of sets and of tasks on sets."""
    from wordstill.evaluation.data.catalog import DATASETS, dataset_of

    sets = dict.fromkeys(map(dataset_of, names))
    return [name for name in sets if any(copy.source is not None for copy in DATASETS[name].copies)]


def _missing() -> list[str]:
    """Every set that is not found."""
    from wordstill.evaluation import DATASETS
    from wordstill.evaluation.data.locate import available

    found = set(available())
    if len(found) == len(DATASETS):
        typer.echo("All sets are already present.")
    return [name for name in DATASETS if name not in found]


def _fetch(name: str, folder: Path | None, mirror: str | None) -> None:
    from wordstill.evaluation.data.fetch import fetch as download
    from wordstill.evaluation.data.locate import locate, problem_of

    # With --to, files are downloaded even if they are elsewhere already.
    if folder is None and problem_of(name) is None:
        typer.echo(f"{name}: already present: {locate(name).path}")
        return
    written = download(name, folder, mirror=mirror)
    typer.echo(f"{name}: {count_text(len(written), 'file')} in {written[0].parent}")


def _known(names: list[str] | None) -> list[str]:
    """The names, each once."""
    from wordstill.evaluation import DATASETS

    if not names:
        raise UsageError("No data set was named. Name one, or use --all; wordstill data list shows them.")
    for name in names:
        if name not in DATASETS:
            raise unknown_name("data set", name, DATASETS)
    return list(dict.fromkeys(names))


def _show_row(row: Dataset, margin: str) -> None:
    facts = {
        "home": row.home or "none known",
        "files from": row.address,
        "license": row.license,
        "sha256": row.copies[0].sha256,
        "note": row.caveat,
    }
    for fact, value in facts.items():
        if value:
            typer.echo(f"{margin}{fact}: {value}")
