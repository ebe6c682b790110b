"""The table of commands."""

from __future__ import annotations

import atexit
import io
import os
import sys
from typing import Annotated

import typer

from wordstill import __version__
from wordstill.cli import (
    add_remove_merge,
    compare,
    convert,
    data,
    distill,
    encode,
    evaluate,
    info,
    meaning,
    prepare,
    reproduce,
    retrofit,
    similar_analogy,
    train,
    transform,
)
from wordstill.cli.analysis import change_command, expand, norms, regress, senses_command, test
from wordstill.cli.failures import CarefulGroup
from wordstill.cli.options import add_command, flag, option
from wordstill.cli.show import explore, plot
from wordstill.core.guard import VARIABLE, parse_limits

GPU_MEMORY = "PYTORCH_CUDA_ALLOC_CONF"

app = typer.Typer(
    cls=CarefulGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: wordstill distill corpus.txt --out vectors",
)
MAKE, USE, MEASURE, ASK, FILES = (
    "Make vectors",
    "Use them",
    "Measure them",
    "Ask about words",
    "Keep, change and convert",
)
"""Panels of the help."""


for panel, name, command, examples in (
    (MAKE, "distill", distill.command, distill.EXAMPLES),
    (MAKE, "prepare", prepare.command, prepare.EXAMPLES),
    (MAKE, "train", train.command, train.EXAMPLES),
    (USE, "similar", similar_analogy.similar, similar_analogy.SIMILAR_EXAMPLES),
    (USE, "analogy", similar_analogy.analogy, similar_analogy.ANALOGY_EXAMPLES),
    (USE, "encode", encode.command, encode.EXAMPLES),
    (USE, "explore", explore.command, explore.EXAMPLES),
    (USE, "plot", plot.command, plot.EXAMPLES),
    (MEASURE, "evaluate", evaluate.command, evaluate.EXAMPLES),
    (MEASURE, "compare", compare.command, compare.EXAMPLES),
    (MEASURE, "reproduce", reproduce.command, reproduce.EXAMPLES),
    (ASK, "change", change_command.command, change_command.EXAMPLES),
    (ASK, "senses", senses_command.command, senses_command.EXAMPLES),
    (ASK, "test", test.command, test.EXAMPLES),
    (ASK, "regress", regress.command, regress.EXAMPLES),
    (ASK, "norms", norms.command, norms.EXAMPLES),
    (ASK, "expand", expand.command, expand.EXAMPLES),
    (FILES, "info", info.command, info.EXAMPLES),
    (FILES, "convert", convert.command, convert.EXAMPLES),
    (FILES, "transform", transform.command, transform.EXAMPLES),
    (FILES, "retrofit", retrofit.command, retrofit.EXAMPLES),
    (FILES, "add", add_remove_merge.add, add_remove_merge.ADD_EXAMPLES),
    (FILES, "remove", add_remove_merge.remove, add_remove_merge.REMOVE_EXAMPLES),
    (FILES, "merge", add_remove_merge.merge, add_remove_merge.MERGE_EXAMPLES),
):
    add_command(app, name, command, examples, rich_help_panel=panel)
app.add_typer(data.app, name="data", rich_help_panel=MEASURE)
app.add_typer(meaning.app, name="meaning", rich_help_panel=MAKE)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"wordstill {__version__}")
        raise typer.Exit


@app.callback()
def _main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, flag("Show full tracebacks.", "--debug")] = False,
    limits: Annotated[
        str | None,
        option("NAME=N,...", "Raise the safety limits of file readers: line_bytes=1GB,seconds=900.", "--limits"),
    ] = None,
) -> None:
    """Static word vectors from any Hugging Face model, over your own text."""
    if limits is not None:
        parse_limits(limits)
        os.environ[VARIABLE] = limits


def main() -> None:
    """The command ``wordstill`` with the arguments of this process; it ends by `SystemExit`."""
    if sys.platform.startswith("linux"):
        # Batches differ in size; blocks that cannot grow would fragment a GPU's memory until it is full.
        os.environ.setdefault(GPU_MEMORY, "expandable_segments:True")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Words and file names may have characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="wordstill")


def run() -> None:
    """The entry point of the command ``wordstill``: the process ends as soon as `main` does."""
    try:
        main()
    except SystemExit as stop:
        # A profiler writes its results during the usual cleanup.
        if (stop.code is None or isinstance(stop.code, int)) and sys.getprofile() is None:
            _end_at_once(stop.code or 0)
        raise


def _end_at_once(code: int) -> None:
    """End the process without the interpreter's cleanup, which takes a second or two with torch loaded."""
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):
        # The interpreter reports what cannot be written.
        return
    os._exit(code)
