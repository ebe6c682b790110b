"""``wordstill meaning``: word meaning in context."""

from __future__ import annotations

import typer

from wordstill.cli.meaning import encode, evaluate, pairs, similar, table, train

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Distil what a word means in its sentence: make pairs, train, encode, evaluate.",
)
for name, command, examples in (
    ("pairs", pairs.command, pairs.EXAMPLES),
    ("train", train.command, train.EXAMPLES),
    ("encode", encode.command, encode.EXAMPLES),
    ("similar", similar.command, similar.EXAMPLES),
    ("table", table.command, table.EXAMPLES),
    ("evaluate", evaluate.command, evaluate.EXAMPLES),
):
    app.command(name, epilog=examples)(command)
