"""Norms: extrapolation of ratings (valence, concreteness, ...) from some words to every word of a table.

Ratings are predicted by ridge regression from unit vectors. Accuracy is by nested cross-validation: each fold of the
rated words is predicted by a regression fitted on the other folds, with a penalty chosen there (leave-one-out, in
closed form). A user's file has a word and one or more ratings on each line.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_file, refuse_existing
from wordstill.core.guard import reading
from wordstill.errors import DataError, MissingExtra, UsageError
from wordstill.evaluation.data.fields import (
    MISSING,
    Role,
    finite_number,
    guess_delimiter,
    own_lines,
    own_rows,
    split_columns,
    split_fields,
)
from wordstill.evaluation.lookup import rows_of
from wordstill.evaluation.protocol import ABSENT, resolve
from wordstill.evaluation.statistics import (
    Floats,
    Interval,
    checked_seed,
    pearson,
    percentiles,
    resampled_correlations,
    spearman,
)
from wordstill.vectors.search import unit

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

LEAST_WORDS = 50
PENALTIES = np.logspace(-3, 3, 25)
"""Candidate penalties of the ridge regression on unit vectors."""
RATED_WORD = Role("word", ("word", "words", "term", "item", "concept", "lemma"))
RATING = Role(
    "rating",
    ("rating", "score", "mean", "value", "norm", "valence", "arousal", "dominance", "concreteness", "conc.m", "aoa"),
    number=True,
)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Words with one or more ratings."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    values: Floats
    """(words, names), NaN where a rating is missing."""
    repeated: int = 0
    """Lines with a repeated word; its ratings are averaged."""


@dataclass(frozen=True, eq=False)
class Norm:
    """One rating, predicted for every word of a table."""

    name: str
    pearson: float
    pearson_interval: Interval
    spearman: float
    spearman_interval: Interval
    error: float
    """Mean absolute error on held-out words."""
    used: int
    """Words with a rating and a vector."""
    empty: int
    """Words of the file without this rating."""
    penalty: float
    predicted: Floats = field(repr=False)
    """(words of the table,); for rated words, the held-out predictions."""
    given: Floats = field(repr=False)
    """(words of the table,), NaN for words without a rating."""

    def to_dict(self) -> dict[str, Any]:
        """The scores as plain data for JSON."""
        plain = {key: value for key, value in self.__dict__.items() if key not in ("predicted", "given")}
        return plain | {key: list(plain[key]) for key in ("pearson_interval", "spearman_interval")}


@dataclass(frozen=True, eq=False)
class Norms:
    """All ratings of a file, predicted for a table."""

    table: WordVectors
    norms: tuple[Norm, ...]
    missing: tuple[str, ...]
    """Rated words that are not in the table."""

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Write a CSV of each word with its predicted and given ratings."""
        refuse_existing(path, overwrite=overwrite)
        columns = [column for norm in self.norms for column in (norm.predicted, norm.given)]
        with atomic_file(path) as handle, io.TextIOWrapper(handle, "utf-8", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(["word", *(title for norm in self.norms for title in (norm.name, f"{norm.name}_given"))])
            for word, *numbers in zip(self.table.words, *(column.tolist() for column in columns)):
                writer.writerow([word, *("" if number != number else f"{number:.6g}" for number in numbers)])
            text.flush()


def read_ratings(path: Path) -> Ratings:
    """The ratings of a CSV, TSV or text file.

    Args:
        path: The file. Columns may be chosen after its name, by title or number, the word first:
            ``ratings.csv#Word,V.Mean.Sum,A.Mean.Sum``. Otherwise there is one rating, named by its title.
    """
    file, chosen = split_columns(path)
    columns = chosen[1:] or _title_of_rating(file)
    names = tuple(f"column_{name}" if name.isdecimal() else name for name in columns)
    roles = (RATED_WORD, *([RATING] * len(columns)))
    sums: dict[str, Floats] = {}
    counts: dict[str, Floats] = {}
    rows = 0
    with reading(file):
        for row in own_rows(path, roles):
            word, *fields = row.fields
            if not word:
                raise DataError(f"{row.place}: there is no word. Expected a word and its rating.")
            values = np.array([_number(text, row.place, name) for text, name in zip(fields, names)])
            known = ~np.isnan(values)
            sums[word] = sums.get(word, np.zeros(len(names))) + np.where(known, values, 0)
            counts[word] = counts.get(word, np.zeros(len(names))) + known
            rows += 1
    if not sums:
        raise DataError(f"{file} has no ratings. Expected a word and a number on each line.")
    total, number = np.array(list(sums.values())), np.array(list(counts.values()))
    means = np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)
    return Ratings(names, tuple(sums), means, rows - len(sums))


def predict_norms(table: WordVectors, ratings: Ratings, *, folds: int = 10, seed: int = 0) -> Norms:
    """Predict ratings for every word of a table.

    Args:
        table: Rated words are looked up as written, then in lower case.
        ratings: See `read_ratings`.
        folds: Folds of the outer cross-validation.
        seed: Seed of the folds and of the bootstrap over words.
    """
    if folds < 2:
        raise UsageError(f"folds must be 2 or more; got {folds}.")
    rows = resolve("default").rows(ratings.words, table)
    missing = tuple(word for word, row in zip(ratings.words, rows) if row == ABSENT)
    norms = []
    for number, name in enumerate(ratings.names):
        given = _per_row(rows, ratings.values[:, number], len(table))
        empty = int(np.isnan(ratings.values[:, number]).sum())
        norms.append(_norm(table, name, given, empty, folds, checked_seed(seed)))
    return Norms(table, tuple(norms), missing)


def _title_of_rating(file: Path) -> tuple[str]:
    """The title of the only rating, or ``rating`` in a file without titles; raises if there are several candidates."""
    with reading(file):
        place, line = next(own_lines(file), ("", ""))
        titles = split_fields(line, guess_delimiter(line), place)
    if len(titles) < 2 or any(finite_number(title) is not None or title.lower() in MISSING for title in titles):
        return ("rating",)
    known = [title for title in titles if title.lower() in RATING.titles] if len(titles) > 2 else titles[1:]
    if len(known) != 1:
        shown = ", ".join(map(repr, titles[:12])) + (", ..." if len(titles) > 12 else "")
        raise DataError(
            f"{place}: it is not clear which column is the rating: {shown}. Choose the word and one or more ratings, "
            f"as in {shlex.quote(f'{file.name}#{titles[0]},{titles[1]}')}."
        )
    return (known[0],)


def _number(text: str, place: str, name: str) -> float:
    if text.lower() in MISSING:
        return float("nan")
    value = finite_number(text)
    if value is None:
        raise DataError(
            f"{place}: the rating {name!r} is {text!r}, expected a number. Choose columns as in FILE#word,{name}."
        )
    return value


def _per_row(rows: NDArray[np.int64], values: Floats, words: int) -> Floats:
    """The mean rating of each row of the table; NaN if it has none."""
    usable = (rows != ABSENT) & ~np.isnan(values)
    sums = np.bincount(rows[usable], weights=values[usable], minlength=words)
    counts = np.bincount(rows[usable], minlength=words)
    mean: Floats = np.divide(sums, counts, out=np.full(words, np.nan), where=counts > 0)
    return mean


def _norm(table: WordVectors, name: str, given: Floats, empty: int, folds: int, seed: int) -> Norm:
    rated = np.flatnonzero(~np.isnan(given))
    gold = given[rated]
    if len(rated) < max(LEAST_WORDS, folds):
        raise DataError(
            f"The table has {len(rated)} words with the rating {name!r}, expected {max(LEAST_WORDS, folds)} or more. "
            "Get more ratings, or a larger table."
        )
    if np.ptp(gold) == 0:
        raise DataError(f"Every rating {name!r} is {gold[0]:g}; there is nothing to learn from them.")
    vectors = unit(rows_of(table, rated))
    held_out = np.empty(len(rated))
    for inside, outside in _folds(len(rated), folds, seed):
        held_out[outside] = _ridge().fit(vectors[inside], gold[inside]).predict(vectors[outside])
    final = _ridge().fit(vectors, gold)
    predicted = np.concatenate([final.predict(unit(block.astype(np.float64))) for block in table.blocks()])
    predicted[rated] = held_out
    drawn = {kind: resampled_correlations(gold, held_out[None], seed, kind=kind) for kind in ("pearson", "spearman")}
    return Norm(
        name,
        pearson(gold, held_out),
        percentiles(drawn["pearson"][:, 0]),
        spearman(gold, held_out),
        percentiles(drawn["spearman"][:, 0]),
        float(np.abs(gold - held_out).mean()),
        len(rated),
        empty,
        float(final.alpha_),
        predicted,
        given,
    )


def _folds(items: int, folds: int, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    order = np.random.default_rng(seed).permutation(items)
    parts: Sequence[NDArray[np.int64]] = np.array_split(order, folds)
    for number, part in enumerate(parts):
        yield np.concatenate([other for place, other in enumerate(parts) if place != number]), part


def _ridge() -> Any:
    try:
        from sklearn.linear_model import RidgeCV
    except ImportError as error:
        raise MissingExtra("scikit-learn", "eval", "Predicting norms") from error
    return RidgeCV(alphas=PENALTIES)
