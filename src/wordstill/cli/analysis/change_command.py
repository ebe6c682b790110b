"""``wordstill change``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from wordstill.cli.failures import warn
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import AsJson, Overwrite, Seed, VectorsPath, flag, option, refuse_report, words_or_file
from wordstill.cli.printing import count_text, show_json
from wordstill.core.guard import printable
from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.analysis.change import Change, Measure, Moved
    from wordstill.analysis.resampling import Estimate
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
    by: Annotated[
        str, option("MEASURE", "Rank by pairwise (distance between individual uses) or distance (between means).")
    ] = "pairwise",
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
    asked = None if words is None else words_or_file(words)
    measure = _measure(by)
    found = change(table, *pair, asked, least=least, by=measure, permutations=permutations, seed=seed)
    for left_out in found.left_out.values():
        warn(f"Skipped: {left_out}")
    shown = [each for each in found.words if not sure or (each.q is not None and each.q < rate)][:topn]
    entries = [_entry(table, each, pair, neighbors) for each in shown]
    if text is not None:
        _add_text(table, text, entries, pair, seed)
    if plot is not None:
        figures.save_figure(figures.moved_figure(shown, measure), plot)
        typer.echo(f"Written: {plot}", err=True)
    if as_json:
        show_json(_facts(found, rate) | {"words": entries})
        return
    _show(found, shown, entries, rate, measure)


def _pair(table: WordVectors, before: str | None, after: str | None) -> tuple[str, str]:
    groups = table.groups
    if len(groups) < 2:
        there = f"one group, {groups[0]!r}" if groups else "no groups"
        raise UsageError(f"Change needs two groups, and the table has {there}. Prepare the text with --group FIELD.")
    return before or groups[0], after or groups[-1]


def _measure(name: str) -> Measure:
    from wordstill.analysis.change import Measure

    known = get_args(Measure)
    if name not in known:
        raise unknown_name("measure", name, known)
    return cast("Measure", name)


def _add_text(table: WordVectors, store: Path, entries: list[dict[str, Any]], pair: tuple[str, str], seed: int) -> None:
    """Add to each word the sentences of each group most typical of the change, and the distance between its uses."""
    from wordstill.analysis.change import group_row
    from wordstill.analysis.concordance import Concordance
    from wordstill.analysis.senses import Senses
    from wordstill.analysis.usage_distance import usage_change
    from wordstill.corpus import Corpus

    corpus = Corpus.open(store)
    if corpus.groups is None or not set(pair) <= set(corpus.group_names):
        raise UsageError(f"{store} was prepared without the groups {pair[0]!r} and {pair[1]!r}.")
    concordance = Concordance(corpus, table)
    senses = None if table.occurrences is None else Senses(table)
    for entry in entries:
        word = entry["word"]
        direction = group_row(table, word, pair[1]) - group_row(table, word, pair[0])
        entry["sentences"] = {
            group: [
                asdict(line)
                for line in concordance.towards(
                    word, sign * direction, corpus.groups == corpus.group_names.index(group), SENTENCES
                )
            ]
            for group, sign in zip(pair, (-1, 1))
        }
        if senses is not None and senses.find(word) is not None:
            uses = usage_change(senses, corpus, word, *pair, seed=seed)
            entry["uses"] = None if uses is None else asdict(uses)


def _entry(table: WordVectors, moved: Moved, pair: tuple[str, str], neighbors: int) -> dict[str, Any]:
    from wordstill.analysis.change import nearer_in, neighbors_in, timeline

    entry: dict[str, Any] = {
        "word": moved.word,
        "pairwise": _rounded(moved.pairwise),
        "distance": _rounded(moved.distance),
        "p": moved.p,
        "q": moved.q,
        "counts": dict(zip(pair, moved.counts)),
        "neighbors": {
            group: [word for word, _ in neighbors_in(table, moved.word, group, neighbors)] if neighbors else []
            for group in pair
        },
        "nearer": {
            group: [word for word, _ in some]
            for group, some in zip(pair, nearer_in(table, moved.word, *pair, neighbors))
        },
    }
    if len(table.groups) > 2:
        entry["timeline"] = [
            {
                "group": point.group,
                "count": point.count,
                "distance": None if point.distance is None else _rounded(point.distance),
            }
            for point in timeline(table, moved.word)
        ]
    return entry


def _rounded(estimate: Estimate) -> dict[str, float]:
    return {name: round(value, 6) for name, value in asdict(estimate).items()}


def _facts(found: Change, rate: float) -> dict[str, Any]:
    return {
        "from": found.groups[0],
        "to": found.groups[1],
        "compared": len(found.words),
        "too_rare": found.too_rare,
        "unstable": found.unstable,
        "left_out": dict(found.left_out),
        "folds": list(found.folds),
        "permutations": found.permutations,
        "exact": found.exact,
        "changed": sum(each.q is not None and each.q < rate for each in found.words),
        "rate": rate,
        "no_p_because": found.reason,
    }


def _show(found: Change, shown: list[Moved], entries: list[dict[str, Any]], rate: float, by: Measure) -> None:
    before, after = map(printable, found.groups)
    facts = _facts(found, rate)
    width = max((len(printable(each.word)) for each in shown), default=4)
    if not found.words:
        typer.echo("No word is frequent enough in both groups to be compared. Join small groups, or lower --least.")
    elif shown:
        head = f"{by:>8}  {'95 % interval':>15}  {'p':>7}  {'q':>7}  {'word':<{width}}"
        typer.echo(f"{head}  nearer in {before} | {after}")
    else:
        typer.echo(f"No word has a false discovery rate below {rate:g}.")
    for each, entry in zip(shown, entries):
        moved = each.by(by)
        there = f"{moved.low:.3f} to {moved.high:.3f}"
        near = " | ".join(", ".join(map(printable, words)) for words in entry["nearer"].values())
        chances = "  ".join(f"{'-' if value is None else _chance(value):>7}" for value in (each.p, each.q))
        typer.echo(f"{moved.value:8.3f}  {there:>15}  {chances}  {printable(each.word):<{width}}  {near}")
        for line in _details(entry):
            typer.echo(f"{'':10}{printable(line)}")
    typer.echo(
        f"\n{count_text(facts['compared'], 'word')} compared over {found.folds[0]} and {found.folds[1]} folds of "
        f"documents; {facts['changed']:,} changed at a false discovery rate of {rate:g}."
    )
    if found.too_rare or found.unstable:
        typer.echo(f"Skipped: {found.too_rare:,} too rare in a group, {found.unstable:,} without a stable direction.")
    if found.reason is not None:
        warn(f"{found.reason[0].upper()}{found.reason[1:]}.")


def _details(entry: dict[str, Any]) -> Iterator[str]:
    """Lines on a word's timeline, uses and sentences."""
    if points := entry.get("timeline"):
        yield "timeline: " + ", ".join(
            f"{point['group']} {'too rare' if (there := point['distance']) is None else format(there['value'], '.3f')}"
            for point in points
        )
    if uses := entry.get("uses"):
        pairwise, senses = uses["pairwise"], uses["senses"]
        yield f"{' and '.join(map(str, uses['counts']))} uses: average pairwise distance {_usage(pairwise)}"
        if senses is not None:
            yield f"senses: Jensen-Shannon divergence {_usage(senses)}"
    elif "uses" in entry:
        yield "too few kept uses in one of the groups to compare them"
    for group, lines in entry.get("sentences", {}).items():
        for line in lines:
            yield f"{group}: {line['before']}{line['word']}{line['after']}"


def _usage(measured: dict[str, Any]) -> str:
    there = measured["estimate"]
    interval = f"[{there['low']:.3f}, {there['high']:.3f}]"
    return f"{there['value']:.3f} {interval}, {measured['chance']:.3f} by chance, p {_chance(measured['p'])}"


def _chance(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"
