"""An evaluation as tables: rows of text, and these in the terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wordstill.evaluation.data.catalog import DATASETS, EIGHT, YEARS
from wordstill.evaluation.report.published import best_published
from wordstill.evaluation.result import Evaluation
from wordstill.evaluation.score import Score
from wordstill.evaluation.studies import LayerStudy, SeedScores
from wordstill.evaluation.tasks.base import TASKS

if TYPE_CHECKING:
    from rich.table import Table


A8_TITLE = "Mean of the eight (A8)"
MEANS = {A8_TITLE: EIGHT, "Mean of STS 2012 to 2016": YEARS}
PUBLISHED_TITLE = "best published"
NO_SCORE = "–"
NAMES = 2
"""Columns before the first score: the set and the measure."""
UNRANKED = ("mean cosine",)
FILLED_IN = ("similarity", "analogy", "categorisation")
"""Tasks that score items with absent words by a back-off."""
SAME_ITEMS = 0.01
"""Scores count as over the same items if their numbers of items differ by at most this share."""


def cells(evaluation: Evaluation, *, published: bool = False) -> list[list[str]]:
    """The main table: header, a row for each set, and the usual means."""
    more = [PUBLISHED_TITLE] if published else []
    rows = [["set", "measure", *evaluation.scores, *more]]
    for name in evaluation.sets:
        row = [title(name), _measure(evaluation, name), *map(cell, column(evaluation, name))]
        rows.append([*row, best_cell(name)] if published else row)
    for label, sets in MEANS.items():
        if means := evaluation.mean(sets):
            shown = (
                f"{means[table]:.1f} {_covered(evaluation, table, sets)}" if table in means else NO_SCORE
                for table in evaluation.scores
            )
            rows.append([label, "mean", *shown, *(NO_SCORE for _ in more)])
    return rows


def best_cells(evaluation: Evaluation) -> frozenset[tuple[int, int]]:
    """The row and column in ``cells`` of the best score of each set.

    A set has no best score if scores are over different items, because the best may be over the easiest ones, or if its
    measure does not say how good vectors are.
    """
    best = set()
    for row, name in enumerate(evaluation.sets, start=1):
        scored = {
            number: score
            for number, score in enumerate(column(evaluation, name), start=NAMES)
            if score is not None and score.value is not None and score.metric not in UNRANKED
        }
        if len(scored) > 1 and _same_items(list(scored.values())):
            highest = max(score.value or 0.0 for score in scored.values())
            best |= {(row, number) for number, score in scored.items() if score.value == highest}
    return frozenset(best)


def notes(evaluation: Evaluation, *, published: bool = False) -> str:
    """Notes under the table: what a cell shows, the protocol, uneven coverage."""
    sentences = [f"Score × 100, [95 % bootstrap interval over items], {evaluation.protocol.covered} / all items."]
    if "sts" in evaluation.tasks:
        sentences.append("A pair of sentences is covered if the table has a word of each.")
    if any(kind in TASKS and TASKS[kind].trains for kind in evaluation.tasks):
        sentences.append(
            "Of tasks that train, ± is the standard deviation over seeds, and coverage is of running words."
        )
    if best_cells(evaluation):
        sentences.append("Bold: the best score of a row, if all its scores are over the same items, to 1 %.")
    sentences.append(evaluation.protocol.describe(evaluation.tasks))
    if uneven(evaluation):
        sentences.append("Coverage differs between tables, so scores in one row are not over the same items.")
    if published:
        sentences.append("Published scores come from other evaluators, words and rules; they are for reference only.")
    if evaluation.missing:
        sentences.append(f"Not found, so not scored: {', '.join(evaluation.missing)} (see wordstill data list).")
    return " ".join(sentences)


def column(evaluation: Evaluation, name: str) -> list[Score | None]:
    """The scores of every table on one set."""
    return [scores.get(name) for scores in evaluation.scores.values()]


def title(name: str) -> str:
    """The title of a set."""
    base, _, kind = name.rpartition(":")
    if base in DATASETS:
        return f"{DATASETS[base].title} ({kind})"
    return DATASETS[name].title if name in DATASETS else name


def cell(score: Score | None) -> str:
    """A score with its interval or deviation and its coverage."""
    if score is None:
        return NO_SCORE
    if score.value is None or score.interval is None:
        return f"no score: {score.problem}"
    used, total = score.coverage
    shown = f"{used}/{total}"
    if score.protocol.oov == "backoff" and score.task in FILLED_IN and score.n != used:
        shown = f"{score.n}/{total} ({used} without back-off)"
    spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
    interval = f"[{score.interval.low:.1f}, {score.interval.high:.1f}]"
    return f"{score.value:.1f}{spread} {interval} {shown}"


def best_cell(name: str) -> str:
    """The highest published score of a set and its model."""
    best = best_published(name)
    return NO_SCORE if best is None else f"{best.scores[name]:.1f} {best.model}"


def difference_rows(evaluation: Evaluation) -> list[list[str]]:
    """Paired tests against the first table: a row for each set, a column for each other table, after the header."""
    others = list(evaluation.scores)[1:]
    tests = {(one.dataset, one.first): one for one in evaluation.comparisons()}
    rows = [["set", *others]]
    for name in dict.fromkeys(dataset for dataset, _ in tests):
        found = (tests.get((name, other)) for other in others)
        shown = (
            NO_SCORE
            if one is None
            else f"{one.difference:+.1f} [{one.interval.low:+.1f}, {one.interval.high:+.1f}], "
            f"p {one.p_value:.3f}, {one.n}"
            for one in found
        )
        rows.append([title(name), *shown])
    return rows


def part_rows(evaluation: Evaluation, name: str) -> list[list[str]]:
    """The partial scores of a set: part, measure, and a cell for each table."""
    by_table = [
        {} if score is None else {(part.name, part.metric): part for part in score.parts}
        for score in column(evaluation, name)
    ]
    rows = []
    for key in dict.fromkeys(key for parts in by_table for key in parts):
        found = (parts.get(key) for parts in by_table)
        values = (f"{part.value:.1f} ({part.n:,})" if part and part.value is not None else NO_SCORE for part in found)
        rows.append([*key, *values])
    return rows


def layer_rows(study: LayerStudy) -> list[list[str]]:
    """A layer study."""
    overall = f"layer {study.layers[study.overall]}, best overall on the development halves"
    rows = [["set", "chosen on the development half", overall, "best on the test half itself"]]
    for choice in study.choices:
        rows.append(
            [
                title(choice.dataset),
                f"{choice.chosen_value:.1f} (layer {study.layers[choice.chosen]})",
                NO_SCORE if choice.overall_value is None else f"{choice.overall_value:.1f}",
                f"{choice.oracle_value:.1f} (layer {study.layers[choice.oracle]})",
            ]
        )
    return rows


def uneven(evaluation: Evaluation) -> bool:
    """Whether the scores of some set are over different items."""
    return not all(
        _same_items([score for score in column(evaluation, name) if score is not None]) for name in evaluation.sets
    )


def _same_items(scores: list[Score]) -> bool:
    # A relation is one item, but it is scored over its covered pairs.
    sizes = [score.coverage.used if score.task == "relation" else score.n for score in scores]
    return max(sizes, default=0) - min(sizes, default=0) <= SAME_ITEMS * max(sizes, default=0)


def _covered(evaluation: Evaluation, table: str, sets: Sequence[str]) -> str:
    """The total coverage of some sets."""
    covered = [evaluation.scores[table][name].coverage for name in sets]
    return f"{sum(one.used for one in covered)}/{sum(one.total for one in covered)}"


def _measure(evaluation: Evaluation, name: str) -> str:
    return next(score.metric for score in column(evaluation, name) if score is not None)


LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "×": r"$\times$",
    "±": r"$\pm$",
}

Write = Callable[[str], str]


def table(evaluation: Evaluation, *, published: bool = False) -> Table:
    """The main table for rich: a row for each set, a column for each table of vectors."""
    from rich.markup import escape

    rows = _written(evaluation, escape, lambda text: f"[bold]{text}[/bold]", published=published)
    return _rich(rows, NAMES, caption=escape(notes(evaluation, published=published)))


def difference_table(evaluation: Evaluation) -> Table | None:
    """Paired tests against the first table, for rich; None if there are none."""
    from rich.markup import escape

    rows = [[escape(text) for text in row] for row in difference_rows(evaluation)]
    if len(rows) == 1:
        return None
    first = next(iter(evaluation.scores))
    return _rich(
        rows,
        names=1,
        title=f"Differences from {escape(first)}, over the items of both tables",
        caption=escape("Difference × 100, [95 % interval] and p of a paired bootstrap, items."),
    )


def layer_table(study: LayerStudy) -> Table:
    """A layer study, for rich."""
    from rich.markup import escape

    rows = [[escape(text) for text in row] for row in layer_rows(study)]
    return _rich(rows, names=1, title="Layers, scored on the other half")


def seed_table(seeds: Sequence[SeedScores]) -> Table:
    """Means over seeds, for rich."""
    from rich.markup import escape

    rows = [["method", "set", "seeds", "mean", "deviation", "95 % interval of the mean"]]
    rows += [
        [
            escape(one.label),
            title(one.dataset),
            str(one.tables),
            f"{one.mean:.1f}",
            f"{one.deviation:.2f}",
            f"{one.interval.low:.1f} to {one.interval.high:.1f}",
        ]
        for one in seeds
    ]
    return _rich(rows, names=2, title="Over seeds")


def markdown(evaluation: Evaluation, *, published: bool = False) -> str:
    """The main table in Markdown, with its notes."""
    rows = _written(evaluation, _md, lambda text: f"**{text}**", published=published)
    return f"{_md_table(rows, NAMES)}\n{notes(evaluation, published=published)}\n"


def parts_markdown(evaluation: Evaluation) -> str:
    """The partial scores of all sets in Markdown; an empty text if there are none."""
    rows = [[title(name), *row] for name in evaluation.sets for row in part_rows(evaluation, name)]
    head = ["set", "part", "measure", *evaluation.scores]
    return _md_table([[_md(text) for text in row] for row in (head, *rows)], NAMES + 1) if rows else ""


def latex(evaluation: Evaluation, *, published: bool = False) -> str:
    """The main table in LaTeX, for the package booktabs."""
    rows = _written(evaluation, _tex, lambda text: f"\\textbf{{{text}}}", published=published)
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{'l' * NAMES}{'r' * (len(rows[0]) - NAMES)}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_tex(notes(evaluation, published=published))}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _written(evaluation: Evaluation, plain: Write, bold: Write, *, published: bool) -> list[list[str]]:
    """The cells, escaped by ``plain``, with the best scores in bold."""
    best = best_cells(evaluation)
    rows = []
    for number, row in enumerate(cells(evaluation, published=published)):
        written = []
        for place, text in enumerate(row):
            first, space, rest = text.partition(" ")
            marked = (number, place) in best
            written.append(bold(plain(first)) + space + plain(rest) if marked else plain(text))
        rows.append(written)
    return rows


def _rich(rows: Sequence[Sequence[str]], names: int, title: str | None = None, caption: str = "") -> Table:
    from rich.table import Table

    head, *body = rows
    shown = Table(title=title, title_justify="left", caption=caption or None, caption_justify="left")
    for number, name in enumerate(head):
        shown.add_column(name, justify="left" if number < names else "right")
    for row in body:
        shown.add_row(*row)
    return shown


def _md_table(rows: Sequence[Sequence[str]], names: int) -> str:
    head, *body = rows
    rule = ["---"] * names + ["---:"] * (len(head) - names)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *body))


def _md(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _tex(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(letter, letter) for letter in " ".join(text.split()))
