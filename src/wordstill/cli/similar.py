"""``wordstill similar``."""

from __future__ import annotations

from typing import Annotated

import typer

from wordstill.cli.lookup import TeacherName, Unknown, open_for_words, tell_stand_ins
from wordstill.cli.options import Topn, VectorsPath
from wordstill.cli.wording import show_scored

EXAMPLES = """\
Example: wordstill similar vectors queen river

Example: wordstill similar glove.6B.100d.txt Queen quenn --unknown case --unknown spelling --topn 5"""


def command(
    vectors: VectorsPath,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words to look up.", show_default=False)],
    topn: Topn = 10,
    unknown: Unknown = None,
    teacher: TeacherName = None,
) -> None:
    """Show the nearest words of each word, with the cosine."""
    table = open_for_words(vectors, unknown, teacher)
    tell_stand_ins(table, words)
    for number, (word, scored) in enumerate(zip(words, table.neighbours(words, topn))):
        if len(words) > 1:
            typer.echo(f"{chr(10) if number else ''}{word}")
        show_scored(scored)
