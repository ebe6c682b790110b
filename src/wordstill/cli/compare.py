"""``wordstill compare``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.evaluate import ChangedRules, ProtocolName
from wordstill.cli.open_tables import open_tables
from wordstill.cli.options import Overwrite, ReportFile, argument, option, refuse_report
from wordstill.cli.printing import show_facts, show_next, wide_console
from wordstill.core.guard import printable
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from wordstill.evaluation.comparison import SideBySide
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill compare vectors retrofitted
wordstill compare vectors glove.txt --word bank --set simlex999 --out comparison.json"""

CHANGED = 5


def command(
    first: Annotated[Path, argument("A", "A folder or file of vectors.")],
    second: Annotated[Path, argument("B", "The table to compare it with.")],
    words: Annotated[
        list[str] | None,
        option("WORD", "Show the nearest neighbors of this word in both; may be repeated.", "--word", "-w"),
    ] = None,
    sets: Annotated[
        list[str] | None,
        option(
            "NAME|FILE",
            "A data set, or your own file of pairs; may be repeated. By default all similarity sets found.",
            "--set",
        ),
    ] = None,
    protocol: ProtocolName = "default",
    rules: ChangedRules = None,
    topn: Annotated[
        int, option("N", "Neighbors to compare, and to show for --word.", "--topn", "--top", "-n", min=1)
    ] = 10,
    sample: Annotated[int, option("N", "Number of words to compare the neighbors of.", min=1)] = 1000,
    seed: Annotated[int, option("N", "Seed of the samples.", min=0)] = 0,
    out: ReportFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Compare two tables: neighbors, agreement, paired tests."""
    from wordstill.evaluation.comparison import absent_everywhere, compare_tables
    from wordstill.evaluation.protocol import changed_protocol

    refuse_report(out, overwrite=overwrite)
    tables = _two_tables(first, second)
    (one, left), (other, right) = tables.items()
    if absent := absent_everywhere(tables, words or []):
        raise UsageError(f"Neither table has these words: {', '.join(absent)}.")
    found = compare_tables(
        left,
        right,
        (one, other),
        sets=sets or None,
        protocol=changed_protocol(protocol, rules or []),
        topn=topn,
        sample=sample,
        seed=seed,
    )
    try:
        if out is not None:
            found.save(out, overwrite=overwrite)
            typer.echo(f"Written: {out}", err=True)
    finally:
        _show(found)
    _show_neighbors(words or [], tables, topn)
    if out is None:
        show_next(("compare", first, second, "--out", "compared.json"))


def _two_tables(first: Path, second: Path) -> dict[str, WordVectors]:
    if first.resolve() == second.resolve():
        raise UsageError(f"compare needs two tables, but {first} was named twice.")
    tables = open_tables([first, second])
    if len(tables) != 2:
        raise UsageError(f"compare needs two tables; {first} and {second} hold {len(tables)}.")
    return tables


def _show(found: SideBySide) -> None:
    agreed = found.agreement
    low, high = agreed.interval
    show_facts(
        {
            "words in both": f"{agreed.shared:,}",
            "same neighbors": f"{agreed.overlap:.1%} [{low:.1%}, {high:.1%}] of the {agreed.topn} nearest "
            f"of {len(agreed.words):,} frequent words",
            "cosines": f"{100 * agreed.cosines:.1f} (rank correlation x 100 over random pairs)",
            "agree least on": ", ".join(f"{word} {share:.0%}" for word, share in agreed.least(CHANGED)),
        }
    )
    if found.evaluation is None:
        typer.echo("\nNo data set was found to test them on; see wordstill evaluate --list.")
    else:
        typer.echo()
        wide_console().print(_table(found))
        typer.echo(f"Protocol: {found.evaluation.protocol.name}")


def _table(found: SideBySide) -> Table:
    """The scores of both tables on each set, with the paired test."""
    from rich.markup import escape
    from rich.table import Table

    shown = Table(
        caption="Scores x 100, each over the pairs that its table has. The difference is over the pairs of "
        "both, with a 95 % bootstrap interval; p (Holm) allows for the number of sets.",
        caption_justify="left",
    )
    for number, name in enumerate(("set", *found.names, "difference", "p", "p (Holm)", "pairs")):
        shown.add_column(escape(name), justify="right" if number else "left", overflow="fold")
    for row in _rows(found):
        shown.add_row(*map(escape, row))
    return shown


def _rows(found: SideBySide) -> Iterator[list[str]]:
    from wordstill.evaluation.report.tables import A8_TITLE, NO_SCORE, title
    from wordstill.evaluation.statistics import holm

    assert found.evaluation is not None
    tests = found.tests
    cells = {
        test.dataset: [
            f"{test.difference:+.1f} [{test.interval.low:+.1f}, {test.interval.high:+.1f}]",
            f"{test.p_value:.3f}",
            f"{adjusted:.3f}",
            f"{test.n:,}",
        ]
        for test, adjusted in zip(tests, holm([test.p_value for test in tests]))
    }
    for name in found.evaluation.sets:
        values = [found.evaluation.scores[table][name].value for table in found.names]
        shown = [NO_SCORE if value is None else f"{value:.1f}" for value in values]
        yield [title(name), *shown, *cells.get(name, [NO_SCORE] * 4)]
    means = found.evaluation.a8
    if len(means) == len(found.names):
        before, after = (means[name] for name in found.names)
        yield [A8_TITLE, f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}", "", "", ""]


def _show_neighbors(words: list[str], tables: dict[str, WordVectors], topn: int) -> None:
    from wordstill.evaluation.comparison import neighbor_table

    for word, by_table in neighbor_table(tables, words, topn).items():
        columns = [
            [name, *(["not in this table"] if near is None else (f"{one} {cosine:.2f}" for one, cosine in near))]
            for name, near in by_table.items()
        ]
        width = max(map(len, columns[0]))
        typer.echo(f"\n{printable(word)}")
        for left, right in zip_longest(*columns, fillvalue=""):
            typer.echo(f"  {printable(left):<{width}}  {printable(right)}")
