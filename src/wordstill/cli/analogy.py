"""``wordstill analogy``."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from wordstill.analogies import Rule
from wordstill.cli.lookup import TeacherName, Unknown, open_for_words, tell_stand_ins
from wordstill.cli.options import Topn, VectorsPath
from wordstill.cli.wording import show_scored

EXAMPLES = """\
Example: wordstill analogy vectors man king woman

Example: wordstill analogy vectors france,spain paris,madrid italy --rule 3cosavg"""


def command(
    vectors: VectorsPath,
    a: Annotated[str, typer.Argument(metavar="A", help="For example man.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="For example king.", show_default=False)],
    c: Annotated[str, typer.Argument(metavar="C", help="For example woman.", show_default=False)],
    topn: Topn = 10,
    rule: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="3cosadd: nearest to B - A + C; 3cosmul: the largest product of cosines; 3cosavg: A and B "
            "may be several words with commas between them, that stand in the same relation.",
        ),
    ] = "3cosadd",
    unknown: Unknown = None,
    teacher: TeacherName = None,
) -> None:
    """Answer "A is to B as C is to what?", with the score of each answer."""
    table = open_for_words(vectors, unknown, teacher)
    first, second = (text.split(",") if rule == "3cosavg" else [text] for text in (a, b))
    tell_stand_ins(table, [*first, *second, c])
    show_scored(table.analogy(first, second, c, topn, cast(Rule, rule)))
