"""What to do about words that a table does not have: policies by name, asked in order.

    case       the word in other letters: ``Queen`` where the table has ``queen``
    subwords   the vectors of its parts that come with the table, as in fastText
    ngrams     the mean of the table's words that share groups of letters with it, rare ones counting more
    spelling   the word of the table that is spelt most like it

A fifth policy, `TeacherBackoff`, reads the word with a model; it is made with a function that does that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name
from wordstill.ngrams import NgramIndex
from wordstill.spelling import likeness

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Answer: TypeAlias = int | NDArray[np.float32] | None
"""The row of a word that stands in, or a vector, or None."""

FEWEST_IN_COMMON = 0.7
"""Share of the letters that a word must have in common with its stand-in."""
WORDS_IN_A_MEAN = 100
SHARPNESS = 4


@runtime_checkable
class Subwords(Protocol):
    """Vectors of parts of words, as a fastText model has them."""

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of any word; zeros if it has no known part."""
        ...


@runtime_checkable
class Backoff(Protocol):
    """A policy for words that are not in a table."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def find(self, words: Sequence[str]) -> Sequence[Answer]:
        """For each word the row of one that stands in for it, or a vector, or None."""
        ...


class CaseBackoff:
    """A word in other letters; of several, the one that stands first in the table."""

    name: ClassVar[str] = "case"

    def __init__(self, table: WordVectors) -> None:
        self.table = table

    @cached_property
    def _folded(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for row, word in enumerate(self.table.words):
            rows.setdefault(word.casefold(), row)
        return rows

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The rows of words that differ in case only."""
        return [self._folded.get(word.casefold()) for word in words]


class SubwordBackoff:
    """The vectors of parts of words that come with a table."""

    name: ClassVar[str] = "subwords"

    def __init__(self, table: WordVectors) -> None:
        if table.subwords is None:
            raise UsageError(
                "The back-off 'subwords' needs a table that comes with vectors of parts of words, such as a "
                "fastText .bin file. For any other table take 'ngrams'."
            )
        self.subwords = table.subwords

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The vectors, None for a word without known parts."""
        vectors = (self.subwords.vector(word) for word in words)
        return [vector.astype(np.float32, copy=False) if vector.any() else None for vector in vectors]


class NgramBackoff:
    """The mean vector of the table's words that share groups of letters with a word.

    Each counts with the fourth power of how much it shares (`NgramIndex.sharing`), with its direction only;
    the length is the mean length of those that count.
    """

    name: ClassVar[str] = "ngrams"

    def __init__(self, table: WordVectors) -> None:
        self.table = table

    @cached_property
    def _index(self) -> NgramIndex:
        return NgramIndex(self.table.words)

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The estimated vectors, None for a word that shares nothing with the table."""
        return [self._estimate(word) for word in words]

    def _estimate(self, word: str) -> Answer:
        rows, shares = self._index.sharing(word)
        if not len(rows):
            return None
        best = np.argsort(-shares, kind="stable")[:WORDS_IN_A_MEAN]
        weights = shares[best] ** SHARPNESS
        vectors = self.table.take(rows[best]).astype(np.float64)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float32).tiny)
        weights /= weights.sum()
        direction = (weights / lengths) @ vectors
        estimate: NDArray[np.float32] = (direction * (weights @ lengths)).astype(np.float32)
        return estimate


class SpellingBackoff:
    """The word of the table that is spelt most like a word."""

    name: ClassVar[str] = "spelling"

    def __init__(self, table: WordVectors) -> None:
        self.table = table

    @cached_property
    def _index(self) -> NgramIndex:
        return NgramIndex(self.table.words, sizes=(2, 3))

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The rows of the stand-ins, None where no word is alike."""
        return [self._nearest(word) for word in words]

    def _nearest(self, word: str) -> Answer:
        rows = self._index.alike(word)
        scores = [likeness(word, self.table.words[row]) for row in rows]
        best = max(range(len(rows)), key=lambda number: (scores[number], -rows[number]), default=None)
        return int(rows[best]) if best is not None and scores[best] >= FEWEST_IN_COMMON else None


BACKOFFS: dict[str, Callable[[WordVectors], Backoff]] = {
    policy.name: policy for policy in (CaseBackoff, SubwordBackoff, NgramBackoff, SpellingBackoff)
}


def choose_backoffs(table: WordVectors, policies: Sequence[str | Backoff]) -> tuple[Backoff, ...]:
    """The policies, those given by name made for this table."""
    chosen: list[Backoff] = []
    for policy in policies:
        if isinstance(policy, str):
            if policy not in BACKOFFS:
                raise unknown_name("back-off", policy, BACKOFFS)
            policy = BACKOFFS[policy](table)
        chosen.append(policy)
    return tuple(chosen)


def fall_back(table: WordVectors, words: Sequence[str]) -> list[Answer]:
    """What the table's policies give for words it does not have, the first that gives anything deciding."""
    answers: list[Answer] = [None] * len(words)
    for policy in table.backoffs:
        left = [number for number, answer in enumerate(answers) if answer is None]
        if not left:
            break
        for number, answer in zip(left, policy.find([words[number] for number in left]), strict=True):
            if answer is not None and not isinstance(answer, int) and answer.shape != (table.dim,):
                raise UsageError(
                    f"The back-off {policy.name!r} gave {words[number]!r} a vector of shape {answer.shape}, "
                    f"expected ({table.dim},)."
                )
            answers[number] = answer
    return answers
