"""The nearest words of some words, table by table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wordstill.evaluate.protocol import ABSENT, Protocol, resolve

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

SHOWN = ("light", "while", "bank", "quickly", "king", "mouse")
"""Words that the papers show, and some with several senses."""
TOPN = 6

Neighbours = dict[str, dict[str, list[tuple[str, float]] | None]]
"""By word, then by table: words with cosines, best first; None where the table lacks the word."""


def neighbour_table(
    tables: Mapping[str, WordVectors],
    words: Sequence[str] = SHOWN,
    topn: int = TOPN,
    *,
    protocol: str | Protocol = "default",
) -> Neighbours:
    """Look the neighbours of words up in every table; words that no table has are left out."""
    rules = resolve(protocol)
    found: Neighbours = {word: {} for word in words}
    for name, vectors in tables.items():
        rows = dict(zip(words, rules.rows(words, vectors).tolist()))
        known = [word for word in words if rows[word] != ABSENT]
        nearest = iter(vectors.neighbours([vectors.words[rows[word]] for word in known], topn=topn))
        for word in words:
            found[word][name] = next(nearest) if rows[word] != ABSENT else None
    return {word: by_table for word, by_table in found.items() if any(by_table.values())}


def absent_everywhere(
    tables: Mapping[str, WordVectors], words: Sequence[str], *, protocol: str | Protocol = "default"
) -> list[str]:
    """The words that no table has."""
    rules = resolve(protocol)
    present = np.any([rules.rows(words, vectors) != ABSENT for vectors in tables.values()], axis=0)
    return [word for word, there in zip(words, present) if not there]
