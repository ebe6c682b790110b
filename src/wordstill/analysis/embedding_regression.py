"""Embedding regression: how a word's vector depends on fields of the documents in which it occurs.

Observations are documents, or folds or groups of documents with the same fields. Each has the mean vector of the word's
uses, weighted by their number. Weighted least squares gives a coefficient vector for each column of the design,
B = (X' W X)^-1 X' W Y, whose length measures how much the field changes the meaning (Rodriguez, Spirling and Stewart
2023, with means of context vectors; any vectors in the same space will do).

Noise makes these lengths too large. The jackknife over rows corrects the squared length θ to n θ - (n - 1) mean θ(-i),
where θ(-i) is computed without row i, using leverages instead of another regression. Standard errors are from the
jackknife too.

The p-value permutes the residuals of a column given the others over the rows (O'Gorman 2005). Each row keeps its vector
and weight, so variances may differ between rows; for a single column the test is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.resampling import t_quantile
from wordstill.errors import DataError, UsageError
from wordstill.evaluation.data.fields import finite_number
from wordstill.evaluation.statistics import CONFIDENCE, Floats, Interval, checked_seed

INTERCEPT = "intercept"
PERMUTATIONS = 1000
BLOCK = 64
TIE = 1e-9
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
FULL_LEVERAGE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Design:
    """A design matrix, with a row for each document that has all fields."""

    names: tuple[str, ...]
    """Names of columns: ``intercept``, ``year`` for a number, ``party=Labour`` for a level of a category."""
    matrix: Floats
    """(rows, columns)"""
    kept: tuple[int, ...]
    """Indices of the rows' documents; the others lack a field."""
    references: Mapping[str, str] = field(default_factory=dict)
    """The reference level of each category."""


@dataclass(frozen=True, eq=False)
class Coefficient:
    """The effect of a column on the vector."""

    name: str
    norm: float
    """Bias-corrected length of the coefficient; 0 if the correction exceeds it."""
    plain_norm: float
    """Length without the correction."""
    interval: Interval
    """95 % interval of the corrected length."""
    p_value: float
    vector: Floats = field(repr=False)


@dataclass(frozen=True, eq=False)
class EmbeddingRegression:
    """A word's vector as a function of fields."""

    design: Design
    coefficients: tuple[Coefficient, ...]
    """Coefficients of all columns but the intercept."""
    intercept: Floats = field(repr=False)
    rows: int
    uses: float
    """Sum of the weights."""

    def predict(self, values: Mapping[str, Any]) -> Floats:
        """The predicted vector for values of columns, by name; missing columns are 0."""
        for name in values:
            if name not in self.design.names:
                raise UsageError(f"There is no column {name!r}. Columns: {', '.join(self.design.names)}.")
        moved = (float(values.get(one.name, 0)) * one.vector for one in self.coefficients)
        predicted: Floats = self.intercept + sum(moved, np.zeros_like(self.intercept))
        return predicted


def make_design(documents: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> Design:
    """The design matrix of some fields: a column for a number, and for each level of a category but the first.

    Args:
        documents: Fields of each document by name. A field counts as a number if all its values are numbers.
        fields: Names of the fields to use.
    """
    if not fields:
        raise UsageError("No field was named. Name at least one to regress on.")
    for name in fields:
        if not any(name in document for document in documents):
            known = sorted({key for document in documents for key in document})
            raise DataError(f"No document has the field {name!r}. Fields: {', '.join(map(repr, known)) or 'none'}.")
    texts = [[_text(document.get(name)) for name in fields] for document in documents]
    kept = tuple(row for row, values in enumerate(texts) if None not in values)
    names, columns, references = [INTERCEPT], [np.ones(len(kept))], {}
    for place, name in enumerate(fields):
        values = [str(texts[row][place]) for row in kept]
        if len(set(values)) < 2:
            there = f"only the value {values[0]!r}" if values else "no value"
            raise DataError(f"The field {name!r} has {there} in documents with the word; expected 2 or more values.")
        numbers = [finite_number(value) for value in values]
        if None not in numbers:
            names.append(name)
            columns.append(np.array(numbers, dtype=np.float64))
            continue
        first, *levels = sorted(set(values))
        references[name] = first
        for level in levels:
            names.append(f"{name}={level}")
            columns.append(np.array([float(value == level) for value in values]))
    return Design(tuple(names), np.stack(columns, axis=1), kept, references)


def embedding_regression(
    vectors: Floats,
    design: Design,
    counts: NDArray[Any] | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> EmbeddingRegression:
    """Regress vectors on a design.

    Args:
        vectors: The word's vector for each row of the design, (rows, dim).
        design: See `make_design`.
        counts: Weights: uses in each row, above 0. None weighs all rows the same.
        permutations: Number of permutations; p-values are (reached + 1) / (permutations + 1).
        seed: Seed of the permutations.
    """
    weights = np.ones(len(vectors)) if counts is None else np.asarray(counts, dtype=np.float64)
    fitted = _Fit.of(np.asarray(vectors, dtype=np.float64), design, weights)
    random = np.random.default_rng(checked_seed(seed))
    _refuse_lone_rows(fitted, design)
    columns = range(1, len(design.names))
    coefficients = tuple(_coefficient(fitted, design.names[column], column, permutations, random) for column in columns)
    return EmbeddingRegression(design, coefficients, fitted.coefficients[0], len(vectors), float(weights.sum()))


@dataclass(frozen=True, eq=False)
class _Fit:
    design: Floats
    """Rows times the square root of their weight, (rows, columns)."""
    vectors: Floats
    """The same, (rows, dim)."""
    root: Floats
    """Square roots of the weights, (rows, 1)."""
    inverse: Floats
    """Pseudo-inverse of the design, (columns, rows)."""
    coefficients: Floats
    """(columns, dim)"""

    @property
    def leverage(self) -> Floats:
        """Leverage of each row, from 0 to 1, (rows,)."""
        leverage: Floats = np.einsum("ij,ji->i", self.design, self.inverse)
        return leverage

    @classmethod
    def of(cls, vectors: Floats, design: Design, weights: Floats) -> _Fit:
        rows, columns = design.matrix.shape
        if vectors.ndim != 2 or len(vectors) != rows or weights.shape != (rows,):
            raise UsageError(f"There are vectors of shape {vectors.shape} and {weights.shape} counts for {rows} rows.")
        if not np.isfinite(vectors).all() or not (np.isfinite(weights) & (weights > 0)).all():
            raise DataError("Vectors must be finite and counts above 0.")
        if rows < columns + 2:
            raise DataError(
                f"{rows} rows are too few for {columns} columns; expected {columns + 2} or more. Name fewer fields, or "
                "give more documents or groups."
            )
        root = np.sqrt(weights)[:, None]
        scaled = design.matrix * root
        if np.linalg.matrix_rank(scaled / np.linalg.norm(scaled, axis=0)) < columns:
            raise DataError(
                f"The columns {', '.join(design.names)} are collinear, so their effects cannot be separated. Leave "
                "out a field that follows from the others."
            )
        inverse: Floats = np.asarray(np.linalg.pinv(scaled), dtype=np.float64)
        return cls(scaled, vectors * root, root, inverse, inverse @ (vectors * root))


def _refuse_lone_rows(fit: _Fit, design: Design) -> None:
    """Raise if a row has full leverage, so that the jackknife cannot leave it out."""
    lone = int((fit.leverage >= FULL_LEVERAGE).sum())
    if not lone:
        return
    names = [name for name, column in zip(design.names, design.matrix.T) if np.count_nonzero(column) == 1]
    shown = f" ({', '.join(names[:2])}{', ...' if len(names) > 2 else ''})" if names else ""
    rows = "1 row alone decides" if lone == 1 else f"{lone:,} rows each alone decide"
    raise DataError(
        f"{rows} a coefficient{shown}. Leave out the field whose values are so rare, or join them: years to decades, "
        "for example."
    )


def _coefficient(fit: _Fit, name: str, column: int, permutations: int, random: np.random.Generator) -> Coefficient:
    vector = fit.coefficients[column]
    square = float(vector @ vector)
    corrected, error = _jackknife(fit, column, square)
    rows, columns = fit.design.shape
    reach = t_quantile((1 + CONFIDENCE) / 2, rows - columns) * error
    low, high = (math.sqrt(max(0.0, corrected + sign * reach)) for sign in (-1, 1))
    return Coefficient(
        name,
        math.sqrt(max(0.0, corrected)),
        math.sqrt(square),
        Interval(low, high),
        _p_value(fit, column, permutations, random),
        vector,
    )


def _jackknife(fit: _Fit, column: int, square: float) -> tuple[float, float]:
    """The bias-corrected squared length of a coefficient, and its standard error."""
    residuals = fit.vectors - fit.design @ fit.coefficients
    leverage = fit.leverage
    steps = residuals * (fit.inverse[column] / (1 - leverage))[:, None]
    without = ((fit.coefficients[column] - steps) ** 2).sum(axis=1)
    rows = len(without)
    corrected = rows * square - (rows - 1) * float(without.mean())
    error = math.sqrt((rows - 1) / rows * float(((without - without.mean()) ** 2).sum()))
    return corrected, error


def _p_value(fit: _Fit, column: int, permutations: int, random: np.random.Generator) -> float:
    """The share of permutations of the column's residuals whose score is at least as large.

    With u the product of a row's residual of the column and the residual of its vector given the other columns, the
    score is |sum u|^2 / sum |u|^2, so that rows with a larger variance contribute to both sums.
    """
    others = np.delete(fit.design, column, axis=1)
    basis, _ = np.linalg.qr(others)
    left = fit.vectors - basis @ (basis.T @ fit.vectors)
    squares = (left**2).sum(axis=1)
    plain = others / fit.root
    values = fit.design[:, column] / fit.root[:, 0]
    own = values - plain @ (np.linalg.pinv(plain) @ values)

    def scores(columns: Floats) -> Floats:
        weighted = columns * fit.root[:, 0]
        weighted = weighted - (weighted @ basis) @ basis.T
        above, below = ((weighted @ left) ** 2).sum(axis=1), weighted**2 @ squares
        score: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
        return score

    given = float(scores(own[None])[0])
    reached = 0
    for start in range(0, permutations, BLOCK):
        shuffled = np.stack([random.permutation(own) for _ in range(min(BLOCK, permutations - start))])
        reached += int((scores(shuffled) >= given * (1 - TIE)).sum())
    return (reached + 1) / (permutations + 1)


def _text(value: Any) -> str | None:
    """A field as text; None if it is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or isinstance(value, list | dict):
        return None
    text = str(value).strip()
    return None if text.lower() in MISSING else text
