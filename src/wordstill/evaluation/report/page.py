"""An evaluation as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from wordstill.evaluation.comparison import Neighbors, neighbor_table
from wordstill.evaluation.report import plots
from wordstill.evaluation.report.published import published_for
from wordstill.evaluation.report.relation_points import RELATIONS, Projection, relation_points
from wordstill.evaluation.report.tables import (
    NAMES,
    best_cells,
    cells,
    column,
    latex,
    layer_rows,
    markdown,
    notes,
    part_rows,
    title,
)
from wordstill.evaluation.result import Evaluation
from wordstill.evaluation.studies import layers_if_any, learning_curves

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #202124; max-width: 1180px; margin: 2rem auto; }
body { padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #dadce0; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; margin: .6rem 0; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #eceff1; text-align: left; vertical-align: top; }
th { background: #f6f8fa; }
th.figure { text-align: right; }
td:first-child { white-space: nowrap; }
td.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.said { min-width: 9rem; white-space: normal; text-align: left; color: #9b2226; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(500px, 1fr)); gap: 0 1.5rem; }
.meter { height: 5px; background: #eceff1; } .meter i { display: block; height: 5px; background: #2a6f97; }
figure { margin: .8rem 0 1.4rem; } figcaption { font-weight: 600; margin-bottom: .2rem; }
p { color: #5f6368; max-width: 60rem; } summary { cursor: pointer; font-weight: 600; }
pre { background: #f6f8fa; padding: .8rem; overflow-x: auto; font-size: 12px; }
"""

PROBLEM = "no score"


def section(heading: str, content: str) -> str:
    """A section with its heading; an empty text if it has no content."""
    return f"<section><h2>{escape(heading)}</h2>{content}</section>" if content else ""


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def grid(drawings: Iterable[str]) -> str:
    """Drawings side by side, as many as fit."""
    content = "".join(drawings)
    return f'<div class="grid">{content}</div>' if content else ""


def meter(share: float) -> str:
    """A thin bar, filled to a share of its length."""
    return f'<div class="meter"><i style="width:{100 * share:.1f}%"></i></div>'


def details(summary: str, content: str) -> str:
    """A block that is collapsed at first."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def figure(caption: str, drawing: str) -> str:
    """A drawing with its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"


def html_table(rows: Sequence[Sequence[str]], *, words: int = 1, bold: Collection[tuple[int, int]] = ()) -> str:
    """A table whose first row is the header.

    Args:
        rows: Texts.
        words: The number of text columns; the others are numbers, aligned right.
        bold: The row and column of each cell whose number is bold.
    """
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        lines.append(
            "".join(
                _cell(text, tag, figure=place >= words, bold=(number, place) in bold) for place, text in enumerate(row)
            )
        )
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _cell(text: str, tag: str, *, figure: bool, bold: bool) -> str:
    kind = "said" if text.startswith(PROBLEM) else "figure" if figure else "word"
    first, space, rest = text.partition(" ")
    shown = f"<strong>{escape(first)}</strong>{space}{escape(rest)}" if bold else escape(text)
    return f'<{tag} class="{kind}">{shown}</{tag}>'


PUBLISHED_BARS = 4
MOST_IN_HEADING = 4
CURVE_SETS = ("simlex999", "rareword")
"""The sets of Figure 1 of the X2Static paper; others are drawn if these have no scores."""


@dataclass(frozen=True)
class Exhibits:
    """What a page shows beside the scores."""

    neighbors: Neighbors = field(default_factory=dict)
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
        """Look up neighbors and draw relations.

        Args:
            tables: The tables by name.
            words: Words whose neighbors are shown; None for a default list.
            projection: How relations are drawn.
            seed: Of t-SNE.
        """
        near = neighbor_table(tables) if words is None else neighbor_table(tables, words)
        maps: dict[str, dict[str, str]] = {}
        for relation, pairs in RELATIONS.items():
            for name, vectors in tables.items():
                if points := relation_points(vectors, pairs, projection, seed=seed):
                    maps.setdefault(relation, {})[name] = plots.scatter(points)
        return cls(near, maps)


def html(evaluation: Evaluation, exhibits: Exhibits | None = None, *, published: bool = True) -> str:
    """The page.

    Args:
        evaluation: The scores to show.
        exhibits: Neighbors and plots of relations, if any.
        published: Whether to show published scores too.
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
        section("Nearest words", _neighbors(shown.neighbors)),
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
            plots.Bar(table, score.value, score.interval.low, score.interval.high)
            for table, score in zip(evaluation.scores, column(evaluation, name))
            if score is not None and score.value is not None and score.interval is not None
        ]
        if not ours:
            continue
        rows = published_for([name]) if published else []
        best = sorted(rows, key=lambda row: -row.scores[name])[:PUBLISHED_BARS]
        theirs = [plots.Bar(f"{row.model} ({_short(row.paper)})", row.scores[name], published=True) for row in best]
        numbers = {table: number for number, table in enumerate(evaluation.scores)}
        colors = [plots.color(numbers[bar.label]) for bar in ours] + [plots.GRAY] * len(theirs)
        charts.append(figure(title(name), plots.bars([*ours, *theirs], colors)))
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
        values = (f"{one.difference:+.1f}", interval, f"{one.p_value:.3f}", f"{one.n:,}")
        rows.append([title(one.dataset), one.first, one.second, *values])
    return html_table(rows, words=3) + paragraph(
        "Paired bootstrap over the items that both tables have a score for; not corrected for the number of sets."
    )


def _curves(evaluation: Evaluation) -> str:
    drawn = {name: learning_curves(evaluation, name) for name in evaluation.sets}
    names = [name for name in CURVE_SETS if drawn.get(name)] or [name for name in drawn if drawn[name]]
    return grid(figure(f"{title(name)} over words of text", plots.curves(drawn[name])) for name in names)


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
    head = ["part", "measure", *evaluation.scores]
    blocks = {name: part_rows(evaluation, name) for name in evaluation.sets}
    return "".join(details(title(name), html_table([head, *rows], words=2)) for name, rows in blocks.items() if rows)


def _neighbors(neighbors: Neighbors) -> str:
    if not neighbors:
        return ""
    names = list(next(iter(neighbors.values())))
    rows = [["word", *names]]
    for word, by_table in neighbors.items():
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
        values = (f"{row.scores[name]:.1f}" if name in row.scores else "–" for name in wanted)
        rows.append([row.source, row.model, row.protocol or "its own", *values])
    return html_table(rows, words=3) if len(rows) > 1 else ""


def _to_paste(evaluation: Evaluation, *, published: bool) -> str:
    texts: Iterable[tuple[str, str]] = (
        ("Markdown", markdown(evaluation, published=published)),
        ("LaTeX", latex(evaluation, published=published)),
    )
    return "".join(details(name, f"<pre>{escape(text)}</pre>") for name, text in texts)
