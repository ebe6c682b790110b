"""``wordstill analogy``."""

from __future__ import annotations

from typing import Annotated

import typer

from wordstill.cli.options import Topn, VectorsPath
from wordstill.cli.tables import open_table
from wordstill.cli.wording import show_scored

EXAMPLES = "Example: wordstill analogy vectors man king woman"


def command(
    vectors: VectorsPath,
    a: Annotated[str, typer.Argument(metavar="A", help="For example man.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="For example king.", show_default=False)],
    c: Annotated[str, typer.Argument(metavar="C", help="For example woman.", show_default=False)],
    topn: Topn = 10,
) -> None:
    """Answer "A is to B as C is to what?": the words nearest to B - A + C, with the cosine."""
    show_scored(open_table(vectors).analogy(a, b, c, topn))
