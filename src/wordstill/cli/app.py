"""The table of commands."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

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
from wordstill.cli.analysis import change_words, expand, norms, regress, show_senses, test
from wordstill.cli.failures import CarefulGroup
from wordstill.cli.options import add_command, flag, option
from wordstill.cli.show import explore, plot
from wordstill.core.limits import VARIABLE, parse
from wordstill.core.plugins import find_plugins

GPU_MEMORY = "PYTORCH_CUDA_ALLOC_CONF"

app = typer.Typer(
    cls=CarefulGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: wordstill distill corpus.txt --out vectors",
)
PLUGINS = {
    "distill": "wordstill.methods",
    "train": "wordstill.baselines",
    "evaluate": "wordstill.tasks",
    "transform": "wordstill.transforms",
    "convert": "wordstill.formats",
}


class _Command(TyperCommand):
    """A command whose help names the plug-ins that it can use."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        if self.name in PLUGINS and (found := find_plugins(PLUGINS[self.name])):
            names = ", ".join(sorted(point.name for point in found))
            self.epilog = f"Plug-ins: {names}\n\n{self.epilog}"
        super().format_help(ctx, formatter)


for name, command, examples in (
    ("prepare", prepare.command, prepare.EXAMPLES),
    ("distill", distill.command, distill.EXAMPLES),
    ("train", train.command, train.EXAMPLES),
    ("evaluate", evaluate.command, evaluate.EXAMPLES),
    ("similar", similar_analogy.similar, similar_analogy.SIMILAR_EXAMPLES),
    ("analogy", similar_analogy.analogy, similar_analogy.ANALOGY_EXAMPLES),
    ("change", change_words.command, change_words.EXAMPLES),
    ("encode", encode.command, encode.EXAMPLES),
    ("transform", transform.command, transform.EXAMPLES),
    ("retrofit", retrofit.command, retrofit.EXAMPLES),
    ("compare", compare.command, compare.EXAMPLES),
    ("senses", show_senses.command, show_senses.EXAMPLES),
    ("test", test.command, test.EXAMPLES),
    ("regress", regress.command, regress.EXAMPLES),
    ("norms", norms.command, norms.EXAMPLES),
    ("expand", expand.command, expand.EXAMPLES),
    ("explore", explore.command, explore.EXAMPLES),
    ("reproduce", reproduce.command, reproduce.EXAMPLES),
    ("plot", plot.command, plot.EXAMPLES),
    ("convert", convert.command, convert.EXAMPLES),
    ("add", add_remove_merge.add, add_remove_merge.ADD_EXAMPLES),
    ("remove", add_remove_merge.remove, add_remove_merge.REMOVE_EXAMPLES),
    ("merge", add_remove_merge.merge, add_remove_merge.MERGE_EXAMPLES),
    ("info", info.command, info.EXAMPLES),
):
    add_command(app, name, command, examples, cls=_Command)
app.add_typer(data.app, name="data")
app.add_typer(meaning.app, name="meaning")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"wordstill {__version__}")
        raise typer.Exit


@app.callback()
def _main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, flag("Show the whole traceback of an error.", "--debug")] = False,
    limits: Annotated[
        str | None,
        option("NAME=N,...", "Raise limits of readers, as their errors say: line_bytes=1GB,seconds=900.", "--limits"),
    ] = None,
) -> None:
    """Distil language models, over your own text, into word vectors that stay still."""
    if limits is not None:
        parse(limits)
        os.environ[VARIABLE] = limits


def main() -> None:
    """The entry point of the command ``wordstill``."""
    if sys.platform.startswith("linux"):
        # Batches differ in size; blocks that cannot grow would fragment a GPU's memory until it is full.
        os.environ.setdefault(GPU_MEMORY, "expandable_segments:True")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Words and file names may have characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="wordstill")
