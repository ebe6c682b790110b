"""``wordstill norms``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.failures import warn
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import AsJson, Overwrite, Seed, argument, option
from wordstill.cli.printing import count_text, show_facts, show_json
from wordstill.core.guard import printable

if TYPE_CHECKING:
    from wordstill.analysis.ratings import Norm, Norms, Ratings

EXAMPLES = """\
wordstill norms concreteness.csv --table vectors --out norms.csv
wordstill norms warriner.csv#Word,V.Mean.Sum,A.Mean.Sum --table glove.6B.100d.txt --out norms.csv"""
NAMED = 10


def command(
    ratings: Annotated[
        Path,
        argument(
            "RATINGS",
            "CSV, TSV or text with a word and its rating on each line; choose columns by title or number, the word "
            "first: FILE#word,valence,arousal.",
        ),
    ],
    table: Annotated[Path, option("TABLE", "A folder or file of word vectors, in any format.", "--table")],
    out: Annotated[Path, option("FILE", "The CSV to write: every word of the table with its ratings.", "--out", "-o")],
    folds: Annotated[int, option("N", "Folds of the cross-validation.", "--folds", min=2)] = 10,
    seed: Seed = 0,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
) -> None:
    """Predict ratings for every word from ratings of some."""
    from wordstill.analysis.ratings import predict_norms, read_ratings
    from wordstill.core.files import refuse_existing

    refuse_existing(out, overwrite=overwrite)
    given = read_ratings(ratings)
    found = predict_norms(open_table(table), given, folds=folds, seed=seed)
    found.save(out, overwrite=overwrite)
    for norm in found.norms:
        if norm.pearson_interval.low <= 0:
            warn(f"Predictions of {norm.name!r} on held-out words are no better than chance: do not use them.")
    if as_json:
        show_json(
            {
                "words": len(found.table),
                "rated": len(given.words),
                "repeated": given.repeated,
                "missing": list(found.missing),
                "norms": [norm.to_dict() for norm in found.norms],
            }
        )
        return
    _show(found, given, out)


def _show(found: Norms, given: Ratings, out: Path) -> None:
    for norm in found.norms:
        typer.echo(printable(norm.name))
        show_facts(_facts(norm))
    facts = {"written": f"{out}  {count_text(len(found.table), 'word')}"}
    if given.repeated:
        facts["repeated"] = f"{count_text(given.repeated, 'line')} with a repeated word; ratings are averaged"
    show_facts(facts)
    if found.missing:
        some = ", ".join(found.missing[:NAMED])
        more = ", ..." if len(found.missing) > NAMED else ""
        warn(f"{len(found.missing):,} of the {len(given.words):,} rated words are not in the table: {some}{more}.")


def _facts(norm: Norm) -> dict[str, str]:
    empty = {"left out": f"{count_text(norm.empty, 'word')} without a rating"} if norm.empty else {}
    return empty | {
        "Pearson": f"{norm.pearson:.3f} [{norm.pearson_interval.low:.3f}, {norm.pearson_interval.high:.3f}]",
        "Spearman": f"{norm.spearman:.3f} [{norm.spearman_interval.low:.3f}, {norm.spearman_interval.high:.3f}]",
        "error": f"{norm.error:.3g} (mean, absolute)",
        "scored on": f"{count_text(norm.used, 'rated word')}, each held out once",
    }
