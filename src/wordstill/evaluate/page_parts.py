"""The small pieces of a page: headings, tables, folded blocks, and how they look."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

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

PROBLEM = "no figure"


def section(heading: str, content: str) -> str:
    """A part of the page under its heading; nothing if it is empty."""
    return f"<section><h2>{escape(heading)}</h2>{content}</section>" if content else ""


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def grid(figures: Iterable[str]) -> str:
    """Figures beside each other, as many as there is room for."""
    content = "".join(figures)
    return f'<div class="grid">{content}</div>' if content else ""


def meter(share: float) -> str:
    """A thin bar that is filled to a share of its length."""
    return f'<div class="meter"><i style="width:{100 * share:.1f}%"></i></div>'


def details(summary: str, content: str) -> str:
    """A block that is folded until somebody asks for it."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def figure(caption: str, drawing: str) -> str:
    """A drawing with its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"


def html_table(
    rows: Sequence[Sequence[str]], *, words: int = 1, bold: Collection[tuple[int, int]] = ()
) -> str:
    """A table whose first row is its head.

    Args:
        rows: Texts.
        words: How many columns hold words; the others hold figures, which stand right.
        bold: The row and column of cells whose figure is bold.
    """
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        lines.append(
            "".join(
                _cell(text, tag, figure=place >= words, bold=(number, place) in bold)
                for place, text in enumerate(row)
            )
        )
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _cell(text: str, tag: str, *, figure: bool, bold: bool) -> str:
    kind = "said" if text.startswith(PROBLEM) else "figure" if figure else "word"
    first, blank, rest = text.partition(" ")
    shown = f"<strong>{escape(first)}</strong>{blank}{escape(rest)}" if bold else escape(text)
    return f'<{tag} class="{kind}">{shown}</{tag}>'
