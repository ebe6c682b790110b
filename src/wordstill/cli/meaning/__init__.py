"""``wordstill meaning``: word meaning in context."""

from __future__ import annotations

import typer

from wordstill.cli.meaning import (
    meaning_encode,
    meaning_evaluate,
    meaning_pairs,
    meaning_similar,
    meaning_table,
    meaning_train,
)
from wordstill.cli.options import with_groups

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Distil what a word means in its sentence: make pairs, train, encode, evaluate.",
)
for name, command, examples in (
    ("pairs", meaning_pairs.command, meaning_pairs.EXAMPLES),
    ("train", meaning_train.command, meaning_train.EXAMPLES),
    ("encode", meaning_encode.command, meaning_encode.EXAMPLES),
    ("similar", meaning_similar.command, meaning_similar.EXAMPLES),
    ("table", meaning_table.command, meaning_table.EXAMPLES),
    ("evaluate", meaning_evaluate.command, meaning_evaluate.EXAMPLES),
):
    app.command(name, epilog=examples)(with_groups(command))
