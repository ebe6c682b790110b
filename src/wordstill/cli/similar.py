"""``wordstill similar``."""

from __future__ import annotations

from typing import Annotated

import typer

from wordstill.cli.options import Topn, VectorsPath
from wordstill.cli.tables import open_table
from wordstill.cli.wording import show_scored

EXAMPLES = """\
Example: wordstill similar vectors queen river

Example: wordstill similar glove.6B.100d.txt queen --topn 5"""


def command(
    vectors: VectorsPath,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words to look up.", show_default=False)],
    topn: Topn = 10,
) -> None:
    """Show the nearest words of each word, with the cosine."""
    found = open_table(vectors).neighbours(words, topn)
    for number, (word, scored) in enumerate(zip(words, found)):
        if len(words) > 1:
            typer.echo(f"{chr(10) if number else ''}{word}")
        show_scored(scored)
