"""``wordstill change``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordstill.cli.failures import warn
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import AsJson, Overwrite, Seed, VectorsPath, flag, option, refuse_report
from wordstill.cli.printing import count_text, show_json
from wordstill.core.guard import printable
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.analysis.change import Change, Moved
    from wordstill.analysis.concordance import Line
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill change vectors --from 1990s --to 2010s
wordstill change vectors --from 1990s --to 2010s --words mouse,tablet --text store
wordstill change vectors --json
wordstill change vectors --plot change.svg"""

SENTENCES = 2


def command(
    vectors: VectorsPath,
    before: Annotated[
        str | None, option("GROUP", "The first group; by default the earliest.", "--from", show_default=False)
    ] = None,
    after: Annotated[
        str | None, option("GROUP", "The second group; by default the latest.", "--to", show_default=False)
    ] = None,
    words: Annotated[
        str | None, option("WORDS|FILE", "Only these words, comma-separated, or a file with one per line.")
    ] = None,
    topn: Annotated[int, option("N", "How many words to show.", "--topn", "-n", min=1)] = 20,
    neighbors: Annotated[int, option("N", "Neighbors to show for each, before and after.", min=0)] = 4,
    sure: Annotated[bool, flag("Only words with a false discovery rate below --rate.", "--sure")] = False,
    rate: Annotated[float, option("Q", "False discovery rate for --sure.", min=0, max=1)] = 0.05,
    least: Annotated[int, option("N", "Minimum occurrences of a word in each group.", min=1)] = 10,
    text: Annotated[
        Path | None, option("STORE", "The prepared text, to show the sentences behind each change.", "--text")
    ] = None,
    plot: Annotated[Path | None, option("FILE", "Draw the change, as .svg or .png.")] = None,
    permutations: Annotated[int, option("N", "Maximum number of permutations.", min=99)] = 9_999,
    seed: Seed = 0,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
) -> None:
    """Find words that changed between groups of texts, with p-values.

    VECTORS is a table distilled with --group.
    """
    from wordstill.analysis.change import change
    from wordstill.explore import figures

    refuse_report(plot, overwrite=overwrite)
    if plot is not None:
        figures.check_suffix(plot)
    table = open_table(vectors)
    pair = _pair(table, before, after)
    asked = None if words is None else _words(words)
    found = change(table, *pair, asked, least=least, permutations=permutations, seed=seed)
    shown = [each for each in found.words if not sure or (each.q is not None and each.q < rate)][:topn]
    sentences = {} if text is None else _sentences(table, text, [each.word for each in shown], pair)
    entries = [_entry(table, each, pair, neighbors, sentences.get(each.word)) for each in shown]
    if plot is not None:
        figures.save_figure(figures.moved_figure(shown), plot)
        typer.echo(f"Written: {plot}", err=True)
    if as_json:
        show_json(_facts(found, rate) | {"words": entries})
        return
    _show(found, shown, entries, rate)


def _pair(table: WordVectors, before: str | None, after: str | None) -> tuple[str, str]:
    groups = table.groups
    if len(groups) < 2:
        there = f"one group, {groups[0]!r}" if groups else "no groups"
        raise UsageError(f"Change needs two groups, and the table has {there}. Prepare the text with --group FIELD.")
    return before or groups[0], after or groups[-1]


def _words(text: str) -> list[str]:
    from wordstill.core.text_io import read_word_list

    if Path(text).is_file():
        return list(read_word_list(Path(text)))
    return [word.strip() for word in text.split(",") if word.strip()]


def _sentences(table: WordVectors, store: Path, words: list[str], pair: tuple[str, str]) -> dict[str, list[list[Line]]]:
    """For each word the sentences of either group that lie furthest towards the change."""
    from wordstill.analysis.change import group_row
    from wordstill.analysis.concordance import Concordance
    from wordstill.corpus import Corpus

    corpus = Corpus.open(store)
    if corpus.groups is None or not set(pair) <= set(corpus.group_names):
        raise UsageError(f"{store} was prepared without the groups {pair[0]!r} and {pair[1]!r}.")
    concordance = Concordance(corpus, table)
    found = {}
    for word in words:
        direction = group_row(table, word, pair[1]) - group_row(table, word, pair[0])
        found[word] = [
            concordance.towards(word, sign * direction, corpus.groups == corpus.group_names.index(group), SENTENCES)
            for group, sign in zip(pair, (-1, 1))
        ]
    return found


def _entry(
    table: WordVectors, moved: Moved, pair: tuple[str, str], neighbors: int, lines: list[list[Line]] | None
) -> dict[str, Any]:
    from wordstill.analysis.change import neighbors_in, timeline

    entry: dict[str, Any] = {
        "word": moved.word,
        "distance": round(moved.distance, 6),
        "standard_error": round(moved.interval.error, 6),
        "low": round(moved.interval.low, 6),
        "high": round(moved.interval.high, 6),
        "p": moved.p,
        "q": moved.q,
        "counts": dict(zip(pair, moved.counts)),
        "neighbors": {
            group: [word for word, _ in neighbors_in(table, moved.word, group, neighbors)] if neighbors else []
            for group in pair
        },
    }
    if len(table.groups) > 2:
        entry["timeline"] = [
            {"group": group, "count": count, **({} if there is None else asdict(there))}
            for group, count, there in timeline(table, moved.word)
        ]
    if lines is not None:
        entry["sentences"] = {group: [asdict(line) for line in some] for group, some in zip(pair, lines)}
    return entry


def _facts(found: Change, rate: float) -> dict[str, Any]:
    return {
        "from": found.groups[0],
        "to": found.groups[1],
        "compared": len(found.words),
        "too_rare": found.too_rare,
        "unstable": found.unstable,
        "folds": list(found.folds),
        "permutations": found.permutations,
        "exact": found.exact,
        "changed": sum(each.q is not None and each.q < rate for each in found.words),
        "rate": rate,
        "no_p_because": found.reason,
    }


def _show(found: Change, shown: list[Moved], entries: list[dict[str, Any]], rate: float) -> None:
    before, after = map(printable, found.groups)
    facts = _facts(found, rate)
    width = max((len(printable(each.word)) for each in shown), default=4)
    typer.echo(f"{'distance':>8}  {'95 % interval':>15}  {'p':>7}  {'q':>7}  {'word':<{width}}  {before} > {after}")
    for each, entry in zip(shown, entries):
        there = f"{each.interval.low:.2f} to {each.interval.high:.2f}"
        near = " > ".join(", ".join(map(printable, words)) for words in entry["neighbors"].values())
        chances = "  ".join(f"{'-' if value is None else _chance(value):>7}" for value in (each.p, each.q))
        typer.echo(f"{each.distance:8.3f}  {there:>15}  {chances}  {printable(each.word):<{width}}  {near}")
        for group, lines in entry.get("sentences", {}).items():
            for line in lines:
                typer.echo(f"{'':10}{printable(group)}: {printable(line['before'] + line['word'] + line['after'])}")
    typer.echo(
        f"\n{count_text(facts['compared'], 'word')} compared over {found.folds[0]} and {found.folds[1]} folds of "
        f"documents; {facts['changed']:,} changed at a false discovery rate of {rate:g}."
    )
    if found.too_rare or found.unstable:
        typer.echo(f"Left out: {found.too_rare:,} too rare in a group, {found.unstable:,} without a stable direction.")
    if found.reason is not None:
        warn(f"{found.reason[0].upper()}{found.reason[1:]}.")


def _chance(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"
