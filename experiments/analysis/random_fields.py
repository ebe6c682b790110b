"""False positives of `regress` on random fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wordstill.analysis.context_vectors import Document, WordInDocuments, word_in_documents, word_in_folds
from wordstill.analysis.embedding_regression import Coefficient, embedding_regression, make_design
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import with_folds

ALPHA = 0.05
WORDS, LEAST_ROWS = 40, 12
RARE = 0.3
"""Share of documents with the rarer level of a category."""
PERMUTATIONS = 199
FIELDS = ("number", "category")


def regressions(table: WordVectors, documents: Sequence[Document], draws: int, seed: int) -> dict[str, Any]:
    """How often p is below 0.05 and the interval holds 0, by unit and by column."""
    rng = np.random.default_rng(seed)
    tracked, _ = with_folds(table).counts_by_group()
    known = [table.words[row] for row in tracked.tolist() if table.words[row].isalpha()]
    words = [known[place] for place in rng.choice(len(known), WORDS, replace=False).tolist()]
    texts = [document.text for document in documents]
    units = {
        "documents": (len(texts), (word_in_documents(table, texts, word) for word in words)),
        "folds": (len(with_folds(table)), (word_in_folds(table, word)[0] for word in words)),
    }
    return {unit: _summary(_all(*rows, draws, rng)) for unit, rows in units.items()}


def _all(size: int, words: Iterator[WordInDocuments], draws: int, rng: np.random.Generator) -> Iterator[Coefficient]:
    """The coefficients of random fields for words with enough rows, given how many documents or folds there are."""
    for found in words:
        if len(found.documents) < LEAST_ROWS:
            continue
        for _ in range(-(-draws // WORDS)):
            fields = _random_fields(size, rng)
            rows = [fields[number] for number in found.documents]
            if min(sum(row["category"] == level for row in rows) for level in ("a", "b")) < 2:
                continue
            design = make_design(rows, FIELDS)
            drawn = int(rng.integers(1 << 30))
            fitted = embedding_regression(found.vectors, design, found.counts, permutations=PERMUTATIONS, seed=drawn)
            yield from fitted.coefficients


def _random_fields(size: int, rng: np.random.Generator) -> list[Mapping[str, Any]]:
    numbers, rare = rng.normal(size=size), rng.random(size) < RARE
    return [{"number": number, "category": "b" if is_rare else "a"} for number, is_rare in zip(numbers, rare)]


def _summary(coefficients: Iterator[Coefficient]) -> dict[str, Any]:
    by_name: dict[str, list[Coefficient]] = {}
    for each in coefficients:
        by_name.setdefault(each.name.partition("=")[0], []).append(each)
    return {
        name: {
            "p_values": len(found),
            "below_0.05": float(np.mean([each.p_value < ALPHA for each in found])),
            "zero_in_interval": float(np.mean([each.interval[0] <= 0 for each in found])),
        }
        for name, found in by_name.items()
    }
