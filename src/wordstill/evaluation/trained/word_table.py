"""The vectors of a data set's words, gathered once, and sentences as rows of that small table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.examples import Words
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.score import Coverage

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Ids = NDArray[np.int64]
Scale = Literal["unit", "as-is"]
PADDING = 0
LEAVING_OUT = ("skip", "backoff")
POOL = 16
"""Batches in a pool that is sorted by length."""


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as rows of a table, end to end."""

    rows: Ids
    """Shape (words,)."""
    starts: Ids
    """Where each sentence begins, and the end of the last, shape (sentences + 1,)."""

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> Sentences:
        """Concatenate sentences."""
        starts = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
        return cls(np.array([row for sentence in sentences for row in sentence], dtype=np.int64), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __add__(self, other: Sentences) -> Sentences:
        starts = np.concatenate([self.starts, other.starts[1:] + self.starts[-1]])
        return Sentences(np.concatenate([self.rows, other.rows]), starts)

    @property
    def lengths(self) -> Ids:
        """Words of each sentence."""
        return np.diff(self.starts)

    def padded(self, places: Ids, margin: int = 0, fill: int = PADDING) -> Ids:
        """Some sentences padded to (sentences, longest + 2 margins)."""
        lengths = self.lengths[places]
        width = max(1, int(lengths.max()))
        filled = np.arange(width) < lengths[:, None]
        source = np.arange(width) + self.starts[places][:, None]
        table = np.full((len(places), width + 2 * margin), fill, dtype=np.int64)
        table[:, margin : margin + width][filled] = self.rows[source[filled]]
        return table


@dataclass(frozen=True, eq=False)
class WordTable:
    """The vectors of a data set's words."""

    matrix: NDArray[np.float32]
    """Shape (rows, dim); row ``PADDING`` is zeros."""
    rows: dict[str, int]
    """The row of each word; a word that is left out has none."""
    known: frozenset[str]
    """The words that the table of vectors has."""

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        vectors: WordVectors,
        protocol: Protocol,
        *,
        leave_out: bool,
        scale: Scale,
        forms: Sequence[str] | None = None,
    ) -> WordTable:
        """Gather the vectors of words.

        Args:
            words: Distinct words, as published.
            vectors: The table to gather from.
            protocol: How words are looked up, and what absent words get.
            leave_out: Whether words without a vector under ``skip`` and ``backoff`` are left out of their sentences;
                otherwise they are zeros.
            scale: ``unit`` multiplies everything by one number, so that the mean square of a component is 1, and one
                learning rate suits every table.
            forms: The form under which each word is looked up; None takes the word itself.
        """
        forms = words if forms is None else forms
        lookup = Lookup.of(forms, vectors, protocol)
        places = lookup.numbers(forms)
        size = float(np.sqrt(np.mean(np.square(lookup.matrix[lookup.usable])))) if lookup.usable.any() else 0.0
        factor = 1 / size if scale == "unit" and size > 0 else 1.0
        matrix = np.concatenate([np.zeros((1, vectors.dim)), factor * lookup.matrix]).astype(np.float32)
        kept = lookup.usable[places] | (not leave_out or protocol.oov not in LEAVING_OUT)
        return cls(
            matrix,
            {word: place + 1 for word, place, keep in zip(words, places.tolist(), kept) if keep},
            frozenset(word for word, known in zip(words, lookup.known[places]) if known),
        )

    def with_random_absent(self, seed: int) -> WordTable:
        """The same with random vectors for the words that the table lacks, as in NCRF++."""
        matrix, bound = self.matrix.copy(), (3 / self.matrix.shape[1]) ** 0.5
        known = {self.rows[word] for word in self.known}
        absent = [row for row in dict.fromkeys(self.rows.values()) if row not in known]
        matrix[absent] = np.random.default_rng(seed).uniform(-bound, bound, size=(len(absent), matrix.shape[1]))
        return replace(self, matrix=matrix)

    def encode(self, sentences: Sequence[Words]) -> Sentences:
        """Sentences as rows of the table, without words that have no row."""
        rows = self.rows
        return Sentences.of([[rows[word] for word in sentence if word in rows] for sentence in sentences])

    def coverage(self, sentences: Sequence[Words]) -> Coverage:
        """How many of the running words the table has."""
        known = sum(word in self.known for sentence in sentences for word in sentence)
        return Coverage(known, sum(map(len, sentences)))


def distinct_words(sentences: Sequence[Words]) -> tuple[str, ...]:
    """The distinct words, in the order of first use."""
    return tuple(dict.fromkeys(word for sentence in sentences for word in sentence))


def length_sorted(lengths: Ids, size: int, random: np.random.Generator | None) -> Iterator[Ids]:
    """Batches of sentence indices of similar length.

    With a generator, sentences are shuffled, sorted inside pools of a few batches, and the batches of a pool are
    shuffled again: little padding, and different batches in every epoch. Without one, all sentences are sorted.
    """
    if random is None:
        order = np.argsort(lengths, kind="stable")
        yield from (order[start : start + size] for start in range(0, len(order), size))
        return
    mixed = random.permutation(len(lengths))
    for start in range(0, len(mixed), size * POOL):
        pool = mixed[start : start + size * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches = [pool[first : first + size] for first in range(0, len(pool), size)]
        yield from (batches[place] for place in random.permutation(len(batches)))
