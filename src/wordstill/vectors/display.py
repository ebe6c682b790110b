"""A table as a notebook shows it: its facts and its first words."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors

SHOWN_WORDS, SHOWN_NUMBERS = 5, 4


def table_html(vectors: WordVectors) -> str:
    """Facts, then the first words with their counts and first numbers; reads no more than these rows."""
    facts = {"words": f"{len(vectors):,}", "dimensions": str(vectors.dim), "numbers": vectors.storage}
    for part in ("method", "teacher"):
        if name := _name(vectors.provenance.get(part)):
            facts[part] = name
    corpus = vectors.provenance.get("corpus")
    if isinstance(corpus, Mapping) and isinstance(corpus.get("words"), int):
        facts["text"] = f"{corpus['words']:,} words"
    line = " · ".join(f"<b>{escape(value)}</b> {escape(name)}" for name, value in facts.items())
    count = min(SHOWN_WORDS, len(vectors))
    numbers = vectors.take(range(count))[:, :SHOWN_NUMBERS]
    rows = []
    for row in range(count):
        counted = "" if vectors.counts is None else f"{int(vectors.counts[row]):,}"
        cells = [escape(vectors.words[row]), counted, *(f"{number:.3f}" for number in numbers[row]), "…"]
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    head = "".join(f"<th>{title}</th>" for title in ("word", "count", *range(numbers.shape[1]), ""))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<div><p>WordVectors: {line}</p><table><tr>{head}</tr>{body}</table></div>"


def _name(fact: Any) -> str | None:
    name = fact.get("name") if isinstance(fact, Mapping) else fact
    return name if isinstance(name, str) else None
