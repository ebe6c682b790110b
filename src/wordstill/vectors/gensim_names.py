"""gensim's names for what a table has under shorter ones; `WordVectors` has them as methods and properties."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.vectors.search import unit_rows

if TYPE_CHECKING:
    from wordstill.vectors.queries import Item
    from wordstill.vectors.table import Matrix, WordVectors


def vectors(table: WordVectors) -> Matrix:
    """The matrix."""
    return table.matrix


def vector_size(table: WordVectors) -> int:
    """The length of a vector."""
    return table.dim


def index_to_key(table: WordVectors) -> list[str]:
    """The words in the order of the rows."""
    return list(table.words)


def key_to_index(table: WordVectors) -> Mapping[str, int]:
    """The row of each word."""
    return MappingProxyType(table._rows)


def get_vector(table: WordVectors, word: str, norm: bool = False) -> NDArray[np.float32]:
    """The vector of a word, with length one if ``norm``."""
    return unit_rows(table[[word]])[0] if norm else table[word]


def distance(table: WordVectors, a: Item, b: Item) -> float:
    """One less the cosine of two words or vectors."""
    return 1 - table.similarity(a, b)
