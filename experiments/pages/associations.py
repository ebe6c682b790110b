"""The tables of association tests and of opposites, for experiments/results.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.quality.associations import NEAR
from experiments.record import RESULTS

Content = Mapping[str, Any]
SURE = 0.05


def page() -> str:
    """Every result, one after the other."""
    return "\n\n".join(
        _section(json.loads(path.read_text())) for path in sorted((RESULTS / "associations").glob("*.json"))
    )


def opposites() -> str:
    """How well opposites are separated from synonyms."""
    return "\n\n".join(
        _opposites(json.loads(path.read_text())) for path in sorted((RESULTS / "opposites").glob("*.json"))
    )


def _opposites(content: Content) -> str:
    tables = list(content["tables"])
    lines = [
        f"**{content['title']}**; on {content['hardware']}, commit {content['commit']}, seed {content['seed']}:",
        "",
        f"    {content['command']}",
        "",
        f"| separated by | {' | '.join(f'`{name}`' for name in tables)} |",
        f"|---|{'---:|' * len(tables)}",
    ]
    for label in content["tables"][tables[0]]["caught"]:
        cells = [f"{100 * content['tables'][name]['caught'][label]:.0f}" for name in tables]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    sizes = (f"`{name}` {about['antonyms']:,} and {about['synonyms']:,}" for name, about in content["tables"].items())
    return "\n".join([*lines, "", f"Pairs of antonyms and of synonyms: {'; '.join(sizes)}."])


def _section(content: Content) -> str:
    lines = [
        f"**{content['title']}**; on {content['hardware']}, commit {content['commit']}, seed {content['seed']}:",
        "",
        f"    {content['command']}",
        "",
        *_table(content),
        "",
        *(_agreement(name, content) for name in content["tables"]),
    ]
    return "\n".join(lines)


def _table(content: Content) -> Iterator[str]:
    tables = list(content["tables"])
    yield f"| test | targets | attributes | paper | {' | '.join(f'`{name}`' for name in tables)} |"
    yield f"|---|---|---|---:|{'---:|' * len(tables)}"
    rows: dict[str, dict[str, Content]] = {}
    for row in content["rows"]:
        rows.setdefault(row["test"], {})[row["table"]] = row
    for test, by_table in rows.items():
        some = next(iter(by_table.values()))
        names = [", ".join(some[key]) for key in ("targets", "attributes")]
        cells = [_cell(by_table[name]) for name in tables]
        yield f"| {test} | {' | '.join(names)} | {some['published']:.2f} | {' | '.join(cells)} |"


def _cell(row: Content) -> str:
    if row["effect"] is None:
        return "none"
    mark = "" if row["p_value"] is None or row["p_value"] >= SURE else "\\*"
    used, listed = (sum(sizes) for sizes in zip(*row["sizes"].values()))
    return f"{row['effect']:.2f}{mark} ({used}/{listed})"


def _agreement(name: str, content: Content) -> str:
    found, about = content["agreement"][name], content["tables"][name]
    text = f" from {about['text_words'] / 1e6:.1f} million words" if about["text_words"] else ""
    teacher = f", teacher {about['teacher']}" if about["teacher"] else ""
    return (
        f"- `{name}` ({about['words']:,} words x {about['dim']}{text}{teacher}): the paper's direction in "
        f"{found['same_sign']} of {found['tests']} tests, within {NEAR:g} of its effect size in {found['near']}."
    )
