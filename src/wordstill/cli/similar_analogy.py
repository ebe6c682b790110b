"""``wordstill similar`` and ``wordstill analogy``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.open_tables import TeacherName, Unknown, known_words, open_for_words, report_substitutes
from wordstill.cli.options import AsJson, Topn, VectorsPath, argument, flag, option
from wordstill.cli.printing import show_json, show_scored
from wordstill.core.guard import printable
from wordstill.errors import UsageError
from wordstill.vectors.analogies import Rule

if TYPE_CHECKING:
    from wordstill.analysis.resampling import SureNeighbor
    from wordstill.vectors import WordVectors


SIMILAR_EXAMPLES = """\
wordstill similar vectors queen river
wordstill similar vectors queen --sure
wordstill similar glove.6B.100d.txt Queen quenn --unknown case --unknown spelling --topn 5"""


Sure = Annotated[
    bool,
    flag(
        "Show how certain each neighbor is: an interval, and how often it is among the nearest in resampled text. The "
        "table needs folds: distill --folds 20.",
        "--sure",
    ),
]


def similar(
    vectors: VectorsPath,
    words: Annotated[list[str], argument("WORD", "Words to look up.")],
    topn: Topn = 10,
    unknown: Unknown = None,
    teacher: TeacherName = None,
    sure: Sure = False,
    as_json: AsJson = False,
) -> None:
    """Show the nearest neighbors of words."""
    table = open_for_words(vectors, unknown, teacher)
    known = known_words(table, words)
    if sure:
        _show_sure({word: ([word], []) for word in known}, table, topn, as_json=as_json)
        return
    found = table.neighbors(known, topn)
    if as_json:
        show_json({word: _plain(scored) for word, scored in zip(known, found)})
        return
    for number, (word, scored) in enumerate(zip(known, found)):
        if len(words) > 1:
            typer.echo(f"{chr(10) if number else ''}{printable(word)}")
        show_scored(scored)


ANALOGY_EXAMPLES = """\
wordstill analogy vectors man king woman
wordstill analogy vectors france,spain paris,madrid italy --rule 3cosavg"""


def analogy(
    vectors: VectorsPath,
    a: Annotated[str, argument("A", "For example man.")],
    b: Annotated[str, argument("B", "For example king.")],
    c: Annotated[str, argument("C", "For example woman.")],
    topn: Topn = 10,
    rule: Annotated[
        str,
        option(
            "NAME",
            "3cosadd: nearest to B - A + C; 3cosmul: the largest product of cosines; 3cosavg: A and B "
            "may be several words in the same relation, separated by commas.",
        ),
    ] = "3cosadd",
    unknown: Unknown = None,
    teacher: TeacherName = None,
    sure: Sure = False,
    as_json: AsJson = False,
) -> None:
    """Solve an analogy: A is to B as C is to which word?"""
    table = open_for_words(vectors, unknown, teacher)
    first, second = (text.split(",") if rule == "3cosavg" else [text] for text in (a, b))
    report_substitutes(table, [*first, *second, c])
    if sure:
        if rule != "3cosadd":
            raise UsageError(f"--sure works with the rule 3cosadd, not {rule}.")
        _show_sure({f"{b} - {a} + {c}": ([b, c], [a])}, table, topn, as_json=as_json)
        return
    scored = table.analogy(first, second, c, topn, cast(Rule, rule))
    if as_json:
        show_json(_plain(scored))
    else:
        show_scored(scored)


def _show_sure(
    questions: Mapping[str, tuple[list[str], list[str]]], table: WordVectors, topn: int, *, as_json: bool
) -> None:
    """Show neighbors with intervals, and how often each is among the nearest."""
    from wordstill.analysis.resampling import DRAWS, sure_neighbors

    found = {name: sure_neighbors(table, *question, topn) for name, question in questions.items()}
    if as_json:
        show_json({name: [_plain_sure(each) for each in some] for name, some in found.items()})
        return
    for number, (name, some) in enumerate(found.items()):
        typer.echo(f"{chr(10) if number else ''}{printable(name)}")
        typer.echo(f"{'cosine':>8}  {'95 % interval':>15}  {f'in top {topn}':>9}  word")
        for each in some:
            there, share = "too rare", "-"
            if each.interval is not None:
                there, share = f"{each.interval.low:.3f} to {each.interval.high:.3f}", f"{each.share:.0%}"
            typer.echo(f"{each.cosine:8.4f}  {there:>15}  {share:>9}  {printable(each.word)}")
    typer.echo(
        f"\nThe interval is that of the cosine, over other texts of this size. In top {topn}: share of {DRAWS} "
        "bootstrap resamples of the documents."
    )
    if any(each.interval is None for some in found.values() for each in some):
        typer.echo("Too rare: the word has vectors in too few folds for an interval.")


def _plain_sure(neighbor: SureNeighbor) -> dict[str, object]:
    there = neighbor.interval
    found: dict[str, object] = {"word": neighbor.word, "score": round(neighbor.cosine, 6)}
    if there is None:
        return found | dict.fromkeys(("in_top", "low", "high", "standard_error")) | {"problem": "too rare"}
    numbers = {"low": there.low, "high": there.high, "standard_error": there.error}
    return found | {"in_top": neighbor.share} | {name: round(value, 6) for name, value in numbers.items()}


def _plain(scored: Sequence[tuple[str, float]]) -> list[dict[str, object]]:
    return [{"word": word, "score": round(score, 6)} for word, score in scored]
