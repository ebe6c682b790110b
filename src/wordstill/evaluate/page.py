"""An evaluation as one HTML page that holds everything it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from wordstill.evaluate import svg
from wordstill.evaluate.evaluation import Evaluation
from wordstill.evaluate.neighbour_table import Neighbours, neighbour_table
from wordstill.evaluate.page_parts import STYLE, details, figure, grid, html_table, meter, paragraph, section
from wordstill.evaluate.published import published_for
from wordstill.evaluate.relation_plot import RELATIONS, Projection, relation_points
from wordstill.evaluate.report import latex, markdown
from wordstill.evaluate.report_rows import NAMES, best_cells, cells, column, layer_rows, notes, title
from wordstill.evaluate.studies import layers_if_any, learning_curves

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

PUBLISHED_BARS = 4
MOST_IN_HEADING = 4
CURVE_SETS = ("simlex999", "rareword")
"""Of Figure 1 of the X2Static paper; other sets are drawn where these have no figures."""


@dataclass(frozen=True)
class Exhibits:
    """What a page shows beside the scores."""

    neighbours: Neighbours = field(default_factory=dict)
    maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """SVG by relation, then by table."""

    @classmethod
    def of(
        cls,
        tables: Mapping[str, WordVectors],
        words: Sequence[str] | None = None,
        projection: Projection = "pca",
        seed: int = 0,
    ) -> Exhibits:
        """Look up neighbours and draw relations.

        Args:
            tables: The tables by name.
            words: Whose neighbours are shown; None for some usual ones.
            projection: How relations are drawn.
            seed: Of t-SNE.
        """
        near = neighbour_table(tables) if words is None else neighbour_table(tables, words)
        maps: dict[str, dict[str, str]] = {}
        for relation, pairs in RELATIONS.items():
            for name, vectors in tables.items():
                if points := relation_points(vectors, pairs, projection, seed=seed):
                    maps.setdefault(relation, {})[name] = svg.scatter(points)
        return cls(near, maps)


def html(evaluation: Evaluation, exhibits: Exhibits | None = None, *, published: bool = True) -> str:
    """The page.

    Args:
        evaluation: What is shown.
        exhibits: Neighbours and plots of relations; None for a page without.
        published: Whether the papers' figures stand beside ours.
    """
    shown = exhibits or Exhibits()
    parts = [
        section("Scores", _scores(evaluation, published=published)),
        section("Bars", _bars(evaluation, published=published)),
        section("Coverage", _coverage(evaluation)),
        section("Differences between tables", _differences(evaluation)),
        section("Learning curve", _curves(evaluation)),
        section("Layers", _layers(evaluation)),
        section("Sections and sub-corpora", _parts(evaluation)),
        section("Nearest words", _neighbours(shown.neighbours)),
        section("Relations", _maps(shown.maps)),
        section("Published rows", _published(evaluation) if published else ""),
        section("To paste", _to_paste(evaluation, published=published)),
    ]
    count = len(evaluation.scores)
    names = ", ".join(evaluation.scores) if count <= MOST_IN_HEADING else f"{count} tables"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Evaluation of {escape(names)}</title><style>{STYLE}</style></head><body>"
        f"<h1>Evaluation of {escape(names)}</h1>"
        + paragraph(f"Protocol {evaluation.protocol.name}, seed {evaluation.seed}.")
        + "".join(parts)
        + "</body></html>\n"
    )


def _scores(evaluation: Evaluation, *, published: bool) -> str:
    rows = cells(evaluation, published=published)
    shown = html_table(rows, words=NAMES, bold=best_cells(evaluation))
    return shown + paragraph(notes(evaluation, published=published))


def _bars(evaluation: Evaluation, *, published: bool) -> str:
    charts = []
    for name in evaluation.sets:
        ours = [
            svg.Bar(table, score.value, score.interval.low, score.interval.high)
            for table, score in zip(evaluation.scores, column(evaluation, name))
            if score is not None and score.value is not None and score.interval is not None
        ]
        if not ours:
            continue
        rows = published_for([name]) if published else []
        best = sorted(rows, key=lambda row: -row.scores[name])[:PUBLISHED_BARS]
        theirs = [
            svg.Bar(f"{row.model} ({_short(row.paper)})", row.scores[name], published=True) for row in best
        ]
        numbers = {table: number for number, table in enumerate(evaluation.scores)}
        colours = [svg.colour(numbers[bar.label]) for bar in ours] + [svg.GREY] * len(theirs)
        charts.append(figure(title(name), svg.bars([*ours, *theirs], colours)))
    return grid(charts)


def _short(paper: str) -> str:
    """``X2Static`` of ``Gupta & Jaggi 2021 (X2Static)``."""
    return paper.rpartition("(")[2].rstrip(")")


def _coverage(evaluation: Evaluation) -> str:
    lines = ["".join(f"<th>{escape(text)}</th>" for text in ("set", *evaluation.scores))]
    for name in evaluation.sets:
        shares = (_share(score.coverage) if score else "–" for score in column(evaluation, name))
        lines.append(f"<td>{escape(title(name))}</td>" + "".join(f"<td>{share}</td>" for share in shares))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _share(coverage: tuple[int, int]) -> str:
    used, total = coverage
    share = used / max(1, total)
    return f"{used:,} of {total:,}, {100 * share:.1f} %{meter(share)}"


def _differences(evaluation: Evaluation) -> str:
    lines = evaluation.comparisons()
    if not lines:
        return ""
    rows = [["set", "table", "against", "difference", "95 % interval", "p", "items of both"]]
    for one in lines:
        interval = f"[{one.interval.low:+.1f}, {one.interval.high:+.1f}]"
        figures = (f"{one.difference:+.1f}", interval, f"{one.p_value:.3f}", f"{one.n:,}")
        rows.append([title(one.dataset), one.first, one.second, *figures])
    return html_table(rows, words=3) + paragraph(
        "Paired bootstrap over the items that both tables have a figure for; not corrected for the number of "
        "sets."
    )


def _curves(evaluation: Evaluation) -> str:
    drawn = {name: learning_curves(evaluation, name) for name in evaluation.sets}
    names = [name for name in CURVE_SETS if drawn.get(name)] or [name for name in drawn if drawn[name]]
    return grid(figure(f"{title(name)} over words of text", svg.curves(drawn[name])) for name in names)


def _layers(evaluation: Evaluation) -> str:
    study = layers_if_any(evaluation)
    if study is None:
        return ""
    return html_table(layer_rows(study)) + paragraph(
        f"Layers are chosen on one half of each set and scored on the other. Best overall on the development "
        f"halves: {study.overall} (layer {study.layers[study.overall]}); on the test halves themselves: "
        f"{study.oracle_overall} (layer {study.layers[study.oracle_overall]}). The best on the test half is "
        "what the papers report; it is too high, because it was chosen on the items it is scored on."
    )


def _parts(evaluation: Evaluation) -> str:
    blocks = []
    for name in evaluation.sets:
        by_table = {
            table: {(part.name, part.metric): part for part in score.parts}
            for table, score in zip(evaluation.scores, column(evaluation, name))
            if score is not None
        }
        keys = list(dict.fromkeys(key for parts in by_table.values() for key in parts))
        if not keys:
            continue
        rows = [["part", "measure", *by_table]]
        for key in keys:
            found = (parts.get(key) for parts in by_table.values())
            figures = (
                f"{part.value:.1f} ({part.n:,})" if part and part.value is not None else "–" for part in found
            )
            rows.append([*key, *figures])
        blocks.append(details(title(name), html_table(rows, words=2)))
    return "".join(blocks)


def _neighbours(neighbours: Neighbours) -> str:
    if not neighbours:
        return ""
    names = list(next(iter(neighbours.values())))
    rows = [["word", *names]]
    for word, by_table in neighbours.items():
        near = (by_table[name] for name in names)
        rows.append([word, *(", ".join(other for other, _ in found) if found else "–" for found in near)])
    return html_table(rows, words=len(rows[0]))


def _maps(maps: Mapping[str, Mapping[str, str]]) -> str:
    return grid(
        figure(f"{relation}, {name}", drawing)
        for relation, by_table in maps.items()
        for name, drawing in by_table.items()
    )


def _published(evaluation: Evaluation) -> str:
    wanted = [name for name in evaluation.sets if published_for([name])]
    rows = [["paper and table", "model", "protocol", *map(title, wanted)]]
    for row in published_for(wanted):
        figures = (f"{row.scores[name]:.1f}" if name in row.scores else "–" for name in wanted)
        rows.append([row.source, row.model, row.protocol or "its own", *figures])
    return html_table(rows, words=3) if len(rows) > 1 else ""


def _to_paste(evaluation: Evaluation, *, published: bool) -> str:
    texts: Iterable[tuple[str, str]] = (
        ("Markdown", markdown(evaluation, published=published)),
        ("LaTeX", latex(evaluation, published=published)),
    )
    return "".join(details(name, f"<pre>{escape(text)}</pre>") for name, text in texts)
