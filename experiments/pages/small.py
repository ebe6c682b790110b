"""Tables of small tables, unseen words and bounded retrofitting, for experiments/results.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.record import RESULTS

Content = Mapping[str, Any]


def small_tables() -> str:
    """Score by size, and the choice for each limit."""
    return "\n\n".join(_small(content) for content in _files("small-tables"))


def unseen_words() -> str:
    """Scores of each policy for unknown words."""
    return "\n\n".join(_unseen(content) for content in _files("unseen-words"))


def bounded_retrofit() -> str:
    """Similarity and analogies by lexicon and bound."""
    return "\n\n".join(_bounded(content) for content in _files("bounded-retrofit"))


def _files(folder: str) -> Iterator[Content]:
    for path in sorted((RESULTS / folder).glob("*.json")):
        yield json.loads(path.read_text())


def _made(content: Content, what: str) -> list[str]:
    seed = f", seed {content['seed']}" if "seed" in content else ""
    return [
        f"**{content['title']}**, {what}; on {content['hardware']}, commit {content['commit']}{seed}:",
        "",
        f"    {content['command']}",
        "",
    ]


def _table(titles: list[str], rows: list[list[str]], left: int = 1) -> list[str]:
    lines = [titles, ["---"] * left + ["---:"] * (len(titles) - left), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _small(content: Content) -> str:
    full = content["rows"][0]
    limits: dict[str, list[str]] = {}
    for limit, chain in content["chosen"].items():
        limits.setdefault(chain, []).append(limit)
    rows = []
    for row in sorted(content["rows"], key=lambda row: -float(row["megabytes"])):
        scores = row["scores"]
        every = row["pairs"] == full["pairs"]
        change = f"{scores['all'] - full['scores']['all']:+.1f}" if every and row is not full else ""
        rows.append(
            [
                f"`{row['chain'] or 'original'}`",
                f"{row['megabytes']:.1f}",
                *(f"{scores[name]:.1f}" for name in ("all", "development", "other")),
                change,
                f"{row['pairs']:,}",
                ", ".join(limits.get(row["chain"], [])),
            ]
        )
    titles = ["chain", "MB", "A8", "development half", "other half", "change of A8", "pairs", "chosen for (MB)"]
    lines = _table(titles, rows)
    return "\n".join(_made(content, f"{content['words']:,} words x {content['dim']}") + lines)


def _unseen(content: Content) -> str:
    rows = []
    for row in content["rows"]:
        held = [row.get(name) for name in ("cosine", "cosine_rare", "microseconds_per_word", "megabytes")]
        cells = ["" if value is None else f"{value:{form}}" for value, form in zip(held, (".3f", ".3f", ".0f", ".1f"))]
        rare = row.get("rareword")
        scores = [f"{rare[name]:.1f}" for name in ("development", "other", "all")] if rare else [""] * 3
        rows.append([f"`{row['label']}`", *cells, *scores, f"{rare['pairs']:,}" if rare else ""])
    titles = [
        "policy",
        "cosine",
        "rare words",
        "µs per word",
        "MB",
        "RareW, development half",
        "other half",
        "all",
        "pairs",
    ]
    held_out = next(row["held_out"] for row in content["rows"] if "held_out" in row)
    return "\n".join(_made(content, f"{content['words']:,} words, {held_out:,} held out") + _table(titles, rows))


def _bounded(content: Content) -> str:
    rows = [["none", "", *_bounded_cells(content["plain"]), ""]]
    for lexicon in content["rows"]:
        for number, each in enumerate(lexicon["tried"]):
            bound = "none" if each["least_cosine"] is None else f"{each['least_cosine']:g}"
            taken = "yes" if number == lexicon["chosen"] else ""
            rows.append([lexicon["label"], bound, *_bounded_cells(each), taken])
    titles = ["lexicon", "minimum cosine", "A8", "dev.", "other", "analogies, dev.", "other", "Google", "MSR", "chosen"]
    return "\n".join(_made(content, f"{content['words']:,} words") + _table(titles, rows))


def _bounded_cells(scores: Content) -> list[str]:
    groups = (
        ("all", "similarity"),
        ("similarity", "development"),
        ("similarity", "other"),
        ("analogies", "development"),
        ("analogies", "other"),
        ("all", "google"),
        ("all", "msr"),
    )
    return [f"{scores[group][name]:.1f}" for group, name in groups]
