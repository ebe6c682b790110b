"""The model card of a table: what it is, how to load it, its scores, and what it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from wordstill.vectors import WordVectors

FIRST = ("teacher", "corpus", "method")
FIRST_COLUMNS = ("task", "dataset", "name")
ORIGIN = (("teacher", "name"), ("corpus", "words"), ("method", "name"))
SHOWN_WORDS, SHOWN_NEIGHBORS = 5, 5
SHORTEST = 4
"""Minimum length of shown words; shorter ones are mostly function words."""
MOST_SEARCHED = 200_000
"""Maximum size of a table for which the card shows neighbors, which are searched on saving."""


def card(vectors: WordVectors, provenance: Mapping[str, Any]) -> str:
    """The card as Markdown; ``provenance`` must consist of JSON values."""
    evaluation = _evaluation_rows(provenance.get("evaluation"))
    shown = content_words(vectors)
    near = _neighbors(vectors, shown) if shown and len(vectors) <= MOST_SEARCHED else ""
    parts = [
        "---\nlibrary_name: wordstill\ntags:\n- word-embeddings\n---",
        f"# {_inline(provenance.get('name', 'Word vectors'))}",
        _summary(vectors, provenance),
        "## Use",
        _usage(shown[0] if shown else None),
        *(["## Nearest words", near] if near else []),
        *(["## Evaluation", _table(evaluation)] if evaluation else []),
        *(["## Made from", _recorded(provenance)] if set(provenance) - {"evaluation", "name"} else []),
    ]
    return "\n\n".join(parts) + "\n"


def content_words(table: WordVectors) -> list[str]:
    """Some frequent words, without the most frequent ones, which are function words in every language."""
    start, end = min(200, len(table) // 10), min(2000, len(table))
    candidates = [word for word in table.words[start:end] if word.isalpha() and len(word) >= SHORTEST]
    return candidates[:: max(1, len(candidates) // SHOWN_WORDS)][:SHOWN_WORDS]


def _summary(vectors: WordVectors, provenance: Mapping[str, Any]) -> str:
    counts = "with the count of each word" if vectors.counts is not None else "without counts"
    size = f"One vector per word: {len(vectors):,} words, {vectors.dim} numbers each ({vectors.storage}), {counts}."
    try:
        teacher, words, method = (provenance[part][key] for part, key in ORIGIN)
        return (
            f"{size} Distilled from {_inline(teacher)} over {words:,} words of text with the method {_inline(method)}."
        )
    except (KeyError, TypeError, ValueError):
        return size


def _usage(example: str | None) -> str:
    lines = ["from wordstill import WordVectors", "", 'vectors = WordVectors.load("path/to/this/folder")']
    if example is not None:
        lines += [f"vectors[{example!r}]", f"vectors.most_similar({example!r}, topn=5)"]
    return "\n".join(["```python", *lines, "```"])


def _neighbors(vectors: WordVectors, words: Sequence[str]) -> str:
    found = vectors.neighbors(words, SHOWN_NEIGHBORS)
    rows = [{"word": word, "nearest": ", ".join(other for other, _ in near)} for word, near in zip(words, found)]
    return _table([row for row in rows if row["nearest"]])


def _recorded(provenance: Mapping[str, Any]) -> str:
    names = [name for name in FIRST if name in provenance]
    names += [name for name in provenance if name not in (*FIRST, "evaluation", "name")]
    lines: list[str] = []
    for name in names:
        value = provenance[name]
        if isinstance(value, Mapping):
            lines.append(f"- **{_inline(name)}**")
            lines += [f"  - {_inline(key)}: {_inline(inner)}" for key, inner in value.items()]
        else:
            lines.append(f"- **{_inline(name)}**: {_inline(value)}")
    return "\n".join(lines)


def _evaluation_rows(evaluation: Any) -> list[Mapping[str, Any]]:
    """Table rows, from a list of rows or from a mapping of tasks to scores."""
    if isinstance(evaluation, Mapping):
        return [
            {"task": task, **(score if isinstance(score, Mapping) else {"score": score})}
            for task, score in evaluation.items()
        ]
    if isinstance(evaluation, list):
        return [row for row in evaluation if isinstance(row, Mapping)]
    return []


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    found = dict.fromkeys(column for row in rows for column in row)
    columns = [column for column in FIRST_COLUMNS if column in found]
    columns += [column for column in found if column not in FIRST_COLUMNS]
    lines = [columns, ["---"] * len(columns), *([row.get(column, "") for column in columns] for row in rows)]
    return "\n".join("| " + " | ".join(_inline(cell) for cell in line) + " |" for line in lines)


def _inline(value: Any) -> str:
    """A value on one line, escaped for a Markdown table."""
    if isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, str):
        text = value
    elif isinstance(value, int) and abs(value) >= 10_000:
        text = f"{value:,}"
    else:
        text = json.dumps(value, ensure_ascii=False)
    return " ".join(text.split()).replace("|", "\\|")
