"""``wordstill meaning``: word meaning in context."""

from __future__ import annotations

import typer

from wordstill.cli.meaning import meaning_train, meaning_use
from wordstill.cli.options import HelpfulGroup, add_command

app = typer.Typer(
    cls=HelpfulGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Vectors for what a word means in one sentence.",
)
for name, command, examples in (
    ("make", meaning_train.make, meaning_train.MAKE_EXAMPLES),
    ("pairs", meaning_train.pairs, meaning_train.PAIRS_EXAMPLES),
    ("train", meaning_train.train, meaning_train.TRAIN_EXAMPLES),
    ("encode", meaning_use.encode, meaning_use.ENCODE_EXAMPLES),
    ("similar", meaning_use.similar, meaning_use.SIMILAR_EXAMPLES),
    ("table", meaning_use.table, meaning_use.TABLE_EXAMPLES),
    ("evaluate", meaning_use.evaluate, meaning_use.EVALUATE_EXAMPLES),
):
    add_command(app, name, command, examples)
