"""Figures for papers, as SVG and PNG: map, relation, curves, heat map, attention, change."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wordstill.analysis.change import Measure, Moved, timeline
from wordstill.core.files import write_file
from wordstill.errors import DataError, MissingExtra, UsageError, unknown_name
from wordstill.evaluation.comparison import agreement
from wordstill.evaluation.report import plots
from wordstill.evaluation.report.plots import Bar
from wordstill.evaluation.report.relation_points import (
    FEWEST_PAIRS,
    RELATIONS,
    Pairs,
    Point,
    Projection,
    on_plane,
    relation_places,
)
from wordstill.evaluation.report.tables import column, title
from wordstill.evaluation.studies import WORDS, Curve, learning_curves, training_curves
from wordstill.evaluation.suite import evaluate
from wordstill.explore.layout import MapMaker, WordMap, check_method
from wordstill.vectors import WordVectors
from wordstill.vectors.oov import UnknownWord

if TYPE_CHECKING:
    from wordstill.explore.sentence_attention import Attention

PIXELS_PER_UNIT = 2
SUFFIXES = (".svg", ".png")
SHORTEST_LABEL, COMMON = 4, 150
LABELS, CHANGED = 90, 30
FONTS = ("Helvetica Neue", "Helvetica", "Arial", "Segoe UI", "Inter", "Noto Sans", "Liberation Sans", "DejaVu Sans")
LETTER = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
    '<text y="15" font-family="sans-serif">{}</text></svg>'
)


def map_figure(
    vectors: WordVectors,
    path: Path | None = None,
    *,
    lists: Sequence[Sequence[str]] = (),
    layout: str = "tsne",
    labels: int = LABELS,
    seed: int = 0,
) -> str:
    """The map of a table as SVG, colored by cluster or by lists of words; a map saved beside ``path`` is reused."""
    made = MapMaker(vectors, path, seed).compute(check_method(layout))
    counts = np.zeros(len(made.rows)) if vectors.counts is None else vectors.counts[made.rows]
    words = [vectors.words[row] for row in made.rows.tolist()]
    # Short and very frequent words are mostly function words, so their labels come last.
    common = set(np.argsort(-counts, kind="stable")[: min(COMMON, len(words) // 50)].tolist())
    telling = [word.isalpha() and len(word) >= SHORTEST_LABEL and at not in common for at, word in enumerate(words)]
    order = np.lexsort((-counts, ~np.array(telling))).tolist()
    groups = _groups(made, words, lists)
    points = [Point(words[place], *map(float, made.places[place])) for place in order]
    if lists:
        # The words of the lists are what the figure is about.
        listed = sorted(range(len(points)), key=lambda place: groups[order[place]] < 0)
        points, order = [points[place] for place in listed], [order[place] for place in listed]
    return plots.word_map(points, [groups[place] for place in order], labels)


def relation_figure(
    vectors: WordVectors, relation: str | Pairs, projection: Projection = "pca", *, dimensions: int = 2, seed: int = 0
) -> str:
    """Word pairs of one relation, given by name or as pairs, in two or three dimensions."""
    if dimensions not in (2, 3):
        raise UsageError(f"A relation is drawn in 2 or 3 dimensions, got {dimensions}.")
    if isinstance(relation, str):
        if relation not in RELATIONS:
            raise unknown_name("relation", relation, RELATIONS)
        relation = RELATIONS[relation]
    known, places = relation_places(vectors, relation, projection, dimensions, seed=seed)
    if not known:
        there = sum(first in vectors and second in vectors for first, second in relation)
        raise DataError(
            f"A relation needs {FEWEST_PAIRS} pairs or more; the table has {there} of these {len(relation)}. "
            "Name others with --pairs (relation=)."
        )
    return plots.scatter_3d(known, places) if dimensions == 3 else plots.scatter(on_plane(known, places))


def heat_figure(vectors: WordVectors, words: Sequence[str]) -> str:
    """The cosines between some words."""
    if len(words) < 2:
        raise UsageError(f"A heat map needs two words or more, got {len(words)}: --words king,queen,river")
    words = _known(vectors, words, at_least=2)
    unit = np.stack([vectors.unit[vectors.index(word)] for word in words])
    return plots.heat_map(words, (unit @ unit.T).astype(np.float64))


def _known(vectors: WordVectors, words: Sequence[str], at_least: int = 1) -> list[str]:
    """The words as spelled in the table; missing words are skipped with a warning, or an error if too few are left."""
    rows = vectors.find(words)
    known = [vectors.words[row] for row in rows if isinstance(row, int)]
    if missing := [word for word, row in zip(words, rows) if not isinstance(row, int)]:
        if len(known) < at_least:
            raise UnknownWord(missing[0], vectors.words)
        warnings.warn(f"Skipped, because they are not in the table: {', '.join(missing)}.", stacklevel=3)
    return known


def attention_figure(attention: Attention) -> str:
    """The attention weights of each word over its neighbors, a row per word."""
    return plots.heat_map(attention.words, attention.weights)


def change_figure(tables: Mapping[str, WordVectors], *, words: int = CHANGED, seed: int = 0) -> str:
    """The words with the fewest neighbors shared by two tables, as bars."""
    if len(tables) != 2:
        raise UsageError(f"A figure of change needs two tables, got {len(tables)}.")
    agreed = agreement(*tables.values(), seed=seed)
    bars = [Bar(word, 100 * share) for word, share in agreed.least(words)]
    return plots.bars(
        bars, [plots.color(0)], caption=f"% of the {agreed.topn} nearest words that {' and '.join(tables)} share"
    )


def moved_figure(moved: Sequence[Moved], measure: Measure = "pairwise") -> str:
    """How far words moved between two groups by one of the measures, times 100, as bars with intervals."""
    if not moved:
        raise DataError("No word is left to draw.")

    bars = [
        Bar(each.word, _hundredths(there.value), _hundredths(there.low), _hundredths(there.high))
        for each, there in ((each, each.by(measure)) for each in moved)
    ]
    label = "distance" if measure == "distance" else "how much farther apart uses of different groups are"
    return plots.bars(bars, [plots.color(0)], caption=f"{label} × 100, 95 % intervals for other texts of this size")


def _hundredths(distance: float) -> float:
    return 100 * max(0.0, distance)


def timeline_figure(vectors: WordVectors, words: Sequence[str], *, seed: int = 0) -> str:
    """The distance of words in each group of the text from their use in the first group."""
    if not words or len(vectors.groups) < 2:
        lack = (
            "words: --words mouse,tablet" if not words else "a table whose text has groups: wordstill prepare --group"
        )
        raise UsageError(f"A timeline needs {lack}")
    lines = []
    for word in _known(vectors, words):
        later = [(place, point.distance) for place, point in enumerate(timeline(vectors, word, seed=seed), 1)]
        known = [(float(place), there) for place, there in later if there is not None]
        spots = ((0.0, 0.0), *((place, there.value) for place, there in known))
        lines.append(Curve(word, spots, tuple((place, there.low, there.high) for place, there in known)))
    if all(len(line.points) == 1 for line in lines):
        raise DataError(f"Too rare in the groups of the text: {', '.join(words)}.")
    ticks = {float(place): name for place, name in enumerate(vectors.groups)}
    caption = f"distance from the use in {vectors.groups[0]}, 95 % intervals for other texts of this size"
    return plots.curves(lines, logarithmic=False, ticks=ticks, caption=caption)


def curve_figure(tables: Mapping[str, WordVectors], dataset: str, *, over: str = WORDS, seed: int = 0) -> str:
    """Scores on one set over the size of the tables' text, or over one of their settings."""
    evaluation = evaluate(tables, [dataset], "default", seed)
    curves = learning_curves(evaluation, dataset, over)
    if not curves:
        what = "sizes of text" if over == WORDS else f"values of {over}"
        raise DataError(
            f"A curve needs tables of one method that differ in nothing but {what}, two or more, with a score on "
            f"{dataset}; got {', '.join(tables)}."
        )
    metric = next(score.metric for score in column(evaluation, dataset) if score is not None)
    across = "words of the text" if over == WORDS else over
    items = "the items that each table covers" if curves[0].items is None else f"{curves[0].items} items that all cover"
    caption = f"{title(dataset)}: {metric} × 100 over {across}; {items}"
    return plots.curves(curves, logarithmic=over == WORDS, caption=caption)


def training_figure(tables: Mapping[str, WordVectors]) -> str:
    """Scores on development data during training, over the words read."""
    curves = training_curves(tables)
    if not curves:
        raise DataError(
            f"No table has two scores of its training: {', '.join(tables)}. They are kept with wordstill distill "
            "--development FILE --score-every WORDS."
        )
    return plots.curves(curves, logarithmic=False)


def save_figure(svg: str, path: Path) -> None:
    """Write a figure as SVG or PNG, by its suffix, on white."""
    check_suffix(path)
    svg = _standalone(svg)
    write_file(path, svg if path.suffix == ".svg" else _png(svg))


def check_suffix(path: Path) -> None:
    """Raise unless the file is SVG, or PNG with the package for it installed."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"A figure is written as {' or '.join(SUFFIXES)}, got {path}.")
    if path.suffix == ".png":
        _png('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')


def _png(svg: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise MissingExtra("resvg-py", "explore", "A figure as PNG") from error
    return bytes(svg_to_bytes(svg_string=svg, zoom=PIXELS_PER_UNIT, background="white", sans_serif_family=_font()))


@cache
def _font() -> str:
    """An installed font: resvg drops all text in a font that it does not find."""
    from resvg_py import svg_to_bytes

    def drawn(text: str, font: str) -> bytes:
        return bytes(svg_to_bytes(svg_string=LETTER.format(text), sans_serif_family=font))

    for font in FONTS:
        if drawn("a", font) != drawn("", font):
            return font
    raise UsageError(f"No font for a PNG was found; install one of {', '.join(FONTS)}, or write an SVG.")


def _standalone(svg: str) -> str:
    """A figure with a fixed size and a white background, for use outside a page."""
    found = re.match(r'<svg xmlns="[^"]*" viewBox="0 0 (\d+) (\d+)" style="[^"]*"', svg)
    assert found is not None
    width, height = found[1], found[2]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    start, end = svg[found.end() :].split(">", 1)
    return f'{head}{start}><rect width="100%" height="100%" fill="#ffffff"/>{end}\n'


def _groups(made: WordMap, words: Sequence[str], lists: Sequence[Sequence[str]]) -> list[int]:
    if lists:
        group_of = {word.lower(): group for group, some in reversed(list(enumerate(lists))) for word in some}
        return [group_of.get(word.lower(), -1) for word in words]
    return [-1] * len(words) if made.clusters is None else made.clusters.tolist()
