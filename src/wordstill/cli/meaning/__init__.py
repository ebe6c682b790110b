"""``wordstill meaning``: word meaning in context."""

from __future__ import annotations

import typer

from wordstill.cli.meaning import encode, evaluate, pairs, similar, table, train

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Distil what a word means in its sentence: make pairs, train, encode, evaluate.",
)
for module in (pairs, train, encode, similar, table, evaluate):
    app.command(module.__name__.rpartition(".")[2], epilog=module.EXAMPLES)(module.command)
