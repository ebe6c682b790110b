"""The model card of a table: what it is, what it was made from, how to load it, how good it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from wordstill.vectors import WordVectors

FIRST = ("teacher", "corpus", "method")
FIRST_COLUMNS = ("task", "dataset", "name")


def card(vectors: WordVectors, provenance: Mapping[str, Any]) -> str:
    """The card as Markdown; ``provenance`` holds only what JSON can."""
    evaluation = _evaluation_rows(provenance.get("evaluation"))
    parts = [
        "---\nlibrary_name: wordstill\ntags:\n- word-embeddings\n---",
        f"# {_inline(provenance.get('name', 'Word vectors'))}",
        _summary(vectors),
        "## Use",
        _usage(vectors),
        *(["## Made from", _recorded(provenance)] if set(provenance) - {"evaluation", "name"} else []),
        *(["## Evaluation", _table(evaluation)] if evaluation else []),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(vectors: WordVectors) -> str:
    counts = "with the count of each word" if vectors.counts is not None else "without counts"
    return (
        f"One fixed vector per word: {len(vectors):,} words, {vectors.dim} numbers each ({vectors.storage}), {counts}."
    )


def _usage(vectors: WordVectors) -> str:
    example = next((word for word in vectors.words if word.isalpha()), None)
    lines = [
        "from wordstill.vectors import WordVectors",
        "",
        'vectors = WordVectors.load("path/to/this/folder")',
        f"vectors[{example!r}]",
        f"vectors.most_similar({example!r}, topn=5)",
    ]
    return "\n".join(["```python", *(lines if example else lines[:3]), "```"])


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
    """Rows of a table, from a list of them or from a mapping of a task to its score or scores."""
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
    """A value on one line, safe in a table."""
    if isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, str):
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False)
    return " ".join(text.split()).replace("|", "\\|")
