"""``wordstill regress``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordstill.cli.open_tables import open_table
from wordstill.cli.options import AsJson, Seed, Topn, argument, option
from wordstill.cli.printing import count_text, print_whole, show_facts, show_json
from wordstill.core.guard import printable
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.analysis.context_vectors import Unit
    from wordstill.analysis.embedding_regression import EmbeddingRegression
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill regress immigrant speeches.jsonl --table glove.6B.100d.txt --on party,year
wordstill regress bank reports.csv --table vectors --on industry --text body --json
wordstill regress bank --table grouped --groups speakers.csv --on party,year"""
CANDIDATES = 300
"""Neighbors of the word among which to look for those that a field brings nearer."""


def command(
    word: Annotated[str, argument("WORD", "The word whose use to explain.")],
    documents: Annotated[
        Path | None,
        argument(
            "DOCUMENTS",
            "JSON lines, CSV or TSV with a text and its fields per row. Without it, the groups and folds of the table "
            "are used.",
        ),
    ] = None,
    *,
    table: Annotated[Path, option("TABLE", "A folder or file of word vectors, in any format.", "--table")],
    on: Annotated[
        str, option("FIELDS", "Fields to regress on, comma-separated; numbers or categories.", "--on")
    ] = "group",
    text: Annotated[str, option("NAME", "The field of DOCUMENTS that holds the text.", "--text")] = "text",
    window: Annotated[int, option("N", "Context size: words on either side of the word.", "--window", min=1)] = 6,
    groups: Annotated[
        Path | None,
        option("FILE", "Fields for the groups of the table: CSV or JSON lines with a field named group.", "--groups"),
    ] = None,
    unit: Annotated[
        str | None,
        option("NAME", "What counts as independent in the table: fold, or group, the default with --groups.", "--unit"),
    ] = None,
    topn: Topn = 8,
    permutations: Annotated[
        int, option("N", "Number of permutations for each p-value.", "--permutations", min=1)
    ] = 1000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Regress a word's use on document metadata."""
    from wordstill.analysis.context_vectors import read_documents, read_group_fields, word_in_documents, word_in_folds
    from wordstill.analysis.embedding_regression import embedding_regression, make_design

    if documents is not None and (groups is not None or unit is not None):
        raise UsageError("--groups and --unit are for the groups of a table; DOCUMENTS have their own fields.")
    fields = [name.strip() for name in on.split(",") if name.strip()]
    if documents is not None:
        read = read_documents(documents, text)
        vectors = open_table(table)
        found = word_in_documents(vectors, [one.text for one in read], word, window=window)
        rows = [one.fields for one in read]
    else:
        of_groups = None if groups is None else read_group_fields(groups)
        vectors = open_table(table)
        unit = unit or ("fold" if of_groups is None else "group")
        found, rows = word_in_folds(vectors, word, of_groups, unit=cast("Unit", unit))
    design = make_design([rows[number] for number in found.documents], fields)
    kept = list(design.kept)
    result = embedding_regression(found.vectors[kept], design, found.counts[kept], permutations=permutations, seed=seed)
    unit = unit or "document"
    facts = {f"{unit}s": len(rows), "with_word": len(found.documents), "used": result.rows, "uses": int(result.uses)}
    near = _near(vectors, result, topn)
    if as_json:
        show_json({"word": word, **facts, "references": design.references, **_plain(result), "nearer": near})
        return
    lost = facts["with_word"] - facts["used"]
    show_facts(
        {
            "word": f"{word}: {count_text(facts['uses'], 'use')} in {count_text(facts['used'], unit)} of {len(rows):,}",
            **({"left out": f"{count_text(lost, unit)} without a value of {' or '.join(fields)}"} if lost else {}),
            **{f"{name}, compared with": level for name, level in design.references.items()},
        }
    )
    _show(result, near)


def _plain(result: EmbeddingRegression) -> dict[str, Any]:
    return {
        "coefficients": [
            {
                "name": one.name,
                "norm": one.norm,
                "plain_norm": one.plain_norm,
                "interval": list(one.interval),
                "p_value": one.p_value,
            }
            for one in result.coefficients
        ]
    }


def _near(vectors: WordVectors, result: EmbeddingRegression, topn: int) -> dict[str, dict[str, list[str]]]:
    """For each column, the neighbors that come nearer as it rises by one, and as it falls."""
    import numpy as np

    means = dict(zip(result.design.names[1:], result.design.matrix.mean(axis=0)[1:].tolist()))
    middle = result.predict(means)
    around = [word for word, _ in vectors.similar_by_vector(middle.astype(np.float32), CANDIDATES)]
    units = vectors.unit[[vectors.index(word) for word in around]].astype(np.float64)
    near = {}
    for one in result.coefficients:
        more, less = (units @ end / np.linalg.norm(end) for end in (middle + one.vector / 2, middle - one.vector / 2))
        order = np.argsort(less - more, kind="stable").tolist()
        near[one.name] = {
            "more": [around[place] for place in order[:topn]],
            "less": [around[place] for place in order[::-1][:topn]],
        }
    return near


def _show(result: EmbeddingRegression, near: dict[str, dict[str, list[str]]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    shown = Table(
        caption="Length of each coefficient, corrected for noise, with a 95 % jackknife interval over the rows and a "
        "permutation p-value.",
        caption_justify="left",
    )
    for number, heading in enumerate(("field", "length", "95 % interval", "p")):
        shown.add_column(heading, justify="right" if number else "left", overflow="fold")
    for one in result.coefficients:
        low, high = one.interval
        shown.add_row(
            escape(printable(one.name)),
            f"{one.norm:.3f}",
            f"[{low:.3f}, {high:.3f}]".replace("[", "\\["),
            f"{one.p_value:.3g}",
        )
    print_whole(shown, names=1)
    for name, words in near.items():
        for side in ("more", "less"):
            typer.echo(f"With {side} {printable(name)}, nearer to: {printable(', '.join(words[side]))}")
