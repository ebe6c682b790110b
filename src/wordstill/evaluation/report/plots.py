"""Plots as SVG text, written without any plotting package, so that a page with them is a single file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wordstill.evaluation.report.relation_points import Point, check_projection, neighborhoods
from wordstill.evaluation.statistics import Floats
from wordstill.evaluation.studies import Curve

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


COLORS = ("#2a6f97", "#e07a1f", "#4d8b31", "#9b2226", "#6a4c93", "#1b998b", "#8d6b48", "#c2185b")
GRAY = "#9aa0a6"
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
LETTER = 6.6
"""Approximate width of a letter."""
WIDE_LETTER = 8.0
"""Width of a letter in a wide font."""
LABEL_ROUNDS = 4
LINE = 15.0
"""Height of a label."""
TURN, TILT = 32.0, 24.0
"""Viewing angles of a 3D figure, in degrees."""
ONE_THOUSAND = 1000
DARK = 0.75
"""Opacity of a cell from which its text is white."""


class Bar(NamedTuple):
    """A bar of a bar chart."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    published: bool = False


def color(number: int) -> str:
    """The color of the table with that number."""
    return COLORS[number % len(COLORS)]


def bars(items: Sequence[Bar], colors: Sequence[str], *, caption: str = "") -> str:
    """Horizontal bars with intervals; published ones are gray."""
    width = 720
    left = min(330.0, max((len(item.label) for item in items), default=0) * LETTER + 12)
    row, top = 22, 6
    height = top + row * len(items) + 8
    low = min(0.0, *(item.low if item.low is not None else item.value for item in items))
    high = max(1.0, *(item.high if item.high is not None else item.value for item in items))
    scale = (width - left - 60) / (high - low)
    zero = left - low * scale
    parts = [_line(zero, 0, zero, height, GRAY)]
    for number, item in enumerate(items):
        middle = top + row * number + row / 2
        end = zero + item.value * scale
        start, stop = sorted((zero, end))
        fill = GRAY if item.published else colors[number % len(colors)]
        parts.append(_text(left - 8, middle + 4, item.label, anchor="end"))
        parts.append(
            f'<rect x="{start:.1f}" y="{middle - 7:.1f}" width="{max(stop - start, 0.5):.1f}" height="14" '
            f'fill="{fill}"/>'
        )
        reach = stop
        if item.low is not None and item.high is not None:
            first, last = zero + item.low * scale, zero + item.high * scale
            parts.append(_line(first, middle, last, middle, "#202124"))
            parts += [_line(x, middle - 4, x, middle + 4, "#202124") for x in (first, last)]
            reach = max(reach, last)
        parts.append(_text(reach + 6, middle + 4, f"{item.value:.1f}"))
    if caption:
        parts.append(_text(left, height + 12, caption, fill="#5f6368"))
        height += 20
    return _svg(width, height, parts)


def curves(
    lines: Sequence[Curve],
    *,
    logarithmic: bool = True,
    ticks: Mapping[float, str] | None = None,
    caption: str = "",
    width: int = 720,
    height: int = 320,
) -> str:
    """Lines over an axis, logarithmic for corpus sizes; ``ticks`` labels its values."""
    scale = math.log10 if logarithmic else float
    xs = [scale(x) for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points] + [y for line in lines for _, *ends in line.ranges for y in ends]
    left, right, top, bottom = 50.0, width - 190.0, 14.0, height - 34.0
    width = max(width, math.ceil(right + 50 + LETTER * max(len(line.label) for line in lines)))
    x_low, x_high = _spread(min(xs), max(xs), 0.2)
    y_low, y_high = _spread(min(ys), max(ys), 2.0 if ticks is None else 0.0)

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (scale(x) - x_low) / (x_high - x_low) * (right - left)
        return across, bottom - (y - y_low) / (y_high - y_low) * (bottom - top)

    parts = [_line(left, bottom, right, bottom, GRAY), _line(left, top, left, bottom, GRAY)]
    for value in _round_values(y_low, y_high):
        level = place(lines[0].points[0][0], value)[1]
        parts += [_line(left, level, right, level, "#eceff1"), _text(left - 6, level + 4, f"{value:g}", anchor="end")]
    free = left if ticks is None else 0.0
    for x in sorted(ticks or {x for line in lines for x, _ in line.points}):
        named = size_text(x) if x >= ONE_THOUSAND else f"{x:g}"
        across, label = place(x, y_low)[0], ticks[x] if ticks else named
        if across - len(label) * LETTER / 2 >= free:
            parts.append(_text(across, bottom + 16, label, anchor="middle"))
            free = across + len(label) * LETTER / 2 + LETTER
    for number, line in enumerate(lines):
        spots = [place(x, y) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color(number)}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color(number)}"/>' for x, y in spots]
        # Intervals at the same value are drawn side by side.
        beside = 5 * (number - (len(lines) - 1) / 2)
        for x, low, high in line.ranges:
            (across, start), (_, end) = place(x, low), place(x, high)
            parts.append(_line(across + beside, start, across + beside, end, color(number)))
        key = top + 18 * number + 8
        parts += [_line(right + 14, key, right + 34, key, color(number), 3), _text(right + 40, key + 4, line.label)]
    if caption:
        parts.append(_text(left, height + 8, caption, fill="#5f6368"))
        height += 16
    return _svg(width, height, parts)


def scatter(pairs: Sequence[tuple[Point, Point]]) -> str:
    """Pairs of points joined by lines."""
    width, height = 520, 400
    points = [point for pair in pairs for point in pair]
    x_low, x_high = _spread(min(p.x for p in points), max(p.x for p in points), 1e-6)
    y_low, y_high = _spread(min(p.y for p in points), max(p.y for p in points), 1e-6)
    margin = 46

    def place(point: Point) -> tuple[float, float]:
        across = margin + (point.x - x_low) / (x_high - x_low) * (width - 2 * margin - 30)
        return across, height - 24 - (point.y - y_low) / (y_high - y_low) * (height - 48)

    parts = []
    for first, second in pairs:
        parts.append(_line(*place(first), *place(second), "#b0bec5"))
        for number, point in enumerate((first, second)):
            x, y = place(point)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color(number)}"/>')
    return _svg(width, height, parts + _labels([point.label for point in points], [place(point) for point in points]))


def scatter_3d(pairs: Sequence[tuple[str, str]], places: Floats) -> str:
    """Pairs of words in 3D, joined by lines, seen from above at an angle; distant points are paler.

    Args:
        pairs: The words.
        places: Coordinates of the words, pair by pair (words, 3).
    """
    width, height = 640, 520
    low, high = places.min(axis=0), places.max(axis=0)
    cube = (places - low) / np.maximum(high - low, 1e-9)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float64)
    turned, frame = (_seen(each) for each in (cube, corners))
    scale = min(width - 150, height - 60) / float(np.ptp(frame[:, :2], axis=0).max())
    middle = (frame[:, :2].max(axis=0) + frame[:, :2].min(axis=0)) / 2

    def place(point: Floats) -> tuple[float, float]:
        return width / 2 - 20 + (point[0] - middle[0]) * scale, height / 2 - (point[1] - middle[1]) * scale

    edges = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
    parts = [_line(*place(frame[a]), *place(frame[b]), "#e3e7ea") for a, b in edges]
    depth = (turned[:, 2] - turned[:, 2].min()) / max(float(np.ptp(turned[:, 2])), 1e-9)
    for number in np.argsort(turned[::2, 2] + turned[1::2, 2]).tolist():
        rows = 2 * number, 2 * number + 1
        parts.append(_line(*place(turned[rows[0]]), *place(turned[rows[1]]), "#b0bec5"))
        for side, row in enumerate(rows):
            x, y = place(turned[row])
            solid = 0.45 + 0.55 * float(depth[row])
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color(side)}" fill-opacity="{solid:.2f}"/>')
    words = [word for pair in pairs for word in pair]
    return _svg(width, height, parts + _labels(words, [place(point) for point in turned]))


def _seen(places: Floats) -> Floats:
    """Points (n, 3) as seen: across, up, and towards the viewer."""
    turn, tilt = math.radians(TURN), math.radians(TILT)
    x, y, z = (places - 0.5).T
    across, away = math.cos(turn) * x - math.sin(turn) * y, math.sin(turn) * x + math.cos(turn) * y
    return np.stack([across, math.cos(tilt) * z + math.sin(tilt) * away, math.sin(tilt) * z - math.cos(tilt) * away], 1)


def word_map(points: Sequence[Point], groups: Sequence[int], labels: int) -> str:
    """Words as points colored by group, with as many labels as fit, the first words first.

    Args:
        points: The words, the most important first.
        groups: The group of each, or -1 for none.
        labels: Maximum number of labels.
    """
    width, height = 960, 760
    reach = max(max(abs(point.x), abs(point.y)) for point in points)
    scale = min(width, height) / 2 / max(reach, 1e-9) * 0.97

    def place(point: Point) -> tuple[float, float]:
        return width / 2 + point.x * scale, height / 2 - point.y * scale

    radius = max(1.1, min(4.0, 150 / math.sqrt(len(points))))
    dots = []
    for point, group in reversed(list(zip(points, groups))):
        x, y = place(point)
        fill = GRAY if group < 0 else color(group)
        dots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" fill-opacity="0.8"/>')
    taken: list[tuple[float, float, float]] = []
    texts: list[str] = []
    # With many words, frequent ones would crowd the middle; wider gaps leave labels for rarer words at the rim.
    room = 2 * LINE if len(points) > ONE_THOUSAND else LINE
    for point in points:
        x, y = place(point)
        half = len(point.label) * LETTER / 2 + 3
        free = all(abs(y - other_y) > room or abs(x - other_x) > half + other for other_x, other_y, other in taken)
        if free and half < x < width - half and y > LINE:
            taken.append((x, y, half))
            texts.append(_text(x, y - 5, point.label, anchor="middle", halo=True))
        if len(texts) == labels:
            break
    return _svg(width, height, dots + texts)


def heat_map(words: Sequence[str], values: Floats) -> str:
    """A matrix of cosines as squares, darker for larger values; negative ones are orange."""
    cell = 44
    left = max(len(word) for word in words) * WIDE_LETTER + 18
    top = left * 0.75 + 10
    parts = []
    for row, word in enumerate(words):
        middle = top + row * cell + cell / 2
        parts.append(_text(left - 8, middle + 4, word, anchor="end"))
        x = left + row * cell + cell / 2
        parts.append(
            f'<text x="{x:.1f}" y="{top - 8:.1f}" transform="rotate(-45 {x:.1f} {top - 8:.1f})" '
            f'fill="#202124">{escape(word)}</text>'
        )
        for column in range(len(words)):
            value = float(values[row, column])
            fill = color(0) if value >= 0 else color(1)
            x, y = left + column * cell, top + row * cell
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell - 1}" height="{cell - 1}" fill="{fill}" '
                f'fill-opacity="{min(1.0, abs(value)):.3f}"/>'
            )
            ink = "#ffffff" if abs(value) > DARK else "#202124"
            # A small negative number would be shown as -0.00.
            shown = f"{round(value, 2) + 0.0:.2f}"
            parts.append(_text(x + cell / 2, y + cell / 2 + 4, shown, anchor="middle", fill=ink))
    return _svg(left + cell * len(words) + left * 0.6, top + cell * len(words) + 8, parts)


def group_map(vectors: WordVectors, groups: Mapping[str, Sequence[str]]) -> str:
    """A t-SNE map of words, colored by group; words that the table lacks are left out."""
    width, height = 760, 460
    check_projection("tsne")
    known = {name: [word for word in words if word in vectors] for name, words in groups.items()}
    words = [word for group in known.values() for word in group]
    places = neighborhoods(vectors[words].astype(np.float64), 2, seed=0)
    low, high = places.min(axis=0), places.max(axis=0)
    placed = ((places - low) / np.maximum(high - low, 1e-9) * [width - 120, height - 70] + [30, 24]).tolist()
    colors = [color(number) for number, group in enumerate(known.values()) for _ in group]
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}"/>' for (x, y), fill in zip(placed, colors)]
    parts = [f'<rect width="{width}" height="{height}" rx="8" fill="#fff"/>', *_labels(words, placed), *dots]
    for number, name in enumerate(known):
        left = 20 + number * (width - 40) / len(known)
        parts.append(f'<circle cx="{left:.1f}" cy="{height - 16}" r="5" fill="{color(number)}"/>')
        parts.append(_text(left + 9, height - 12, name))
    return _svg(width, height, parts)


def _labels(words: Sequence[str], placed: Sequence[tuple[float, float]]) -> list[str]:
    """Labels to the right of their points, or on another side or corner if others are in the way."""
    edge = (-math.inf, -math.inf, 4.0, math.inf)
    fixed = [edge, *((x - 5, y - 5, x + 5, y + 5) for x, y in placed)]
    choices = [_label_boxes(x, y, len(word) * WIDE_LETTER) for word, (x, y) in zip(words, placed)]
    chosen = [boxes[0] for boxes in choices]
    for _ in range(LABEL_ROUNDS):
        for number, boxes in enumerate(choices):
            taken = fixed + chosen[:number] + chosen[number + 1 :]
            chosen[number] = min(boxes, key=lambda box: sum(_overlap(box, other) for other in taken))
    return [_text(box[0], box[3] - 2, word, halo=True) for word, box in zip(words, chosen)]


def _label_boxes(x: float, y: float, wide: float) -> list[tuple[float, ...]]:
    """Possible boxes for the label of a point, the best first: left, top, right, bottom."""
    sides = ((x + 7, y + 4, 0.0), (x - 7, y + 4, 1.0), (x, y - 8, 0.5), (x, y + 16, 0.5))
    corners = ((x + 4, y - 6, 0.0), (x - 4, y - 6, 1.0), (x + 4, y + 14, 0.0), (x - 4, y + 14, 1.0))
    return [(at - part * wide, base - 10, at + (1 - part) * wide, base + 2) for at, base, part in sides + corners]


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The area that two boxes share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(across, 0.0) * max(down, 0.0)


def size_text(words: float) -> str:
    """A number of words with its unit: 1.5 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if words >= size:
            return f"{words / size:.3g} {unit}"
    return f"{words:.0f}"


def _round_values(low: float, high: float) -> list[float]:
    """Two to six round numbers at equal steps inside a range."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _spread(low: float, high: float, least: float) -> tuple[float, float]:
    """A range with some room on both sides, even if it is a single value."""
    room = max(0.06 * (high - low), least)
    return low - room, high + room


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:{width:.0f}px;width:100%" role="img" {FONT}>{"".join(parts)}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width:g}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", *, fill: str = "#202124", halo: bool = False) -> str:
    around = ' stroke="#ffffff" stroke-width="3" paint-order="stroke" stroke-linejoin="round"' if halo else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"{around}>{escape(text)}</text>'
